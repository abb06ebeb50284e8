import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileSource } from 'kubelet-status-manager/agent';
import { fault } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../../support/directories.ts';
import { TestCluster } from './test-cluster.ts';

const directories = new TestDirectories();
let cluster: TestCluster;
let directory: string;
beforeEach(async () => {
  directory = directories.create();
  cluster = await TestCluster.start();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  directories.removeAll();
});

const fileName = (): string => path.join(directory, 'web.json');

function write(image: string, spec: object = {}): Promise<void> {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { terminationGracePeriodSeconds: 5, containers: [{ name: 'app', image }], ...spec },
  };
  return writeFile(fileName(), JSON.stringify(manifest));
}

const images = (): (string | undefined)[] => cluster.agent.getPods().map(({ spec }) => spec?.containers?.[0]?.image);
const uidOf = (): string => cluster.agent.getPods()[0]!.metadata.uid;
const mirror = () => cluster.pod('web-node-a');

describe('a static pod from a file', () => {
  it('is added, edited and removed, and its mirror pod follows', async () => {
    await write('app:1');
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(3000);
    const first = uidOf();
    const firstMirror = mirror();
    expect(firstMirror).toMatchObject({
      metadata: { annotations: { 'kubernetes.io/config.mirror': first, 'kubernetes.io/config.source': 'file' } },
      status: { phase: 'Running' },
    });
    expect(firstMirror?.metadata?.uid).not.toBe(first);

    await write('app:2');
    await cluster.until(() => images()[0] === 'app:2');
    // It waits until the first one has ended, and is then tried every 10 s.
    await cluster.advance(15_000);
    const second = uidOf();
    expect(second).not.toBe(first);
    expect(cluster.runtime.container(first, 'app')).toMatchObject({ state: 'exited' });
    expect(cluster.runtime.container(second, 'app')).toMatchObject({ state: 'running', image: 'app:2' });
    expect(mirror()).toMatchObject({
      metadata: { annotations: { 'kubernetes.io/config.mirror': second } },
      status: { phase: 'Running', containerStatuses: [{ image: 'app:2' }] },
    });

    await rm(fileName());
    await cluster.until(() => images().length === 0);
    await cluster.advance(8000);
    expect(cluster.runtime.container(second, 'app')).toMatchObject({ state: 'exited' });
    expect(mirror()).toBeUndefined();
    expect(cluster.agent.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
    expect(cluster.logger.errors).toEqual([]);
  });

  it('with limits only is Guaranteed, like its mirror pod, and gets its status', async () => {
    await write('app:1', {
      containers: [{ name: 'app', image: 'app:1', resources: { limits: { cpu: '100m', memory: '64Mi' } } }],
    });
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(3000);
    expect(mirror()).toMatchObject({ status: { phase: 'Running', qosClass: 'Guaranteed' } });
    expect(cluster.logger.errors).toEqual([]);
  });

  it('that is invalid does not run and is shown by inspect(), and the others run', async () => {
    const refused = path.join(directory, 'refused.json');
    const spec = { containers: [{ name: 'app', image: 'app:1', livenessProbe: { exec: {}, periodSeconds: -1 } }] };
    await writeFile(refused, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'refused' }, spec }));
    await write('app:1');
    const agent = await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    // It was written a moment ago, and could have been half written: nothing is delivered for 20 s. The timer of the next
    // read begins when the disk has answered.
    await cluster.until(() => agent.inspect().refusedManifests.length === 1);
    expect(images()).toEqual([]);
    while (images().length === 0) await cluster.advance(1000);
    await cluster.advance(3000);
    expect(mirror()).toMatchObject({ status: { phase: 'Running' } });
    expect(agent.inspect().refusedManifests).toMatchObject([
      { source: refused, reason: expect.stringContaining('livenessProbe.periodSeconds: Invalid value: must be') },
    ]);
  });

  it('a mirror pod that somebody deletes is created again, and the static pod keeps running', async () => {
    await write('app:1');
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(3000);
    const before = mirror()?.metadata?.uid;
    cluster.server.pods.delete('default', 'web-node-a', { gracePeriodSeconds: 0 });
    await cluster.advance(3000);
    expect(mirror()?.metadata?.uid).not.toBe(before);
    expect(mirror()).toMatchObject({ status: { phase: 'Running' } });
    expect(cluster.starts(uidOf(), 'app')).toBe(1);
  });

  it('runs while the API server does not respond, and gets its mirror pod when the Node is registered', async () => {
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.hang());
    await write('app:1');
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(2000);
    expect(cluster.runtime.container(uidOf(), 'app')).toMatchObject({ state: 'running' });
    await cluster.advance(60_000);
    outage.cancel();
    await cluster.advance(30_000);
    expect(mirror()).toMatchObject({ status: { phase: 'Running' } });
    expect(cluster.starts(uidOf(), 'app')).toBe(1);
  });

  it('is not killed before the API server has listed the pods', async () => {
    await write('app:1');
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(3000);
    const uid = uidOf();
    await cluster.stopAgent();
    cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    await cluster.startAgent({ sources: [fileSource({ path: directory })] });
    await cluster.until(() => images().length === 1);
    await cluster.advance(20_000);
    expect(uidOf()).toBe(uid);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running', attempt: 0 });
  });
});

it('without a client, only static pods run', async () => {
  await write('app:1');
  const agent = await cluster.startAgent({ client: undefined, sources: [fileSource({ path: directory })] });
  await cluster.until(() => images().length === 1);
  await cluster.advance(3000);
  await agent.whenReady();
  expect(cluster.runtime.container(uidOf(), 'app')).toMatchObject({ state: 'running' });
  expect(agent.statusManager.getPodStatus(uidOf())).toMatchObject({ phase: 'Running' });
  expect(agent.inspect()).toMatchObject({ node: undefined, events: undefined });
  expect(cluster.writes).toEqual([]);
});
