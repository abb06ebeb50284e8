import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProviderError } from 'kubelet-status-manager/virtual-nodes';
import { fault } from 'kubelet-status-manager/testing';
import { expectConsistent } from '../support/consistent-status.ts';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

describe('a call that fails', () => {
  it('for good fails the pod with its reason and message, and is not made again (virtual-kubelet #1310, interLink #427)', async () => {
    await test.startNodes();
    test.cloud.react(
      'createPod',
      () => new ProviderError('There is no such GPU', { permanent: true, reason: 'NoSuchGPU' }),
    );
    await test.create(podOf());
    await test.advance(60_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'NoSuchGPU', message: 'There is no such GPU' });
    // `kubectl get pods` prints the reason of a container, if there is one.
    expect(test.status('web')?.containerStatuses ?? []).toEqual([]);
    // There was nothing that the call of `deletePod` could have deleted.
    expect(test.podEvents()).toEqual(['web: NoSuchGPU']);
    expect(test.cloud.callsOf('deletePod')).toHaveLength(1);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
  });

  it('for good leaves no container statuses, and conditions that follow from that', async () => {
    await test.startNodes();
    test.cloud.react('createPod', () => new ProviderError('no', { permanent: true }));
    const init = [{ name: 'init', image: 'init:1' }];
    await test.create(podOf('web', { initContainers: init }));
    await test.advance(3000);
    expectConsistent(test.pod('web')!, test.status('web')!, undefined);
    expect(test.status('web')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Initialized', message: 'containers with unknown status: [init]' }),
    );
  });

  it.each([404, null, {}, Symbol('no')])(
    'for good fails the pod also if its reason is no string: %s',
    async (reason) => {
      await test.startNodes();
      test.cloud.react('createPod', () => new ProviderError('no', { permanent: true, reason: reason as never }));
      await test.create(podOf());
      await test.advance(3000);
      expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'ProviderFailed', message: 'no' });
    },
  );

  it('for a while is made again, and the status of the pod says why it waits (azure-aci #135)', async () => {
    await test.startNodes();
    test.cloud.react('createPod', () => new Error('the cloud is down'));
    await test.create(podOf());
    await test.advance(1000);
    expect(test.status('web')).toMatchObject({
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ProviderCreateFailed', message: 'the cloud is down' } } }],
    });
    test.cloud.react('createPod');
    await test.advance(3000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.podEvents()).toEqual(['web: ProviderCreateFailed', 'web: ProviderCreateSuccess']);
  });

  it.each([
    ['createPod', 300],
    ['deletePod', 60],
  ] as const)('%s again and again is made after 1, 2, 4 s … and at most %d s', async (call, max) => {
    await test.startNodes(['node-a'], { listPeriodMs: 60_000 });
    await test.create(podOf());
    await test.advance(3000);
    const calledMs: number[] = [];
    test.cloud.react(call, () => {
      calledMs.push(test.clock.monotonicMs());
      return calledMs.length % 12 === 0 ? undefined : new Error('the cloud is down');
    });
    if (call === 'createPod') await test.create(podOf('db'));
    else test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(call === 'createPod' ? 1200_000 : 400_000);
    // The workers look once a second which pods are due.
    const delays = calledMs.slice(1).map((ms, i) => Math.floor((ms - calledMs[i]!) / 1000));
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => Math.min(seconds, max)));
  });

  it('after a success is made again as soon as after the first failure', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(3000);
    let failures = 4;
    test.cloud.react('updatePod', () => (failures-- > 0 ? new Error('not now') : undefined));
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: '1' } } });
    await test.advance(20_000);
    expect(test.cloud.updates).toHaveLength(1);
    failures = 1;
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: '2' } } });
    await test.advance(3000);
    expect(test.cloud.updates).toHaveLength(2);
  });

  it('at the same time for many pods is not made again at the same time', async () => {
    let seed = 0;
    const random = (): number => (seed = (seed + 0.37) % 1);
    await test.startNodes(['node-a'], { random });
    const calledMs: number[] = [];
    test.cloud.react('createPod', () => {
      calledMs.push(test.clock.monotonicMs());
      return new Error('the cloud is down');
    });
    for (let i = 0; i < 8; i++) await test.create(podOf(`web-${i}`));
    await test.advance(30_000);
    expect(new Set(calledMs.slice(-8)).size).toBeGreaterThan(4);
  });

  it('with retryAfterMs is not made again before, whatever happens to the pod', async () => {
    await test.startNodes();
    test.cloud.react('createPod', () => new ProviderError('429', { retryAfterMs: 150_000, reason: 'TooManyRequests' }));
    await test.create(podOf());
    await test.advance(5000);
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
    await test.advance(140_000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
    test.cloud.react('createPod');
    await test.advance(100_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.callsOf('createPod')).toHaveLength(2);
  });

  it('with 429 on the list delays the next list', async () => {
    await test.startNodes();
    await test.advance(1000);
    test.cloud.react('listPods', () => new ProviderError('429', { retryAfterMs: 30_000 }));
    await test.advance(5000);
    const lists = test.cloud.callsOf('listPods').length;
    await test.create(podOf());
    await test.advance(24_000);
    expect(test.cloud.callsOf('listPods')).toHaveLength(lists);
  });

  it('of createPod although it had an effect loses no change of the pod', async () => {
    await test.startNodes(['node-a'], { callTimeoutMs: 10_000 });
    test.cloud.ignoresSignals = true;
    test.cloud.latencyMs = 10_300;
    test.cloud.react('listPods', () => new Error('not now'));
    await test.create(podOf());
    await test.advance(10_500);
    test.cloud.latencyMs = 0;
    test.cloud.react('createPod', () => new Error('the cloud is down'));
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
    test.cloud.react('listPods');
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.updates).toMatchObject([{ pod: { metadata: { labels: { a: 'b' } } } }]);
  });

  it.each([true, false])(
    'of createPod although it had an effect loses no change before the next createPod; the cloud reports podHash: %s',
    async (reportsPodHash) => {
      test.cloud.reportsPodHash = reportsPodHash;
      await test.startNodes();
      const createPod = test.cloud.createPod.bind(test.cloud);
      let failures = 1;
      test.cloud.createPod = async (...args) => {
        await createPod(...args);
        if (failures-- > 0) throw new Error('the connection was closed');
      };
      test.cloud.hidden.add('web');
      await test.create(podOf());
      test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
      await test.advance(3000);
      expect(test.cloud.callsOf('createPod')).toHaveLength(2);
      test.cloud.hidden.clear();
      await test.advance(60_000);
      expect(test.cloud.updates).toMatchObject([{ pod: { metadata: { labels: { a: 'b' } } }, previous: undefined }]);
    },
  );

  it('of updatePod although it had an effect does not keep the pod from being changed back', async () => {
    await test.startNodes(['node-a'], { callTimeoutMs: 10_000 });
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.ignoresSignals = true;
    test.cloud.latencyMs = 10_300;
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
    await test.advance(10_500);
    test.cloud.latencyMs = 0;
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: null as never } } });
    await test.advance(30_000);
    expect(test.cloud.updates.map(({ pod }) => pod.metadata.labels?.['a'])).toEqual(['b', undefined]);
  });

  it('of updatePod although it had an effect is made up for, also if the cloud refuses the next change for good', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    const told: (string | undefined)[] = [];
    test.cloud.updatePod = async ({ metadata }) => {
      const a = metadata.labels?.['a'];
      told.push(a);
      if (a === 'b') throw new Error('the cloud is down');
      if (a === 'c') throw new ProviderError('not this one', { permanent: true });
    };
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
    await test.advance(500);
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'c' } } });
    await test.advance(5000);
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: null as never } } });
    await test.advance(10_000);
    expect(told).toEqual(['b', 'c', undefined]);
  });

  it('of updatePod for good is not made again for the same change, and the pod keeps running', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.react('updatePod', () => new ProviderError('Labels cannot be changed', { permanent: true }));
    test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
    await test.advance(100_000);
    expect(test.cloud.callsOf('updatePod')).toHaveLength(1);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.podEvents()).toEqual(['web: ProviderCreateSuccess', 'web: ProviderFailed']);
  });

  it('never to settle is abandoned after its time-out, and does not keep other pods from being created', async () => {
    await test.startNodes(['node-a'], { callTimeoutMs: 10_000, concurrency: 1 });
    test.cloud.ignoresSignals = true;
    test.cloud.latencyMs = 1e9;
    await test.create(podOf('stuck'));
    test.cloud.latencyMs = 0;
    await test.create(podOf('web'));
    await test.advance(5000);
    expect(test.nodes.inspect().callsInProgress).toBe(1);
    expect(test.cloud.callsOf('createPod')).toEqual(['createPod stuck']);
    await test.advance(30_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.status('stuck')?.phase).toBe('Running');
    expect(test.cloud.maxCallsOfOnePod).toBe(2);
  });
});

