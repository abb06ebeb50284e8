import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { informerPodManagerFrom } from '../../../src/kube/informer/index.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { StatusManager } from '../../../src/status-manager/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import { podOf, SyncHarness } from '../../status-manager/sync/sync-harness.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

const down = 'Pod statuses cannot be written: requests to the API server fail';
const recovered = 'Pod statuses can be written again: the API server has recovered';
const refused = new APIError('request to 10.0.0.1:6443 failed: ECONNREFUSED', { kind: 'network' });
const always = Number.POSITIVE_INFINITY;

/** Starts the manager; the API server has processed a request. */
async function startWithSuccess(h: SyncHarness): Promise<void> {
  const [first] = h.addPods('first');
  h.manager.start();
  h.set('first', 'written');
  await h.settle();
  h.podManager.removePod(first!);
  h.manager.removeOrphanedStatuses([]);
}

function messages(h: SyncHarness): string[] {
  return linesAtInfo(h.logger).map(({ message }) => message);
}

describe('an outage of the API server', () => {
  it('is logged once after 30 s and once when it is over, however many pods wait', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a', 'b', 'c');
    await startWithSuccess(h);
    let isDown = true;
    const failWhileDown = (): void => {
      if (isDown) throw refused;
    };
    h.client.react({}, failWhileDown, always);
    for (const name of ['a', 'b', 'c']) h.set(name, 'during the outage');
    await h.clock.advanceAsync(29_000);
    expect(linesAtInfo(h.logger)).toEqual([]);
    await h.clock.advanceAsync(1_800_000);
    expect(linesAtInfo(h.logger)).toEqual([
      {
        level: 'warn',
        message: down,
        fields: {
          since: '2026-01-02T03:04:05Z',
          unsent: 3,
          verb: 'get',
          failure: 'Unreachable',
          statusCode: undefined,
          reason: refused.message,
        },
      },
    ]);
    isDown = false;
    await h.clock.advanceAsync(60_000);
    expect(messages(h)).toEqual([down, recovered]);
    expect(linesAtInfo(h.logger)[1]!.fields).toMatchObject({ since: '2026-01-02T03:04:05Z', unsent: 2 });
    await h.manager.stop();
  });

  it('is logged with the first failure if no request has ever succeeded', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.client.fail({}, refused, 2);
    h.set('a', 'unseen');
    await h.settle();
    expect(linesAtInfo(h.logger)).toMatchObject([{ message: down, fields: { reason: refused.message, unsent: 1 } }]);
    expect(h.manager.inspect().outage).toBeUndefined();
    await h.clock.advanceAsync(10_000);
    expect(messages(h)).toEqual([down, recovered]);
    h.client.fail({}, refused, 2);
    h.set('a', 'later');
    await h.clock.advanceAsync(10_000);
    expect(messages(h)).toHaveLength(2);
    await h.manager.stop();
  });

  it('starts at the time of the first request that hung', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.client.hold({});
    h.set('a', 'unseen');
    await h.clock.advanceAsync(30_000);
    expect(h.logger.warnings.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ since: '2026-01-02T03:04:05Z', reason: 'No response within 30000 ms' }),
    ]);
    await h.manager.stop();
  });

  it('is not hidden by GETs that succeed when the PATCHes of two pods fail', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    h.manager.start();
    h.client.fail({ verb: 'patch' }, 500, always);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(20_000);
    h.set('b', 'unseen');
    await h.clock.advanceAsync(29_000);
    expect(h.manager.inspect().outage).toBeUndefined();
    await h.clock.advanceAsync(1_000);
    expect(h.logger.warnings).toMatchObject([{ message: down, fields: { since: '2026-01-02T03:04:25Z', unsent: 2 } }]);
    expect(h.manager.inspect().outage).toMatchObject({ since: '2026-01-02T03:04:25Z', verb: 'patch', statusCode: 500 });
    await h.manager.stop();
  });

  it.each([0, 1])('is not reported for one pod whose PATCH gets 500 while its GETs succeed, %i fail', async (fail) => {
    const h = new SyncHarness();
    h.addPods('a');
    await startWithSuccess(h);
    h.client.fail({ verb: 'get' }, 500, fail);
    h.client.fail({ verb: 'patch' }, 500, always);
    h.set('a', 'unseen');
    for (let second = 0; second < 720; second++) {
      await h.clock.advanceAsync(1_000);
      expect(h.manager.inspect().outage).toBeUndefined();
    }
    expect(messages(h)).toEqual(['Failed to update status for pod']);
    await h.manager.stop();
  });

  it('is reported for a single pod if all its requests fail', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    await startWithSuccess(h);
    h.client.fail({}, 500, always);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(29_999);
    expect(h.manager.inspect().outage).toBeUndefined();
    await h.clock.advanceAsync(1);
    expect(messages(h)).toEqual([down]);
    expect(h.manager.inspect().outage).toMatchObject({ since: '2026-01-02T03:04:05Z', statusCode: 500 });
    await h.manager.stop();
  });

  it('is shown after 30 s, also when the next request is minutes away', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    const pause = new APIError('429 TooManyRequests', { kind: 'http', statusCode: 429, retryAfterMs: 300_000 });
    h.client.fail({}, pause, always);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(30_000);
    expect(h.count()).toBe(1);
    expect(messages(h)).toEqual([down]);
    await h.manager.stop();
  });

  it('leaves no timer when the manager stops', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.client.fail({}, 500, always);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(1_000);
    await h.manager.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('is not reported as over when its only pod is removed', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.client.fail({}, 500, always);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(60_000);
    h.manager.removeOrphanedStatuses([]);
    expect(messages(h)).toEqual([down, 'The outage of the API server no longer affects any pod']);
    expect(h.manager.inspect().outage).toBeUndefined();
    await h.manager.stop();
  });

  it.each([404, 403, 409, 422])(
    'a response of %i is not an outage, because the API server processes requests',
    async (code) => {
      const h = new SyncHarness();
      h.addPods('a');
      h.manager.start();
      h.client.fail({ verb: 'patch' }, code, always);
      h.set('a', 'unseen');
      await h.clock.advanceAsync(120_000);
      expect(messages(h)).not.toContain(down);
      await h.manager.stop();
    },
  );

  it('two failures an hour apart are not an outage', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    await startWithSuccess(h);
    h.client.fail({}, 500, 1);
    h.set('a', 'fails once');
    await h.settle();
    h.manager.removeOrphanedStatuses([]);
    await h.clock.advanceAsync(3_600_000);
    h.client.fail({}, 500, 1);
    h.set('b', 'fails once');
    await h.clock.advanceAsync(60_000);
    expect(h.logger.warnings).toEqual([]);
    await h.manager.stop();
  });
});

