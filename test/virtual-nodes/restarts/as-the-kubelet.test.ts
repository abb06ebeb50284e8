import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { PodStatusRow } from '../../parity/pod-status-row.ts';
import { replayPodStatusRow } from '../../parity/replay-pod-status.ts';
import { parseJSONLines } from '../../support/shared-traces.ts';
import { podOf, TestNodes } from '../test-nodes.ts';
import { reportedRun } from './cloud-pod.ts';
import { type Course, Timeline } from './course.ts';
import { courses } from './courses.ts';
import { KubeletPod } from './kubelet-pod.ts';

const oracle = fileURLToPath(new URL('../../../../shared/oracle/kubelet-oracle', import.meta.url));
const hasOracle = existsSync(oracle);
/** How much longer or shorter something may be shown: both look once a second. */
const toleranceSeconds = 3;

describe('with `restarts: node`, a pod shows for as long what it shows on a kubelet:', () => {
  let test: TestNodes;
  beforeEach(async () => {
    test = await TestNodes.start();
    test.cloud.capabilities = { ...test.cloud.capabilities, restarts: 'node' };
    // Its pods live as the course says.
    test.cloud.startMs = 1e9;
  });
  afterEach(() => test[Symbol.asyncDispose]());

  /** The same course on a virtual node and on a kubelet. */
  async function timelines(course: Course): Promise<{ readonly virtualNode: Timeline; readonly kubelet: Timeline }> {
    const { clock, cloud } = test;
    await test.startNodes(['node-a'], { provider: cloud.withNotifications() });
    await test.create(podOf('web', course.spec));
    const pod = test.pod('web') as ValidPod;
    const onKubelet = new KubeletPod({ metadata: pod.metadata, spec: pod.spec! }, course, clock);
    const [virtualNode, kubelet] = [new Timeline(clock, course), new Timeline(clock, course)];
    let last = '';
    const startedAt = new Map<number, Date>();
    for (const endMs = clock.monotonicMs() + course.forMs; clock.monotonicMs() < endMs;) {
      const { restartCount = 0 } = cloud.pod('web') ?? {};
      if (!startedAt.has(restartCount)) startedAt.set(restartCount, new Date(clock.now()));
      const since = { restartCount, startedAt: startedAt.get(restartCount)!, nowMs: clock.now() };
      const run = { ...reportedRun(pod, course, since), ips: ['10.0.0.1'], startedAt: since.startedAt };
      const text = JSON.stringify([restartCount, run]);
      if (text !== last) cloud.report('web', run);
      last = text;
      kubelet.add(onKubelet.sync());
      await test.advance(1000);
      virtualNode.add(test.status('web'));
    }
    expect(test.logger.errors).toEqual([]);
    return { virtualNode, kubelet };
  }

  it.each(Object.entries(courses))('%s', async (_, course) => {
    const { virtualNode, kubelet } = await timelines(course);
    const [got, expected] = [virtualNode.lasting(), kubelet.lasting()];
    expect(got.map(({ shown }) => shown)).toEqual(expected.map(({ shown }) => shown));
    const others = expected.filter(({ seconds }, i) => Math.abs(got[i]!.seconds - seconds) > toleranceSeconds);
    expect(others).toEqual([]);
  });
});

it.skipIf(!hasOracle)(
  `the kubelet itself shows and does what it is compared with here${hasOracle ? '' : ' (skipped: ../shared/oracle does not exist)'}`,
  () => {
    const rows = Object.entries(courses).flatMap(([title, course]) => {
      const clock = new FakeClock('2026-01-02T03:04:05Z');
      const { metadata, spec } = podOf('web', { ...course.spec, nodeName: 'node-a' });
      const pod = { metadata: { ...metadata, name: 'web', namespace: 'default', uid: 'uid-1' }, spec: spec! };
      const onKubelet = new KubeletPod(pod, course, clock);
      for (const endMs = clock.monotonicMs() + course.forMs; clock.monotonicMs() < endMs; clock.advance(1000))
        onKubelet.sync();
      return onKubelet.rows.map((row, i) => ({ ...row, name: `${title} step ${i}` }));
    });
    const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [asked, answered] = ['asked.jsonl', 'answered.jsonl'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(asked, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    execFileSync(oracle, ['pod-status-replay', asked, answered], { stdio: 'ignore' });
    const kubelet = parseJSONLines<PodStatusRow>(readFileSync(answered, 'utf8'));
    expect(kubelet).toHaveLength(rows.length);
    expect(kubelet.flatMap(replayPodStatusRow)).toEqual([]);
  },
);