describe('while 40 % of all calls fail', () => {
  it('pods are created once, run and go', async () => {
    await test.startNodes();
    let calls = 0;
    for (const call of ['createPod', 'deletePod', 'listPods'] as const)
      test.cloud.react(call, () => (calls++ % 5 < 2 ? new Error('flaky') : undefined));
    for (let i = 0; i < 5; i++) await test.create(podOf(`web-${i}`));
    await test.advance(60_000);
    for (let i = 0; i < 5; i++) expect(test.status(`web-${i}`)?.phase).toBe('Running');
    for (let i = 0; i < 5; i++) test.server.pods.delete('default', `web-${i}`, { gracePeriodSeconds: 1 });
    await test.advance(90_000);
    expect(test.server.pods.list()).toEqual([]);
    expect(test.cloud.names).toEqual([]);
  });
});

describe('while the API server is down', () => {
  it('the end of a pod is kept, and written when it is back (virtual-kubelet #712)', async () => {
    await test.startNodes();
    await test.create(podOf('job', { restartPolicy: 'Never' }));
    await test.advance(7000);
    const outage = test.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    test.cloud.stop('job', 4);
    await test.advance(60_000);
    test.cloud.lose('job');
    await test.advance(60_000);
    outage.cancel();
    await test.advance(60_000);
    expect(test.status('job')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 4 } } }],
    });
    expect(test.status('job')?.reason).toBeUndefined();
  });

  it('a status that another writer has changed is written again (virtual-kubelet #899)', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.server.pods.patchStatus('default', 'web', {
      status: { phase: 'Pending', message: 'mine' },
    });
    await test.advance(20_000);
    expect(test.status('web')).toMatchObject({ phase: 'Running' });
    expect(test.status('web')?.message).toBeUndefined();
  });
});

