import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PodProvider, ProviderError, type ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

const podCalls = (): string[] => test.cloud.calls.filter((call) => call !== 'listPods');

const other = { uid: 'u-other', namespace: 'default', name: 'other', nodeName: 'node-a', state: 'running' };

function fail(): never {
  throw new Error('unreadable');
}

/** The provider of the cloud, whose list is what `change` makes of it. */
function listing(change: (pods: readonly ProviderPod[]) => readonly ProviderPod[]): PodProvider {
  return test.cloud.asProvider({ listPods: async (options) => change(await test.cloud.listPods(options)) });
}

describe('a cloud that lists', () => {
  it('10,000 pods of unknown nodes does not disturb the others', async () => {
    const others = Array.from({ length: 10_000 }, (_, i): ProviderPod => ({
      ...{ uid: `u-${i}`, namespace: 'default', name: `other-${i}`, nodeName: `node-${i}`, state: 'running' },
    }));
    await test.runningPod(['node-a'], { provider: listing((pods) => [...others, ...pods]) });
    await test.advance(10_000);
    expect(podCalls()).toEqual(['createPod web']);
  });

  it.each<[string, () => object]>([
    [
      'whose getter throws',
      () => Object.defineProperty({ nodeName: 'node-a' }, 'uid', { get: fail, enumerable: true }),
    ],
    ['that is a proxy which throws', () => new Proxy({}, { get: fail, ownKeys: fail })],
    ['with a million containers', () => ({ ...other, containers: Array.from({ length: 1_000_000 }, () => ({})) })],
    ['that says to have four billion containers', () => ({ ...other, containers: Array.from({ length: 0 }).fill(0) })],
  ])('a pod %s does not disturb the others, and inspect() says so', async (what, strange) => {
    const entry = strange() as { containers?: unknown[] };
    if (what.includes('billion')) entry.containers!.length = 4_000_000_000;
    await test.runningPod(['node-a'], { provider: listing((pods) => [entry as unknown as ProviderPod, ...pods]) });
    await test.advance(10_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.nodes.inspect().list.invalid?.reason).toMatch(/pods\[0\]/);
  });

  it.each([
    ['one UID twice', { state: 'stopped' }],
    ['a pod on two nodes', { nodeName: 'node-b' }],
  ] as const)('%s changes nothing of the pod, and inspect() says so', async (_what, change) => {
    let isStrange = false;
    const provider = listing((pods) => (isStrange ? pods.flatMap((pod) => [{ ...pod, ...change }, pod]) : pods));
    await test.runningPod(['node-a', 'node-b'], { provider });
    isStrange = true;
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(podCalls()).toEqual(['createPod web']);
    expect(test.nodes.inspect().list.invalid?.reason).toContain('pods[1].uid');
    isStrange = false;
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(podCalls()).toEqual(['createPod web']);
  });

  it('a stopped pod as running again runs nothing beside its replacement', async () => {
    await test.runningPod();
    test.cloud.stop('web', 1);
    await test.advance(6000);
    test.cloud.report('web', { state: 'running', containers: [] });
    await test.advance(20_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.status('web')?.phase).toBe('Failed');
  });

  it('a lower restart count keeps the higher one, as the kubelet does', async () => {
    await test.runningPod();
    test.cloud.report('web', { containers: [{ name: 'app', restartCount: 5 }] });
    await test.advance(6000);
    test.cloud.report('web', { containers: [{ name: 'app', restartCount: 1 }] });
    await test.advance(6000);
    expect(test.status('web')?.containerStatuses).toMatchObject([{ restartCount: 5, ready: true }]);
    expect(test.logger.errors).toEqual([]);
  });

  it.each<[string, Partial<ProviderPod>, object]>([
    ['an exit code of Windows', { containers: [{ name: 'app', exit: { exitCode: 0xc0000005 } }] }, { phase: 'Failed' }],
    ['two addresses of a family', { ips: ['10.9.0.1', '34.1.2.3'] }, { podIPs: [{ ip: '10.9.0.1' }] }],
    ['an address that is none', { ips: ['web.example', '10.9.0.1'] }, { podIP: '10.9.0.1' }],
    ['a message of 3 MB', { reason: 'Moved', message: 'm'.repeat(3e6) }, { reason: 'Moved' }],
    [
      'a message of a container of 3 MB',
      { containers: [{ name: 'app', exit: { exitCode: 1, message: 'm'.repeat(3e6) } }] },
      { containerStatuses: [{ state: { terminated: { message: 'm'.repeat(4096) } } }] },
    ],
    [
      'an image ID of 3 MB',
      { containers: [{ name: 'app', imageID: 'i'.repeat(3e6) }] },
      { containerStatuses: [{ imageID: 'i'.repeat(4096) }] },
    ],
    ['a date after the year 9999', { containers: [{ name: 'app', restartCount: 1, startedAt: new Date(8e15) }] }, {}],
    ['a restart count beyond 2^31', { containers: [{ name: 'app', restartCount: 2 ** 40 }] }, {}],
  ])('%s does not keep the status of the pod from being written', async (_what, change, expected) => {
    await test.startNodes();
    await test.create(podOf('web', { restartPolicy: 'Never' }));
    await test.advance(7000);
    test.cloud.report('web', change);
    await test.advance(30_000);
    expect(test.status('web')).toMatchObject(expected);
    expect(test.nodes.inspect().nodes[0]?.statusManager).toMatchObject({ pods: [{ unsentSince: undefined }] });
  });
});