describe('inspect().requestFailure', () => {
  it('begins with the first failed request, before there is an outage, and ends with the first that succeeds', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    await startWithSuccess(h);
    h.client.fail({}, 503, 6);
    h.set('a', 'unseen');
    await h.settle();
    const failure = { since: '2026-01-02T03:04:05Z', verb: 'get', statusCode: 503 };
    expect(h.manager.inspect()).toMatchObject({ requestFailure: failure, outage: undefined });
    await h.clock.advanceAsync(31_000);
    expect(h.manager.inspect()).toMatchObject({ requestFailure: failure, outage: failure });
    await h.clock.advanceAsync(60_000);
    expect(h.written('a')).toBe('unseen');
    expect(h.manager.inspect()).toMatchObject({ requestFailure: undefined, outage: undefined });
    await h.manager.stop();
  });

  it('is undefined while one pod cannot be patched and others can', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a', 'b');
    h.manager.start();
    h.client.fail({ verb: 'patch', name: 'a' }, 500, always);
    h.set('a', 'unseen');
    h.set('b', 'written');
    await h.clock.advanceAsync(10_000);
    expect(h.manager.inspect().requestFailure).toBeUndefined();
    await h.manager.stop();
  });
});

describe('inspect().lastSuccessfulRequestAt', () => {
  it('counts the requests of everything that shares the client', async () => {
    const client = Object.assign(new FakePodClient(), { lastSuccessAgeMs: undefined as number | undefined });
    const h = new SyncHarness({ client });
    expect(h.manager.inspect().lastSuccessfulRequestAt).toBeUndefined();
    client.lastSuccessAgeMs = 5_000;
    expect(h.manager.inspect().lastSuccessfulRequestAt).toBe('2026-01-02T03:04:00Z');
    await h.manager.stop();
  });

  it('counts the events of an informer with connections of its own', async () => {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const emitter = { on: () => {}, list: () => [podOf('a')] };
    const podManager = informerPodManagerFrom(emitter, { clock });
    const client = new FakePodClient([], { clock });
    const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
    podManager.start();
    clock.advance(60_000);
    expect(manager.inspect().lastSuccessfulRequestAt).toBe('2026-01-02T03:04:05Z');
    await manager.stop();
  });
});

