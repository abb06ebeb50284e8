import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fault } from 'kubelet-status-manager/testing';
import { type PodProvider, ProviderError, type ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

const podReference = { namespace: 'default', name: 'web', nodeName: 'node-a' };
const podCalls = (): string[] => test.cloud.calls.filter((call) => call !== 'listPods');

describe('a pod that is deleted', () => {
  it.each([true, false])(
    'while it is created does not stay in the cloud (liqo #604); ignores its signal: %s',
    async (ignoresSignals) => {
      await test.startNodes();
      test.cloud.ignoresSignals = ignoresSignals;
      test.cloud.latencyMs = 20_000;
      await test.create(podOf());
      await test.advance(2000);
      expect(podCalls()).toEqual(['createPod web']);
      test.server.pods.delete('default', 'web', { gracePeriodSeconds: 5 });
      await test.advance(200_000);
      expect(test.pod('web')).toBeUndefined();
      expect(test.cloud.names).toEqual([]);
      expect(test.cloud.maxCallsOfOnePod).toBe(1);
      // Three lists of 20 s each take longer than it takes until the deletion is requested again.
      expect(podCalls()).toEqual(['createPod web', 'deletePod web', 'deletePod web']);
    },
  );

  it('is gone soon after its end, though a provider that notifies says nothing of it', async () => {
    test.cloud.stopMs = 3000;
    await test.startNodes(['node-a'], { provider: test.cloud.withNotifications() });
    await test.create(podOf());
    await test.advance(7000);
    expect(test.status('web')?.phase).toBe('Running');
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 5 });
    await test.advance(15_000);
    expect(test.pod('web')).toBeUndefined();
  });

  it('by force does not stay in the cloud (tensile-kube #48)', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    await test.advance(10_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.nodes.inspect().nodes[0]).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
  });

  it('and created again under its name is another pod (virtual-kubelet #867, #907, #1295)', async () => {
    await test.startNodes();
    test.cloud.stopMs = 8000;
    const first = await test.create(podOf());
    await test.advance(7000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    const second = await test.create(podOf());
    await test.advance(7000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.pod('web')?.metadata?.uid).toBe(second);
    await test.advance(20_000);
    expect(test.cloud.pod('web')?.uid).toBe(second);
    expect(test.cloud.names).toEqual(['web']);
    expect(first).not.toBe(second);
    expect(podCalls()).toEqual(['createPod web', 'deletePod web', 'createPod web']);
  });

  it('with a shorter grace period while it ends is deleted again with that one, without a wait', async () => {
    await test.startNodes();
    test.cloud.stopMs = 100_000;
    await test.create(podOf());
    await test.advance(7000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 60 });
    await test.advance(3000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 2 });
    await test.settle();
    expect(test.cloud.deletions.map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([60, 2]);
    await test.advance(8000);
    expect(test.pod('web')).toBeUndefined();
  });

  it('keeps the exit code that is reported inside deletePod (virtual-kubelet #684, #751)', async () => {
    await test.startNodes(['node-a'], { provider: test.cloud.withNotifications() });
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.react('deletePod', (pod) => {
      test.cloud.stop(pod!.name, 3);
      return undefined;
    });
    const statuses: unknown[] = [];
    test.server.pods.subscribe(({ pod }) => statuses.push(pod.status?.containerStatuses?.[0]?.state));
    test.server.pods.delete('default', 'web');
    await test.advance(10_000);
    expect(test.pod('web')).toBeUndefined();
    expect(statuses).toContainEqual({ terminated: expect.objectContaining({ exitCode: 3 }) as unknown });
  });

  it('is deleted in the cloud although it fails for a while, and stays Terminating only until then (virtual-kubelet #587, liqo #598)', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.react('deletePod', () => new Error('the cloud is down'));
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(60_000);
    expect(test.pod('web')?.metadata?.deletionTimestamp).toBeDefined();
    expect(test.podEvents()).toContain('web: ProviderDeleteFailed');
    expect(test.nodes.inspect().nodes[0]?.podWorkers[0]).toMatchObject({ failureReason: 'the cloud is down' });
    test.cloud.react('deletePod');
    await test.advance(20_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });

  it('is asked for again if the cloud has forgotten the request', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.stopMs = Number.POSITIVE_INFINITY;
    test.cloud.report('web', {});
    test.cloud.forgetsDeletions = true;
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(30_000);
    test.cloud.forgetsDeletions = false;
    await test.advance(60_000);
    expect(test.cloud.callsOf('deletePod')).toHaveLength(2);
    expect(test.pod('web')).toBeUndefined();
  });

  it('keeps its object until three lists in a row have not had it, which take three seconds, not three periods', async () => {
    await test.startNodes(['node-a'], { listPeriodMs: 60_000 });
    test.cloud.stopMs = 1e9;
    await test.create(podOf());
    await test.advance(3000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1_000_000 });
    test.cloud.hidden.add('web');
    await test.advance(1500);
    test.cloud.hidden.clear();
    await test.advance(4000);
    expect(test.pod('web')).toBeDefined();
    test.cloud.lose('web');
    await test.advance(60_000);
    const beforeMs = test.cloud.callsOf('listPods').length;
    await test.advance(3000);
    expect(test.cloud.callsOf('listPods').length - beforeMs).toBeLessThanOrEqual(2);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.callsOf('deletePod')).toHaveLength(1);
  });

  it('while the API server is down is freed in the cloud as soon as the API server is back', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    const outage = test.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    test.server.faults.now({ verb: 'watch' }, fault.cut());
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(60_000);
    expect(test.cloud.names).toEqual(['web']);
    outage.cancel();
    await test.advance(60_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });
});

