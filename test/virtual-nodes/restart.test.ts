import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileJournal } from 'kubelet-status-manager';
import { fault } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../support/directories.ts';
import { podOf, TestNodes } from './test-nodes.ts';

const directories = new TestDirectories();
let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(async () => {
  await test[Symbol.asyncDispose]();
  directories.removeAll();
});

describe('a restart of the process', () => {
  it('creates, deletes and writes nothing for pods that have not changed (liqo #2748, interLink #200, #239)', async () => {
    await test.runningPod();
    await test.stopNodes({ drain: true });
    const [writes, calls] = [test.writes.length, test.cloud.calls.length];
    await test.startNodes();
    await test.advance(90_000);
    expect(test.writes.slice(writes).filter((write) => write.includes('/pods/'))).toEqual([]);
    expect(test.podEvents()).toEqual(['web: ProviderCreateSuccess']);
    expect(test.cloud.calls.slice(calls).filter((call) => call !== 'listPods')).toEqual([]);
  });

  it('creates no pod again that the process before has ended in the cloud: its first list of pods is not from a cache that lags', async () => {
    await test.runningPod();
    await test.stopNodes();
    const before = test.server.requests.length;
    await test.startNodes();
    await test.advance(1000);
    const lists = test.server.requests
      .slice(before)
      .filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/pods?') && !path.includes('watch='));
    expect(lists).not.toEqual([]);
    for (const { path } of lists) expect(path).not.toContain('resourceVersion=0');
  });

  it.each([true, false])(
    'passes on what was changed while no process ran, once; the cloud reports podHash: %s',
    async (reportsPodHash) => {
      test.cloud.reportsPodHash = reportsPodHash;
      await test.runningPod();
      await test.create(podOf('same'));
      await test.advance(7000);
      await test.stopNodes({ drain: true });
      test.server.pods.patch('default', 'web', { metadata: { labels: { tier: 'front' } } });
      test.server.pods.patch('default', 'web', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
      const writes = test.writes.length;
      await test.startNodes();
      await test.advance(130_000);
      expect(test.cloud.updates).toHaveLength(reportsPodHash ? 1 : 2);
      const ofWeb = test.cloud.updates.filter(({ pod }) => pod.metadata.name === 'web');
      const spec = { containers: [{ image: 'app:2' }] };
      expect(ofWeb).toMatchObject([{ pod: { metadata: { labels: { tier: 'front' } }, spec }, previous: undefined }]);
      expect(test.writes.slice(writes).filter((write) => write.includes('/pods/same'))).toEqual([]);
      test.server.pods.patch('default', 'same', { metadata: { labels: { tier: 'back' } } });
      await test.advance(1000);
      expect(test.cloud.updates.at(-1)).toMatchObject({ previous: { metadata: { name: 'same' } } });
    },
  );

  it('tries again to pass on a change that fails, until it is accepted', async () => {
    await test.runningPod();
    await test.stopNodes({ drain: true });
    test.server.pods.patch('default', 'web', { metadata: { labels: { tier: 'front' } } });
    test.cloud.react('updatePod', () => new Error('the cloud is down'));
    await test.startNodes();
    await test.advance(20_000);
    expect(test.cloud.updates).toEqual([]);
    test.cloud.react('updatePod');
    await test.advance(20_000);
    expect(test.cloud.updates).toHaveLength(1);
  });

  it('finds a pod whose creation was in progress, and does not create it twice', async () => {
    await test.startNodes();
    test.cloud.latencyMs = 3000;
    test.cloud.ignoresSignals = true;
    await test.create(podOf());
    await test.stopNodes();
    test.cloud.latencyMs = 0;
    await test.advance(5000);
    expect(test.cloud.names).toEqual(['web']);
    await test.startNodes();
    await test.advance(10_000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
    expect(test.status('web')?.phase).toBe('Running');
  });

  it('frees a pod that was deleted by force meanwhile (tensile-kube #48)', async () => {
    await test.runningPod();
    await test.stopNodes();
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    await test.startNodes();
    await test.advance(15_000);
    expect(test.cloud.names).toEqual([]);
  });

  it('ends a pod that was deleted meanwhile', async () => {
    await test.runningPod();
    await test.stopNodes();
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 5 });
    await test.startNodes();
    await test.advance(15_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.deletions).toEqual([{ name: 'web', gracePeriodSeconds: 5 }]);
  });

  it.each([
    ['runs', 7000],
    ['was accepted', 500],
  ])('ends a pod that %s, was deleted meanwhile, and is missing in the first list', async (_, ms) => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    if (ms > 1000) test.cloud.hidden.clear();
    await test.create(podOf());
    await test.advance(ms);
    await test.stopNodes({ drain: true });
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 5 });
    test.cloud.hidden.add('web');
    await test.startNodes();
    await test.advance(500);
    expect(test.pod('web')).toBeDefined();
    expect(test.cloud.deletions).toEqual([{ name: 'web', gracePeriodSeconds: 5 }]);
    await test.advance(10_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });

  it('does not take a deleted pod for ended because the first list is incomplete, whatever its restart policy', async () => {
    await test.startNodes();
    await test.create(podOf('web', { restartPolicy: 'Never' }));
    await test.advance(7000);
    await test.stopNodes({ drain: true });
    const before = test.status('web');
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 5 });
    test.cloud.hidden.add('web');
    await test.startNodes();
    await test.advance(500);
    expect(test.status('web')).toEqual(before);
    expect(test.cloud.deletions).toEqual([{ name: 'web', gracePeriodSeconds: 5 }]);
    test.cloud.hidden.clear();
    await test.advance(10_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });

  it('passes on what was changed meanwhile of a pod that was accepted and never listed', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    await test.create(podOf());
    await test.advance(500);
    await test.stopNodes({ drain: true });
    test.server.pods.patch('default', 'web', { metadata: { labels: { tier: 'front' } } });
    await test.startNodes();
    await test.advance(2000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(2);
    test.cloud.hidden.clear();
    await test.advance(60_000);
    expect(test.cloud.updates).toMatchObject([
      { pod: { metadata: { labels: { tier: 'front' } } }, previous: undefined },
    ]);
  });

  it('with a first list that is incomplete changes nothing of a pod that ran (liqo #2748)', async () => {
    await test.runningPod();
    await test.stopNodes({ drain: true });
    const writes = test.writes.length;
    test.cloud.hidden.add('web');
    await test.startNodes();
    await test.advance(3000);
    test.cloud.hidden.clear();
    await test.advance(20_000);
    expect(test.writes.slice(writes).filter((write) => write.includes('/pods/'))).toEqual([]);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });

  it('reports a pod that the cloud has lost meanwhile as lost', async () => {
    await test.runningPod();
    await test.stopNodes({ drain: true });
    test.cloud.lose('web');
    await test.startNodes();
    await test.advance(20_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'LostByProvider' });
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });

  it('waits for the first list of the cloud before it creates a pod (liqo #2748)', async () => {
    await test.startNodes();
    await test.stopNodes();
    test.cloud.react('listPods', () => new Error('the cloud is down'));
    await test.startNodes();
    await test.create(podOf());
    await test.advance(30_000);
    expect(test.cloud.callsOf('createPod')).toEqual([]);
    test.cloud.react('listPods');
    await test.advance(10_000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });

  it('shows the end of a pod that the node rejects within half a minute of the first list of the cloud, even if that is empty', async () => {
    test.cloud.react('listPods', () => new Error('the cloud is down'));
    const canAdmitPod = () => ({ admit: false, reason: 'NoSuchSize', message: 'There is no such size' }) as const;
    await test.startNodes([{ ...test.node('node-a'), canAdmitPod }]);
    await test.create(podOf());
    await test.advance(60_000);
    test.cloud.react('listPods');
    await test.advance(5000);
    expect(test.cloud.callsOf('listPods').length).toBeGreaterThan(10);
    await test.advance(20_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'NoSuchSize' });
  });

  it('with a node that rejects a running pod ends the pod in the cloud, with a back-off, and does not read it', async () => {
    await test.runningPod();
    await test.stopNodes({ drain: true });
    test.cloud.react('deletePod', () => new Error('the cloud is down'));
    const canAdmitPod = () => ({ admit: false, reason: 'NoSuchSize', message: 'There is no such size' }) as const;
    await test.startNodes([{ ...test.node('node-a'), canAdmitPod }]);
    await test.advance(10_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'NoSuchSize' });
    const reads = test.podReads;
    await test.advance(50_000);
    const failed = test.cloud.callsOf('deletePod').length;
    expect([4, 5, 6]).toContain(failed);
    test.cloud.react('deletePod');
    await test.advance(60_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.cloud.callsOf('deletePod')).toHaveLength(failed + 1);
    expect(test.podReads).toBe(reads);
    test.server.pods.delete('default', 'web');
    await test.advance(3000);
    expect(test.pod('web')).toBeUndefined();
  });

  it('ends a running pod that no longer fits the Node', async () => {
    await test.startNodes();
    const resources = { requests: { cpu: '50' } };
    await test.create(podOf('web', { containers: [{ name: 'app', image: 'app:1', resources }] }));
    await test.advance(7000);
    const smaller = {
      ...test.node('node-a'),
      nodeStatus: () => ({ capacity: { cpu: '10', memory: '1Gi', pods: '10' } }),
    };
    // At the first start, the Node on the API server still has the old capacity.
    for (let i = 0; i < 2; i++) {
      await test.stopNodes({ drain: true });
      await test.startNodes([smaller]);
      await test.advance(20_000);
    }
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    expect(test.cloud.names).toEqual([]);
  });

  it('loses no status that was not sent before a crash (virtual-kubelet #762)', async () => {
    const journalOf = () => fileJournal(directory);
    const directory = directories.create();
    await test.startNodes([{ ...test.node('node-a'), journal: await journalOf() }]);
    await test.create(podOf('job', { restartPolicy: 'Never' }));
    await test.advance(7000);
    const outage = test.server.faults.next({ verb: 'patch', resource: 'pods', count: 1e9 }, fault.status(503));
    test.cloud.stop('job', 7);
    await test.advance(10_000);
    await test.stopNodes();
    test.cloud.lose('job');
    outage.cancel();
    await test.startNodes([{ ...test.node('node-a'), journal: await journalOf() }]);
    await test.advance(20_000);
    expect(test.status('job')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 7 } } }],
    });
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });
});