describe('one pod that fails for a minute while others are written', () => {
  it('is logged as one warning', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a', 'b');
    await startWithSuccess(h);
    h.client.fail({ name: 'a' }, 500, always);
    h.set('a', 'unseen');
    for (let minute = 0; minute < 10; minute++) {
      for (let second = 0; second < 60; second += 10) {
        h.set('b', `written ${minute}:${second}`);
        await h.clock.advanceAsync(10_000);
      }
    }
    expect(h.logger.warnings.map(({ message, fields }) => [message, fields['pod'], fields['reason']])).toEqual([
      ['Failed to update status for pod', 'default/a', 'scripted 500'],
    ]);
    await h.manager.stop();
  });
});

describe('a drain that times out', () => {
  it('logs the number of unsent statuses and their pods', async () => {
    const h = new SyncHarness();
    const names = Array.from({ length: 25 }, (_, i) => `pod-${i}`);
    h.addPods(...names);
    await startWithSuccess(h);
    h.client.fail({}, refused, always);
    for (const name of names) h.set(name, 'unsent');
    const stopped = h.manager.stop({ drain: true, deadlineMs: 5_000 });
    await h.clock.advanceAsync(5_000);
    await stopped;
    expect(h.logger.warnings).toEqual([
      {
        level: 'warn',
        message: 'Stopping with unsent pod statuses',
        fields: { unsent: 25, pods: names.slice(0, 20).map((name) => `default/${name}`), drainMs: 5_000 },
      },
    ]);
  });

  it('logs nothing when all statuses were sent', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.set('a', 'sent');
    await h.manager.stop({ drain: true });
    expect(h.logger.warnings).toEqual([]);
    expect(h.written('a')).toBe('sent');
  });
});

describe('403 to a GET', () => {
  it('is logged with the server’s message, also after failures of another kind', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    await startWithSuccess(h);
    h.client.fail({}, 500, 2);
    h.set('a', 'unseen');
    await h.clock.advanceAsync(1_000);
    const words = 'pods "a" is forbidden: User "system:node:n" cannot get resource "pods"';
    h.client.fail({ verb: 'get' }, new APIError(words, { kind: 'http', statusCode: 403, reason: 'Forbidden' }), always);
    await h.clock.advanceAsync(600_000);
    expect(h.logger.warnings.map(({ fields }) => fields['reason'])).toEqual([words]);
    await h.manager.stop();
  });
});