describe('with getPod, a pod that is deleted', () => {
  async function deletedPod(getPod: NonNullable<PodProvider['getPod']>): Promise<void> {
    await test.startNodes(['node-a'], { provider: test.cloud.asProvider({ getPod }), listPeriodMs: 60_000 });
    await test.create(podOf());
    await test.advance(7000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
  }

  it('is gone as soon as the cloud says so, without a list', async () => {
    test.cloud.stopMs = 0;
    test.cloud.react('listPods', () => (test.cloud.deletions.length > 0 ? new Error('the cloud is busy') : undefined));
    await deletedPod(async ({ uid }) => {
      const pods = await test.cloud.listPods({ signal: new AbortController().signal }).catch(() => []);
      return pods.find((pod) => pod.uid === uid);
    });
    await test.advance(3000);
    expect(test.pod('web')).toBeUndefined();
  });

  it.each([
    ['it fails', () => Promise.reject(new Error('broken'))],
    ['it returns another pod', () => Promise.resolve({ ...podReference, uid: 'other', state: 'stopped' as const })],
    ['it returns no pod', () => Promise.resolve({} as never)],
  ])('is found to be gone by the list if %s', async (_what, getPod) => {
    test.cloud.stopMs = 5000;
    await deletedPod(getPod);
    await test.advance(500);
    expect(test.pod('web')).toBeDefined();
    await test.advance(70_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });
});

describe('a pod in the cloud that the API server does not have', () => {
  const orphan = { uid: 'u-1', namespace: 'default', name: 'orphan', nodeName: 'node-a', state: 'running' } as const;

  it('is deleted, also if it is stopped, but not before the API server has listed its pods', async () => {
    test.cloud.add(orphan);
    test.cloud.add({ ...orphan, uid: 'u-2', name: 'ended', state: 'stopped' });
    const outage = test.server.faults.next({ resource: 'pods', count: Number.POSITIVE_INFINITY }, fault.status(503));
    await test.startNodes();
    await test.advance(60_000);
    expect(test.cloud.names).toEqual(['ended', 'orphan']);
    outage.cancel();
    await test.advance(60_000);
    expect(test.cloud.names).toEqual([]);
    expect(podCalls().toSorted()).toEqual(['deletePod ended', 'deletePod orphan']);
  });

  it.each([
    ['is down', () => fault.status(503), '503'],
    ['is not the one that responds', () => fault.status(404, { reason: '' }), '404'],
    ['does not allow to read it', () => fault.status(403), '403'],
  ])('is not deleted while the API server %s, and is read again with a back-off', async (_what, response, reason) => {
    await test.startNodes();
    const reads = test.server.faults.next(
      { verb: 'get', resource: 'pods', count: Number.POSITIVE_INFINITY },
      response(),
    );
    test.cloud.add(orphan);
    await test.advance(120_000);
    expect(podCalls()).toEqual([]);
    const [worker] = test.nodes.inspect().nodes[0]!.podWorkers;
    expect(worker).toMatchObject({ uid: 'u-1', failureReason: expect.stringContaining(reason) as string });
    expect(test.podReads).toBeLessThanOrEqual(9);
    reads.cancel();
    await test.advance(100_000);
    expect(test.cloud.names).toEqual([]);
    expect(podCalls()).toEqual(['deletePod orphan']);
  });

  it.each(['../secrets/token', 'web%2f..', '..', 'web?watch=true', 'web#', 'we\nb', '\ud800'])(
    'whose name is %j is looked for under that name only',
    async (name) => {
      await test.startNodes();
      const before = test.server.requests.length;
      test.cloud.add({ ...orphan, name });
      await test.advance(10_000);
      const reads = test.server.requests
        .slice(before)
        .filter(({ method, path }) => method === 'GET' && !/watch=true&/.test(path));
      const paths = new Set(reads.map(({ path }) => path).filter((path) => !path.startsWith('/api/v1/nodes/')));
      const isName = /^[^/%.\ud800]+$/.test(name);
      expect([...paths]).toEqual(isName ? [`/api/v1/namespaces/default/pods/${encodeURIComponent(name)}`] : []);
      expect(test.cloud.names).toEqual(isName ? [] : [name]);
    },
  );

  it('on this node for an informer whose watch is late only is not deleted, and runs on', async () => {
    await test.startNodes();
    const outage = ['watch', 'list'].map((verb) =>
      test.server.faults.next({ verb, resource: 'pods', count: Number.POSITIVE_INFINITY } as never, fault.status(503)),
    );
    test.server.faults.now({ verb: 'watch' }, fault.cut());
    const uid = await test.create(podOf());
    test.cloud.add({ ...orphan, uid, name: 'web' });
    await test.advance(60_000);
    expect(podCalls()).toEqual([]);
    for (const fault of outage) fault.cancel();
    await test.advance(60_000);
    expect(podCalls()).toEqual(['updatePod web']);
    expect(test.status('web')?.phase).toBe('Running');
  });

  it.each(['running', 'stopped'] as const)(
    'that is %s is not asked for more often than the cloud wants',
    async (state) => {
      test.cloud.add({ ...orphan, state });
      test.cloud.react('deletePod', () => new ProviderError('slow down', { retryAfterMs: 45_000 }));
      await test.startNodes();
      // Housekeeping repeats it, every ten seconds when nothing else happens.
      await test.advance(110_000);
      expect(podCalls()).toHaveLength(3);
      test.cloud.react('deletePod', () => new Error('broken'));
      await test.advance(100_000);
      expect(podCalls().length).toBeLessThan(14);
    },
  );
});

describe('a pod that the provider reports on the wrong node', () => {
  const onNodeA = (pods: readonly ProviderPod[]): ProviderPod[] => pods.map((pod) => ({ ...pod, nodeName: 'node-a' }));
  let isWrong = false;
  const listing = (): PodProvider =>
    test.cloud.asProvider({
      listPods: async (options) => {
        const pods = await test.cloud.listPods(options);
        return isWrong ? onNodeA(pods) : pods;
      },
    });
  const workersOf = (nodeName: string) =>
    test.nodes.inspect().nodes.find((node) => node.nodeName === nodeName)?.podWorkers ?? [];
  beforeEach(() => (isWrong = false));

  it.each([
    ['which this process has, too', ['node-a', 'node-b']],
    ['while its own is in another process', ['node-a']],
  ])(
    '%s, is not deleted, and inspect() and the log say why; it goes on when the provider is right',
    async (_what, nodes) => {
      await test.startNodes(nodes, { provider: listing() });
      const uid = await test.create(podOf(), 'node-b');
      if (nodes.length === 1)
        test.cloud.add({ uid, namespace: 'default', name: 'web', nodeName: 'node-b', state: 'running' });
      await test.advance(7000);
      isWrong = true;
      await test.advance(300_000);
      const failureReason = `the provider reports pod default/web (${uid}) on node node-a, the API server has it on node node-b`;
      expect(podCalls().filter((call) => call !== 'createPod web')).toEqual([]);
      expect(workersOf('node-a')).toMatchObject([{ failureReason }]);
      expect(test.logger.errors).toMatchObject([{ fields: { reason: failureReason } }]);
      expect(test.podReads).toBeLessThanOrEqual(12);
      if (nodes.length === 2) expect(test.status('web')?.phase).toBe('Running');
      isWrong = false;
      await test.advance(30_000);
      expect(workersOf('node-a')).toEqual([]);
      expect(podCalls().filter((call) => call !== 'createPod web')).toEqual([]);
      if (nodes.length === 2) expect(test.condition('web', 'Ready')).toBe('True');
    },
  );

  it('which no process has, is not lost, and inspect() and the log say why', async () => {
    await test.startNodes(['node-b'], { provider: listing() });
    const uid = await test.create(podOf(), 'node-b');
    await test.advance(7000);
    isWrong = true;
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    const reason = `nodeName of pod default/web (${uid}) must be node-b`;
    expect(test.nodes.inspect().list.invalid).toMatchObject({ reason });
    expect(test.logger.warnings).toMatchObject([{ fields: { reason } }]);
    isWrong = false;
    await test.advance(10_000);
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
    expect(podCalls()).toEqual(['createPod web']);
  });

  it('while the API server does not respond to a new process is neither deleted nor lost', async () => {
    await test.startNodes(['node-b'], { provider: listing() });
    await test.create(podOf(), 'node-b');
    await test.advance(7000);
    await test.stopNodes({ drain: true });
    const outage = test.server.faults.next({ resource: 'pods', count: Number.POSITIVE_INFINITY }, fault.status(503));
    await test.startNodes(['node-b'], { provider: listing() });
    isWrong = true;
    await test.advance(60_000);
    outage.cancel();
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.callsOf('deletePod')).toEqual([]);
  });

  it('is deleted there once the API server does not have it any more', async () => {
    await test.startNodes(['node-a'], { provider: listing() });
    const uid = await test.create(podOf(), 'node-b');
    test.cloud.add({ uid, namespace: 'default', name: 'web', nodeName: 'node-a', state: 'running' });
    await test.advance(30_000);
    expect(test.cloud.names).toEqual(['web']);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    await test.create(podOf(), 'node-b');
    await test.advance(100_000);
    expect(test.cloud.names).toEqual([]);
  });
});
