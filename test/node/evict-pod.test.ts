import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod, PodStatusInput, ValidPod } from 'kubelet-status-manager';
import type { Eviction } from 'kubelet-status-manager/agent';
import {
  evictionGracePeriod,
  evictPod,
  type EvictPodOptions,
  isCriticalPod,
  withDisruptionTarget,
} from '../../src/node/pod-workers/evict-pod.ts';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { TestAgent } from '../agent/pod-syncer/test-agent.ts';

const pod: ValidPod = {
  metadata: { uid: 'uid-1', name: 'web', namespace: 'ns', generation: 3 },
  spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [{ name: 'app', image: 'app:1' }] },
};

let agent: TestAgent;
let logger: ReturnType<typeof recordingLogger>;
beforeEach(async () => {
  agent = new TestAgent();
  logger = recordingLogger();
  agent.runtime.script('app', { stopMs: 3000 });
  await agent.create(pod);
});
const evict = (eviction: Eviction & Pick<EvictPodOptions, 'annotations' | 'isDisruption'>): Promise<boolean> =>
  evictPod(agent.pod('ns', 'web'), {
    ...{ podWorkers: agent.workers, clock: agent.clock, logger, signal: new AbortController().signal },
    eventRecorder: { event: (event) => void agent.events.push(event) },
    ...eviction,
  });