describe('403 for a pod that is being deleted', () => {
  const words = 'pods "a" is forbidden: no relationship found between node "n" and this object';
  const forbidden = new APIError(words, { kind: 'http', statusCode: 403, reason: 'Forbidden' });

  it('logs no warning if the watch has reported the deletion', async () => {
    const h = new SyncHarness();
    const pods = h.addPods('a', 'b', 'c', 'd');
    await startWithSuccess(h);
    for (const pod of pods) h.set(pod.metadata!.name!, 'written');
    await h.settle();
    h.client.fail({}, forbidden, always);
    for (const pod of pods) {
      h.podManager.removePod(pod);
      h.set(pod.metadata!.name!, 'its last status');
    }
    await h.clock.advanceAsync(600_000);
    expect(h.logger.warnings).toEqual([]);
    await h.manager.stop();
  });

  it.each([
    ['is being deleted', { metadata: { deletionTimestamp: '2026-01-02T03:04:00Z' } }],
    ['has finished', { status: { phase: 'Succeeded' } }],
  ])('is no warning for a minute when the pod %s', async (_, { metadata = {}, status = {} }: Pod) => {
    const h = new SyncHarness();
    const pod = podOf('a');
    h.addPod({ ...pod, metadata: { ...pod.metadata, ...metadata }, status: { ...pod.status, ...status } });
    h.manager.start();
    h.client.fail({}, forbidden, always);
    h.set('a', 'its last status');
    await h.clock.advanceAsync(59_000);
    expect(h.logger.warnings).toEqual([]);
    await h.clock.advanceAsync(61_000);
    expect(h.logger.warnings).toMatchObject([{ fields: { pod: 'default/a', reason: words } }]);
    await h.manager.stop();
  });
});

describe('a pod that the API server has never shown', () => {
  it.each([
    { code: 404, isKnown: true, message: 'Pod does not exist on the server' },
    { code: 404, isKnown: false, message: 'Pod does not exist on the server' },
    { code: 403, isKnown: false, message: 'The API server forbids reading or updating the status of a pod' },
  ])(
    'is logged once, after 5 to 10 s: $code, known to the pod manager: $isKnown',
    async ({ code, isKnown, message }) => {
      const h = new SyncHarness();
      await startWithSuccess(h);
      const pod = podOf('a');
      if (isKnown) h.podManager.addPod(pod);
      h.client.fail({ name: 'a' }, code, always);
      h.manager.setPodStatus(pod, { phase: 'Running' });
      await h.clock.advanceAsync(4_900);
      expect(h.logger.warnings).toEqual([]);
      await h.clock.advanceAsync(5_100);
      expect(h.logger.warnings).toMatchObject([
        { message, fields: { pod: 'default/a', podUID: 'uid-a', verb: 'get' } },
      ]);
      await h.clock.advanceAsync(3_600_000);
      expect(h.logger.warnings).toHaveLength(1);
      await h.manager.stop();
    },
  );

  it.each([
    [
      403,
      'The API server forbids reading or updating the status of a pod',
      'of many pods: the node lacks a permission',
    ],
    [404, 'Pod does not exist on the server', 'Many pods do not exist on the server'],
  ])('is counted with others if their number shows that they have one cause: %d', async (code, ofOnePod, ofMany) => {
    const h = new SyncHarness();
    await startWithSuccess(h);
    h.client.fail({}, code, always);
    for (let i = 0; i < 100; i++) h.manager.setPodStatus(podOf(`p${i}`), { phase: 'Running' });
    await h.clock.advanceAsync(600_000);
    expect(messages(h)).toEqual([ofOnePod, ofOnePod, ofOnePod, expect.stringContaining(ofMany)]);
    await h.manager.stop();
  });
});