describe('a cloud that', () => {
  it('notifies of invalid pods again and again is logged once until it is right, and inspect() says why', async () => {
    const provider = test.cloud.withNotifications();
    let notify = (_pod: ProviderPod): void => {};
    const notifyPods: PodProvider['notifyPods'] = (listener, onGap) => {
      notify = listener;
      return provider.notifyPods!(listener, onGap);
    };
    await test.runningPod(['node-a'], { provider: { ...provider, notifyPods } });
    for (let i = 0; i < 100; i++) notify({ ...test.cloud.pod('web')!, ips: [''] });
    const reason = expect.stringContaining('pod.ips[0]') as string;
    expect(test.nodes.inspect().list.invalid).toMatchObject({ reason });
    expect(test.logger.warnings).toMatchObject([
      { message: 'Reading a pod of the provider failed', fields: { reason } },
    ]);
    await test.advance(60_000);
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
    expect(test.logger.errors).toEqual([]);
  });

  it('lists a pod only a minute after createPod does not lose it', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    await test.create(podOf());
    await test.advance(60_000);
    test.cloud.hidden.clear();
    await test.advance(10_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.names).toEqual(['web']);
  });

  it('lists a deleted pod only a minute after createPod does not keep it', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    test.cloud.forgetsDeletions = true;
    await test.create(podOf());
    await test.advance(5000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(60_000);
    test.cloud.hidden.clear();
    test.cloud.forgetsDeletions = false;
    await test.advance(100_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.pod('web')).toBeUndefined();
  });

  it.each([
    ['a string', 'no'],
    ['undefined', undefined],
    ['null', null],
    ['an object', { code: 500 }],
    ['an error without a prototype', Object.create(null) as object],
  ])('rejects with %s is asked again', async (_what, thrown) => {
    let calls = 0;
    const provider = test.cloud.asProvider({
      createPod: (pod, options) => (calls++ === 0 ? Promise.reject(thrown) : test.cloud.createPod(pod, options)),
    });
    await test.runningPod(['node-a'], { provider });
    expect(calls).toBe(2);
  });

  it('throws before it returns a promise is asked again', async () => {
    let calls = 0;
    const provider = test.cloud.asProvider({
      createPod: (pod, options) => {
        if (calls++ === 0) throw new TypeError('broken');
        return test.cloud.createPod(pod, options);
      },
    });
    await test.runningPod(['node-a'], { provider });
    expect(calls).toBe(2);
  });

  it.each([Number.NaN, 0, -1])(
    'says retryAfterMs: %d is asked again with the back-off of other failures',
    async (ms) => {
      await test.startNodes();
      for (const call of ['createPod', 'listPods'] as const)
        test.cloud.react(call, () => new ProviderError('429', { retryAfterMs: ms }));
      await test.create(podOf());
      await test.advance(30_000);
      expect(test.cloud.callsOf('createPod').length).toBeLessThanOrEqual(6);
      expect(test.cloud.callsOf('listPods').length).toBeLessThanOrEqual(35);
    },
  );

  it('rejects deletePod of a pod that it no longer has does not keep the object of the pod', async () => {
    await test.runningPod();
    test.cloud.react('deletePod', () => new Error('404: there is no such pod'));
    test.cloud.lose('web');
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(30_000);
    expect(test.pod('web')).toBeUndefined();
  });

  it('refuses deletePod while it creates the pod does not keep the pod without its object', async () => {
    await test.startNodes();
    let isCreating = true;
    const createPod = test.cloud.createPod.bind(test.cloud);
    // The request is aborted, and the cloud goes on.
    test.cloud.createPod = (pod, { signal, ...options }) => {
      test.clock.afterFunc(40_000, () => {
        isCreating = false;
        void createPod(pod, { ...options, signal: new AbortController().signal });
      });
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    };
    test.cloud.react('deletePod', () => (isCreating ? new Error('409: the pod is being created') : undefined));
    await test.create(podOf());
    await test.advance(25_000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(15_000);
    expect(isCreating).toBe(false);
    expect(test.pod('web')).toBeDefined();
    await test.advance(60_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.pod('web')).toBeUndefined();
  });

  it('never answers getPod does not delay the end of a pod', async () => {
    await test.runningPod(['node-a'], { provider: test.cloud.asProvider({ getPod: () => new Promise(() => {}) }) });
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(10_000);
    expect(test.pod('web')).toBeUndefined();
  });
});

it('a provider that changes the pods and references that it gets changes nothing here', async () => {
  const provider = test.cloud.asProvider({
    createPod: async (pod, options) => {
      await test.cloud.createPod(structuredClone(pod), options);
      const changed = pod as unknown as { metadata: { uid: string; name: string }; spec: { containers: unknown[] } };
      changed.metadata.uid = 'changed';
      changed.spec.containers.length = 0;
    },
  });
  await test.runningPod(['node-a'], { provider });
  await test.advance(10_000);
  expect(test.status('web')?.phase).toBe('Running');
  expect(podCalls()).toEqual(['createPod web']);
});

it('an error of a provider that cannot be read is a failure like every other', async () => {
  let calls = 0;
  const provider = test.cloud.asProvider({
    createPod: async (pod, options) => {
      calls += 1;
      if (calls === 1) throw Object.defineProperty(new ProviderError('x'), 'message', { get: fail });
      await test.cloud.createPod(pod, options);
    },
  });
  await test.runningPod(['node-a'], { provider });
  await test.advance(10_000);
  expect(test.status('web')?.phase).toBe('Running');
  expect(calls).toBe(2);
});