describe('evictPod', () => {
  it('fails the pod with its reason and a DisruptionTarget condition, and resolves when it is killed', async () => {
    const evicted = evict({ message: 'The node was low on resource: memory.' });
    await agent.settle();
    expect(agent.runtime.callsOf({ method: 'stopContainer' })).toMatchObject([{ gracePeriodSeconds: 30 }]);
    expect(agent.events.at(-2)).toMatchObject({
      ...{ type: 'Warning', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    });
    let isDone = false;
    void evicted.then(() => (isDone = true));
    await agent.advance(2999);
    expect(isDone).toBe(false);
    await agent.advance(1);
    expect(await evicted).toBe(true);
    expect(agent.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: memory.',
    });
    expect(agent.status('web')?.conditions?.find(({ type }) => type === 'DisruptionTarget')).toEqual({
      type: 'DisruptionTarget',
      status: 'True',
      observedGeneration: 3,
      lastProbeTime: null,
      // When the status manager lets the terminal phase through.
      lastTransitionTime: '2026-01-02T03:04:08Z',
      reason: 'TerminationByKubelet',
      message: 'The node was low on resource: memory.',
    });
    expect(agent.workers.statuses.shouldPodContentBeRemoved('uid-1')).toBe(true);
    // It was not deleted, and is not started again.
    await agent.advance(120_000);
    expect(agent.client.pod('ns', 'web')).toBeDefined();
    expect(agent.runtime.container('uid-1', 'app')?.state).toBe('exited');
  });

  it('gives the Event the annotations of the caller', async () => {
    const annotations = { starved_resource: 'memory' };
    void evict({ message: 'low', annotations });
    await agent.settle();
    expect(agent.events).toContainEqual({
      pod: agent.pod('ns', 'web'),
      type: 'Warning',
      reason: 'Evicted',
      message: 'low',
      annotations,
    });
  });

  it('a pod that is itself to blame gets no DisruptionTarget condition', async () => {
    void evict({ message: 'Usage of EmptyDir volume "data" exceeds the limit', isDisruption: false });
    await agent.settle();
    await agent.advance(3000);
    expect(agent.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(agent.status('web')?.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
    expect(agent.status('web')?.conditions?.map(({ type }) => type)).toContain('PodScheduled');
    expect(logger.lines).toMatchObject([{ level: 'info', message: 'Pod evicted', fields: { pod: 'ns/web' } }]);
  });

  it('uses the reason and the shorter grace period of the caller', async () => {
    void evict({ reason: 'NodeShutdown', message: 'Pod was terminated', gracePeriodSeconds: 4 });
    await agent.settle();
    expect(agent.runtime.callsOf({ method: 'stopContainer' })).toMatchObject([{ gracePeriodSeconds: 4 }]);
    await agent.advance(3000);
    expect(agent.status('web')).toMatchObject({ reason: 'NodeShutdown', message: 'Pod was terminated' });
  });

  it('rejects after one and a half times the grace period; the pod is failed and killed nevertheless', async () => {
    agent.runtime.delay({ method: 'stopContainer' }, 100_000);
    const evicted = evict({ message: 'no disk' });
    evicted.catch(() => {});
    await agent.advance(45_000);
    await expect(evicted).rejects.toThrow('timeout waiting to kill pod');
    expect(agent.eventReasons()).toContain('ExceededGracePeriod');
    await agent.advance(70_000);
    expect(agent.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: 'no disk' });
    expect(agent.runtime.container('uid-1', 'app')?.state).toBe('exited');
  });
});

it('refuses an invalid message or grace period, and does nothing', async () => {
  const refusal = (path: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', path });
  await expect(evict({} as Eviction)).rejects.toThrow(refusal('message'));
  await expect(evict({ message: 'm', gracePeriodSeconds: -1 })).rejects.toThrow(refusal('gracePeriodSeconds'));
  await expect(evict({ message: 'm', gracePeriodSeconds: NaN })).rejects.toThrow(
    'Expected `gracePeriodSeconds` to be seconds >= 0',
  );
  await expect(evict({} as Eviction)).rejects.toThrow('Expected `message` to be a string');
  expect(agent.workers.statuses.isPodTerminationRequested('uid-1')).toBe(false);
});

describe('TestStaticCriticalPodsAreNotEvicted', () => {
  it.each<[string, Pod, boolean]>([
    [
      'a static pod',
      { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'file' } } },
      true,
    ],
    [
      'a mirror pod',
      { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } } },
      true,
    ],
    ['a pod of the system', { ...pod, spec: { ...pod.spec, priority: 2_000_000_000 } }, true],
    ['an important pod', { ...pod, spec: { ...pod.spec, priority: 1_999_999_999 } }, false],
  ])('%s', (_, candidate, isCritical) => expect(isCriticalPod(candidate)).toBe(isCritical));

  it('resolves with false and does nothing', async () => {
    agent.client.put({ ...agent.client.pod('ns', 'web')!, spec: { ...pod.spec, priority: 2_000_001_000 } });
    expect(await evict({ message: 'no disk' })).toBe(false);
    await agent.settle();
    expect(agent.status('web')?.phase).toBe('Running');
    expect(agent.eventReasons()).toEqual([]);
    expect(logger.errors).toMatchObject([{ message: 'Not evicting a critical pod', fields: { pod: 'ns/web' } }]);
  });
});

describe('the DisruptionTarget condition', () => {
  const of = (status: PodStatusInput) => withDisruptionTarget(status, pod, 'low').conditions;

  it('is added to the conditions that the pod has', () => {
    const ready = { type: 'Ready', status: 'True' };
    expect(of({ conditions: [ready] })).toMatchObject([
      ready,
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'low' },
    ]);
    expect(of({})).toMatchObject([{ type: 'DisruptionTarget' }]);
  });

  it('replaces an earlier one, and leaves the status that it was made from as it is', () => {
    const earlier = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
    const status = { phase: 'Running', conditions: [earlier] };
    expect(withDisruptionTarget(status, pod, 'low')).toMatchObject({
      phase: 'Running',
      conditions: [{ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }],
    });
    expect(status.conditions).toEqual([earlier]);
  });
});

it.each([
  [30, 5, 5],
  [3, 5, 3],
  [undefined, 5, 5],
  [30, 0, 0],
])('a pod with a grace period of %s s gets %d s at most: %d', (own, atMost, expected) => {
  expect(evictionGracePeriod({ spec: { terminationGracePeriodSeconds: own } }, atMost)).toBe(expected);
  expect(evictionGracePeriod({}, atMost)).toBe(atMost);
});