describe('403 because the Node authorizer does not know the pod yet', () => {
  const words = (name: string) => `pods "${name}" is forbidden: no relationship found between node 'n' and this object`;

  it.each([
    { forMs: 30_000, pods: 1, warnings: [] },
    { forMs: 30_000, pods: 3, warnings: [] },
    { forMs: 120_000, pods: 1, warnings: ['of a pod'] },
    { forMs: 120_000, pods: 100, warnings: ['of many pods'] },
  ])('is a warning only if it lasts: $pods pods for $forMs ms', async ({ forMs, pods, warnings }) => {
    const h = new SyncHarness();
    const names = Array.from({ length: pods }, (_, i) => `p${i}`);
    h.addPods(...names);
    h.manager.start();
    h.client.react(
      { verb: 'get' },
      ({ name }) => {
        throw new APIError(words(name), { kind: 'http', statusCode: 403, reason: 'Forbidden' });
      },
      always,
    );
    for (const name of names) h.set(name, 'unseen');
    await h.clock.advanceAsync(forMs);
    const logged = h.logger.warnings.map(({ message }) => /of (a pod|many pods)/.exec(message)?.[0]);
    expect(logged).toEqual(warnings);
    await h.manager.stop();
  });
});

describe('a node without its role', () => {
  const words = 'pods is forbidden: User "system:node:n" cannot get resource "pods"';
  const names = Array.from({ length: 100 }, (_, i) => `p${i}`);

  it('is logged with three pods by name, one line with their number, and one line when it is over', async () => {
    const h = new SyncHarness();
    h.addPods(...names);
    h.manager.start();
    await h.clock.advanceAsync(1_000);
    let isForbidden = true;
    h.client.react(
      { verb: 'get' },
      () => {
        if (isForbidden) throw new APIError(words, { kind: 'http', statusCode: 403, reason: 'Forbidden' });
      },
      always,
    );
    for (const name of names) h.set(name, 'unseen');
    await h.clock.advanceAsync(600_000);
    const ofOnePod = 'The API server forbids reading or updating the status of a pod';
    expect(linesAtInfo(h.logger)).toMatchObject([
      { message: ofOnePod, fields: { pod: 'default/p0', reason: words } },
      { message: ofOnePod, fields: { pod: 'default/p1' } },
      { message: ofOnePod, fields: { pod: 'default/p2' } },
      {
        message: 'The API server forbids reading or updating the status of many pods: the node lacks a permission',
        fields: { pods: 100, failingSince: '2026-01-02T03:04:06Z', verb: 'get', reason: words },
      },
    ]);
    isForbidden = false;
    await h.clock.advanceAsync(60_000);
    const again = 'Requests for the pod succeed again';
    expect(linesAtInfo(h.logger).slice(4)).toMatchObject([
      { message: again, fields: { pod: 'default/p0', verb: 'get', failure: 'Forbidden', failedForMs: 601_000 } },
      { message: again, fields: { pod: 'default/p1' } },
      { message: again, fields: { pod: 'default/p2' } },
      {
        level: 'info',
        message: 'The API server permits reading and updating pod statuses again',
        fields: { failingSince: '2026-01-02T03:04:06Z', outageMs: 601_000, failures: expect.any(Number) },
      },
    ]);
    await h.manager.stop();
  });

  it('does not count pods that were removed while forbidden', async () => {
    const h = new SyncHarness();
    h.addPods(...names);
    h.manager.start();
    h.client.fail({ verb: 'get' }, new APIError(words, { kind: 'http', statusCode: 403 }), always);
    for (const name of names) h.set(name, 'unseen');
    await h.clock.advanceAsync(20_000);
    h.manager.removeOrphanedStatuses(['uid-p0']);
    await h.clock.advanceAsync(600_000);
    expect(h.logger.warnings).toHaveLength(3);
    await h.manager.stop();
  });
});

describe('the debug log', () => {
  it('has a line for each accepted and each written status, like the kubelet’s log', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a');
    h.manager.start();
    h.set('a', 'x');
    await h.settle();
    const fields = { pod: 'default/a', podUID: 'uid-a', statusVersion: 1 };
    expect(h.logger.lines.filter(({ level }) => level === 'debug')).toEqual([
      { level: 'debug', message: 'Status of pod accepted', fields },
      { level: 'debug', message: 'Status for pod updated', fields },
    ]);
    await h.manager.stop();
  });
});