describe("a provider's mistake is said once, with its place", () => {
  const lines = (message: string) => test.logger.lines.filter((entry) => entry.message === message);

  it('an error that is no ProviderError has its stack in the log, a ProviderError has not', async () => {
    await test.startNodes();
    const [bug, known] = [new TypeError('x is not a function'), new ProviderError('the cloud is down')];
    test.cloud.react('createPod', (pod) => (pod?.name === 'web' ? bug : known));
    const uid = await test.create(podOf());
    await test.create(podOf('db'));
    await test.advance(60_000);
    expect(lines('The provider threw an error that is not a ProviderError')).toMatchObject([
      { fields: { operation: 'create_pod', podUID: uid, stack: expect.stringContaining('errors.test.ts') as string } },
    ]);
  });

  it('an error whose message differs each time has one stack for each operation and line of code that throws', async () => {
    await test.startNodes();
    let count = 0;
    test.cloud.react('createPod', () => new TypeError(`request ${++count} failed`));
    for (const name of ['a', 'b', 'c']) await test.create(podOf(name));
    await test.advance(60_000);
    expect(count).toBeGreaterThan(10);
    expect(lines('The provider threw an error that is not a ProviderError')).toHaveLength(1);
  });

  it('a call that is aborted because its time is over is no mistake', async () => {
    await test.startNodes(['node-a'], { callTimeoutMs: 10_000 });
    test.cloud.latencyMs = 1e9;
    await test.create(podOf());
    await test.advance(60_000);
    expect(test.cloud.callsOf('createPod').length).toBeGreaterThan(1);
    expect(lines('The provider threw an error that is not a ProviderError')).toEqual([]);
  });

  it('a container and an address that are not those of the pod are named, and the others are shown', async () => {
    const uid = await test.runningPod();
    test.cloud.report('web', { ips: ['10.0.0.9', 'unknown'], containers: [{ name: 'ap' }, { name: 'app' }] });
    await test.advance(30_000);
    const { invalid } = test.nodes.inspect().list;
    expect(invalid?.reason).toBe(
      `containers[0].name of pod default/web (${uid}) is not a container of the pod: "ap"; and 1 others`,
    );
    expect(invalid?.failingSince).toBeDefined();
    expect(lines('Reading a pod of the provider failed')).toHaveLength(1);
    expect(test.status('web')).toMatchObject({ phase: 'Running', podIPs: [{ ip: '10.0.0.9' }] });
    test.cloud.report('web', { ips: ['10.0.0.9'], containers: [{ name: 'app' }] });
    await test.advance(6000);
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
  });

  it('an address that two pods have is named, unless they have the network or an address of the node', async () => {
    const capabilities = { hostNamespaces: true };
    const uid = await test.runningPod(['node-a'], { provider: test.cloud.asProvider({ capabilities }) });
    const other = await test.create(podOf('other'));
    await test.create(podOf('host', { hostNetwork: true }));
    await test.advance(7000);
    test.cloud.report('host', { ips: ['10.0.0.9'] });
    for (const name of ['web', 'other']) test.cloud.report(name, { ips: ['10.1.2.3', '10.0.0.9'] });
    await test.advance(10_000);
    expect(test.nodes.inspect().list.invalid?.reason).toBe(
      `ips[1] of pod default/other (${other}) is also an address of pod default/web (${uid}): 10.0.0.9`,
    );
    test.cloud.stop('web');
    await test.advance(6000);
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
  });

  it('a mistake in one pod does not hide that of another in the log', async () => {
    await test.runningPod();
    await test.create(podOf('other'));
    await test.advance(7000);
    for (const name of ['web', 'other']) {
      test.cloud.report(name, { ips: ['unknown'] });
      await test.advance(20_000);
    }
    const reasons = lines('Reading a pod of the provider failed').map(
      ({ fields }) => (fields as { reason: string }).reason,
    );
    expect(reasons).toEqual([expect.stringContaining('default/web'), expect.stringContaining('default/other')]);
  });
});