describe('after an outage', () => {
  /** Pods whose statuses are unsent for so long that they are retried every 30 s. */
  async function setUp(options?: ConstructorParameters<typeof SyncHarness>[0]) {
    const h = new SyncHarness(options).informed();
    const names = Array.from({ length: 20 }, (_, at) => `p${at}`);
    h.addPods(...names);
    h.manager.start();
    const server = { isDown: true };
    const failWhileDown = (): void => {
      if (server.isDown) throw refused;
    };
    h.client.react({}, failWhileDown, always);
    for (const name of names) h.set(name, 'during the outage');
    await h.clock.advanceAsync(80_000);
    h.takeRequests();
    return { h, names, server };
  }

  it('all pods are retried as soon as one request succeeds', async () => {
    const { h, names, server } = await setUp();
    server.isDown = false;
    h.manager.retryNow('uid-p0');
    await h.settle();
    for (const name of names) expect(h.written(name)).toBe('during the outage');
    await h.manager.stop();
  });

  it('a pod that still fails continues its back-off', async () => {
    const { h, server } = await setUp();
    h.client.react(
      { name: 'p1' },
      () => {
        throw refused;
      },
      always,
    );
    server.isDown = false;
    h.manager.retryNow('uid-p0');
    await h.settle();
    const tries = h.times.filter(({ action }) => action.name === 'p1').length;
    await h.clock.advanceAsync(20_000);
    expect(h.times.filter(({ action }) => action.name === 'p1')).toHaveLength(tries);
    await h.manager.stop();
  });

  it('a status to which the API server answers 429 when it is back is written within 30 s', async () => {
    const { h, server } = await setUp();
    h.client.fail({ verb: 'patch', name: 'p1' }, 429);
    server.isDown = false;
    h.manager.retryNow('uid-p0');
    await h.clock.advanceAsync(30_000);
    expect(h.written('p1')).toBe('during the outage');
    await h.manager.stop();
  });

  it('a status that changes is tried within a second, and brings all others', async () => {
    const { h, names, server } = await setUp();
    server.isDown = false;
    h.set('p3', 'changed');
    await h.settle();
    for (const name of names) expect(h.written(name)).toBe(name === 'p3' ? 'changed' : 'during the outage');
    await h.manager.stop();
  });

  it('a single failed GET ends no wait', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a', 'b');
    h.manager.start();
    h.client.fail({ verb: 'get', name: 'a' }, 500, 3);
    h.set('a', 'fails');
    await h.clock.advanceAsync(300);
    for (let i = 0; i < 5; i++) {
      h.set('b', `${i}`);
      await h.settle();
    }
    expect(h.times.filter(({ action }) => action.name === 'a')).toHaveLength(1);
    await h.manager.stop();
  });

  it('Retry-After is kept', async () => {
    const { h, server } = await setUp();
    const pause = Object.assign(new APIError('pause', { kind: 'http', statusCode: 500, retryAfterMs: 60_000 }));
    h.client.fail({ name: 'p1' }, pause);
    server.isDown = false;
    h.manager.retryNow('uid-p1');
    await h.settle();
    h.manager.retryNow('uid-p0');
    await h.clock.advanceAsync(50_000);
    expect(h.written('p2')).toBe('during the outage');
    expect(h.written('p1')).toBeUndefined();
    await h.manager.stop();
  });

  it('while it lasts, at most one changed status a second is tried', async () => {
    const { h, names } = await setUp();
    for (let ms = 0; ms < 10_000; ms += 100) {
      for (const name of names) h.set(name, `${ms}`);
      await h.clock.advanceAsync(100);
    }
    const retries = names.length;
    expect(h.takeRequests().length).toBeLessThanOrEqual(10 + retries);
    await h.manager.stop();
  });
});
