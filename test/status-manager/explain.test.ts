import { describe, expect, it } from 'vitest';
import { APIError } from '../../src/kube/client/api-error.ts';
import type { RequestOptions } from '../../src/kube/client/pod-client.ts';
import type { Journal } from '../../src/status-manager/journal/journal.ts';
import type { PodCause, PodExplanation } from '../../src/status-manager/explain/explanation.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { outages, Node } from '../observe/outages/outages.ts';
import { podOf, SyncHarness, uidOf } from './sync/sync-harness.ts';

const staticAnnotations = { 'kubernetes.io/config.source': 'file' };
const always = Number.POSITIVE_INFINITY;
const start = '2026-01-02T03:04:05Z';
const deletion = { deletionTimestamp: '2026-01-02T03:04:35Z', deletionGracePeriodSeconds: 30 };

function httpError(statusCode: number, message: string, retryAfterMs?: number): APIError {
  return new APIError(message, { kind: 'http', statusCode, retryAfterMs });
}

/** A request that waits for a connection for good. */
class QueueingClient extends FakePodClient {
  override getPod(_pod: unknown, { onQueued }: RequestOptions): Promise<Pod> {
    onQueued?.();
    return new Promise(() => {});
  }
}

/** The pod `a` with a status that was set at `start`; the loop runs, and the pod manager sees every write. */
function running(prepare: (h: SyncHarness) => void = () => {}, options?: ConstructorParameters<typeof SyncHarness>[0]) {
  const h = new SyncHarness(options);
  h.addPods('a', 'b');
  prepare(h);
  h.informed();
  h.manager.start();
  h.set('a', '1');
  return h;
}

async function after(seconds: number, h: SyncHarness): Promise<SyncHarness> {
  await h.clock.advanceAsync(seconds * 1_000);
  return h;
}

function terminating(h: SyncHarness, finalizers: readonly string[] = []): Pod {
  return h.addPod(podOf('a', { ...deletion, finalizers }));
}

/** After each PATCH, the API server shows the old message again. */
function undo(h: SyncHarness, manager?: string): void {
  const managedFields = [{ manager, fieldsV1: { 'f:status': { 'f:message': {} } } }];
  h.client.react(
    { verb: 'patch' },
    ({ namespace, name }) =>
      () => {
        const pod = h.client.pod(namespace, name)!;
        const metadata = { ...pod.metadata, ...(manager !== undefined && { managedFields }) };
        h.client.put({ ...pod, metadata, status: { ...pod.status, message: 'old' } });
      },
    always,
  );
}

interface Row {
  readonly state: string;
  readonly make: () => SyncHarness | Promise<SyncHarness>;
  readonly explanation: Partial<PodExplanation>;
  readonly sentence: string;
}

/** Every kind of cause, each in the forms that differ. */
const rows = {
  'unknown-pod': [
    {
      state: 'neither a status nor a pod',
      make: () => new SyncHarness(),
      explanation: { podUID: 'uid-a', podName: undefined, version: undefined },
      sentence: 'No pod with UID uid-a is known.',
    },
  ],
  'not-set': [
    {
      state: 'a pod without a status',
      make: () => {
        const h = new SyncHarness();
        h.addPods('a');
        return h;
      },
      explanation: { podNamespace: 'default', podName: 'a', phase: 'Pending', version: undefined },
      sentence:
        'default/a is Pending; setPodStatus was not called for it in this run, so this is what the API object shows.',
    },
  ],
  'up-to-date': [
    {
      state: 'a version was written',
      make: () => after(90, running()),
      explanation: {
        phase: 'Running',
        ready: undefined,
        version: 1,
        sentVersion: 1,
        sentAs: 'written',
        sentAt: start,
        unsentSince: undefined,
        nextTryAt: undefined,
        isShownByPodManager: true,
      },
      sentence: 'default/a is Running; version 1 was written at 03:04:05Z.',
    },
    {
      state: 'the API server showed it already',
      make: async () => {
        const before = await after(0, running());
        const h = new SyncHarness();
        h.addPod(before.client.pod('default', 'a')!);
        h.manager.start();
        h.set('a', '1');
        return after(1, h);
      },
      explanation: { sentAs: 'unchanged', sentAt: start },
      sentence: 'default/a is Running; version 1 was found on the API server at 03:04:05Z.',
    },
    {
      state: 'adopted at start, a day ago',
      make: () => {
        const h = new SyncHarness();
        h.manager.seed(h.addPods('a'));
        return after(86_400, h);
      },
      explanation: { sentAs: 'adopted', sentAt: start, version: 1, sentVersion: 1 },
      sentence: 'default/a is Pending; version 1 was adopted from the API server at 2026-01-02 03:04:05Z.',
    },
    {
      state: 'a status of a pod that the pod manager has dropped',
      make: async () => {
        const h = await after(1, running());
        h.podManager.removePod(h.podManager.getPodByUID(uidOf('a'))!);
        return h;
      },
      explanation: { isShownByPodManager: false },
      sentence:
        'default/a is Running; version 1 was written at 03:04:05Z; the pod manager does not show the pod: if it has gone, removeOrphanedStatuses drops its status.',
    },
  ],
  'no-client': [
    {
      state: 'a manager without a client',
      make: () => after(41, running(undefined, { client: undefined })),
      explanation: { cause: { kind: 'no-client', since: start }, unsentSince: start, sentVersion: undefined },
      sentence: 'default/a is Running; version 1 has been unsent for 41 s: the manager has no client.',
    },
  ],
  'not-running': [
    {
      state: 'start() was not called',
      make: () => {
        const h = new SyncHarness();
        h.addPods('a');
        h.set('a', '1');
        return after(41, h);
      },
      explanation: { cause: { kind: 'not-running', state: 'created', since: start } },
      sentence: 'default/a is Running; version 1 has been unsent for 41 s: start() was not called.',
    },
    {
      state: 'recovered from the journal',
      make: () => {
        const recovered = [
          {
            podUID: uidOf('a'),
            podNamespace: 'default',
            podName: 'a',
            podIsFinished: true,
            acceptedAt: '2026-01-02T03:00:00Z',
            status: { phase: 'Succeeded' },
          },
        ];
        const journal: Journal = { recovered, accepted() {}, settled() {}, close: () => Promise.resolve() };
        const h = new SyncHarness({ journal });
        h.addPods('a');
        return h;
      },
      explanation: { recoveredAt: '2026-01-02T03:00:00Z', phase: 'Succeeded' },
      sentence:
        'default/a is Succeeded; an earlier run accepted this status at 03:00:00Z and did not send it; version 1 was set just now: start() was not called.',
    },
    {
      state: 'stop() was called',
      make: async () => {
        const h = new SyncHarness();
        h.addPods('a');
        h.set('a', '1');
        await h.manager.stop();
        return h;
      },
      explanation: { cause: { kind: 'not-running', state: 'stopped', since: start } },
      sentence: 'default/a is Running; version 1 was set just now: stop() was called.',
    },
  ],
  'mirror-pod': [
    {
      state: 'a static pod without a known mirror pod',
      make: async () => {
        const h = new SyncHarness();
        h.podManager.addPod(podOf('a', { annotations: staticAnnotations }));
        h.manager.start();
        h.set('a', '1');
        return after(3, h);
      },
      explanation: { cause: { kind: 'mirror-pod', since: start } },
      sentence:
        'default/a is Running; version 1 has been unsent for 3 s: the mirror pod of this static pod is not known, so there is no API object to write to.',
    },
  ],
  response: [
    {
      state: 'a request in flight',
      make: () =>
        after(
          3,
          running((h) => h.client.hold({ verb: 'patch' })),
        ),
      explanation: { cause: { kind: 'response', verb: 'patch', since: start }, lastError: undefined },
      sentence: 'default/a is Running; version 1 has been unsent for 3 s: PATCH waits for a response.',
    },
    {
      state: 'a request in flight after one that failed',
      make: async () => {
        const h = await after(
          0,
          running((h) => h.client.fail({}, httpError(500, '500 InternalError: etcd'), 1)),
        );
        h.client.hold({});
        return after(3, h);
      },
      explanation: { cause: expect.objectContaining({ kind: 'response', verb: 'get' }) },
      sentence:
        'default/a is Running; version 1 has been unsent for 3 s: GET waits for a response; the last try failed (500 InternalError: etcd).',
    },
  ],
  connection: [
    {
      state: 'a request without a connection',
      make: () => after(3, running(undefined, { client: new QueueingClient() })),
      explanation: { cause: { kind: 'connection', verb: 'get', since: start }, lastError: undefined },
      sentence: 'default/a is Running; version 1 has been unsent for 3 s: GET waits for a connection.',
    },
  ],
  limiter: [
    {
      state: 'qps and burst used up',
      make: () => {
        const h = new SyncHarness({ qps: 0.1, burst: 1 });
        h.addPods('a', 'b');
        h.manager.start();
        h.set('b', '1');
        h.set('a', '1');
        return after(3, h);
      },
      explanation: { cause: { kind: 'limiter', limit: 'qps', since: start } },
      sentence:
        'default/a is Running; version 1 has been unsent for 3 s: the request waits for the limiter (qps and burst).',
    },
  ],
  turn: [
    {
      state: 'too many pods in flight',
      make: () => {
        const h = new SyncHarness({ concurrency: 1 });
        h.addPods('a', 'b');
        h.client.hold({ name: 'b' });
        h.manager.start();
        h.set('b', '1');
        h.set('a', '1');
        return after(3, h);
      },
      explanation: { cause: { kind: 'turn', since: start } },
      sentence: 'default/a is Running; version 1 has been unsent for 3 s: it is queued behind pods in flight.',
    },
  ],
  'retry-after': [
    {
      state: 'a pause after 429 to other pods',
      make: async () => {
        const h = new SyncHarness();
        h.addPods('a', 'b', 'c');
        h.client.fail({}, httpError(429, '429 TooManyRequests: slow down', 20_000), always);
        h.manager.start();
        h.set('b', '1');
        h.set('c', '1');
        await h.settle();
        h.set('a', '1');
        return after(5, h);
      },
      explanation: {
        cause: { kind: 'retry-after', since: start, nextTryAt: '2026-01-02T03:04:25Z' },
        nextTryAt: '2026-01-02T03:04:25Z',
      },
      sentence:
        'default/a is Running; version 1 has been unsent for 5 s: the API server has asked this client to pause; next try in 15 s.',
    },
  ],
  'back-off': [
    {
      state: '403 to PATCH, after an older version was written',
      make: async () => {
        const h = await after(1, running());
        const message = '403 Forbidden: pods "a" is forbidden: User "x" cannot patch resource "pods/status"';
        h.client.fail({ verb: 'patch' }, httpError(403, message), always);
        h.set('a', '2');
        return after(41, h);
      },
      explanation: {
        version: 2,
        sentVersion: 1,
        unsentSince: '2026-01-02T03:04:06Z',
        nextTryAt: '2026-01-02T03:05:07Z',
        cause: {
          kind: 'back-off',
          class: 'Forbidden',
          verb: 'patch',
          statusCode: 403,
          message: '403 Forbidden: pods "a" is forbidden: User "x" cannot patch resource "pods/status"',
          tries: 6,
          nextTryAt: '2026-01-02T03:05:07Z',
          since: '2026-01-02T03:04:06Z',
        },
      },
      sentence:
        'default/a is Running; version 2 has been unsent for 41 s: PATCH is refused with 403 (pods "a" is forbidden: User "x" cannot patch resource "pods/status"); the API server has version 1, written at 03:04:05Z; it has failed 6 times in a row; next try in 20 s.',
    },
    {
      state: '422 to PATCH',
      make: () =>
        after(
          0,
          running((h) => h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid: phase'), always)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'back-off', class: 'Invalid', tries: 1 }) },
      sentence: 'default/a is Running; version 1 was set just now: PATCH is refused with 422 (phase); next try in 5 s.',
    },
    {
      state: 'less than a second before the next try',
      make: () =>
        after(
          4.5,
          running((h) => h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid: phase'), always)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'back-off', class: 'Invalid', tries: 1 }) },
      sentence:
        'default/a is Running; version 1 has been unsent for 5 s: PATCH is refused with 422 (phase); the next try is due.',
    },
    {
      state: '404',
      make: () =>
        after(
          0,
          running((h) => h.client.fail({}, httpError(404, '404 NotFound: pods "a"'), always)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'back-off', class: 'NotFound' }) },
      sentence:
        'default/a is Running; version 1 was set just now: the API server does not show the pod (404 to GET); next try in 1 s.',
    },
    {
      state: 'a conflict',
      make: () =>
        after(
          2,
          running((h) => h.client.fail({ verb: 'patch' }, httpError(409, '409 Conflict: modified'), always)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'back-off', class: 'Conflict' }) },
      sentence:
        'default/a is Running; version 1 has been unsent for 2 s: PATCH conflicts with a change by somebody else with 409 (modified); it has failed 6 times in a row; next try in 2 s.',
    },
    {
      state: 'a 429 to this pod alone',
      make: () =>
        after(
          1,
          running((h) => h.client.fail({}, httpError(429, '429 TooManyRequests: slow down', 20_000), always)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'back-off', class: 'TooManyRequests' }) },
      sentence:
        'default/a is Running; version 1 was set just now: the API server asks for a pause (429 to GET); next try in 19 s.',
    },
    {
      state: 'the API server is down: GET gets no response',
      make: () =>
        after(
          50,
          running((h) =>
            h.client.fail(
              {},
              new APIError('request to 10.0.0.1:6443 failed: ECONNREFUSED', { kind: 'network' }),
              always,
            ),
          ),
        ),
      explanation: {
        cause: expect.objectContaining({
          kind: 'back-off',
          class: 'Unreachable',
          verb: 'get',
          statusCode: undefined,
        }),
        outage: { since: start, message: 'request to 10.0.0.1:6443 failed: ECONNREFUSED' },
      },
      sentence:
        'default/a is Running; version 1 has been unsent for 50 s: GET fails (request to 10.0.0.1:6443 failed: ECONNREFUSED); it has failed 7 times in a row; next try in 12 s; the manager has not been able to write a status since 03:04:05Z.',
    },
    {
      state: 'a GET that fails with 500',
      make: () =>
        after(
          0,
          running((h) => h.client.fail({}, httpError(500, '500 InternalError: etcd'), always)),
        ),
      explanation: {
        cause: expect.objectContaining({ kind: 'back-off', class: 'ServiceUnavailable', statusCode: 500 }),
      },
      sentence: 'default/a is Running; version 1 was set just now: GET fails with 500 (etcd); next try in 1 s.',
    },
    {
      state: 'a DELETE that is refused',
      make: () => {
        const h = new SyncHarness().informed();
        h.client.fail({ verb: 'delete' }, httpError(403, '403 Forbidden: cannot delete pods'), always);
        h.manager.start();
        h.manager.terminatePod(terminating(h));
        return after(0, h);
      },
      explanation: {
        unsentSince: undefined,
        cause: expect.objectContaining({ kind: 'back-off', class: 'Invalid', verb: 'delete', statusCode: 403 }),
      },
      sentence:
        'default/a is Failed; version 1 was written at 03:04:05Z; DELETE is refused with 403 (cannot delete pods); next try in 5 s.',
    },
  ],
  'hot-loop': [
    {
      state: 'another writer undoes a field',
      make: () =>
        after(
          60,
          running((h) => undo(h, 'kube-foo')),
        ),
      explanation: {
        cause: {
          kind: 'hot-loop',
          fields: ['message'],
          managers: ['kube-foo'],
          timesSent: 4,
          nextTryAt: '2026-01-02T03:05:10Z',
          since: '2026-01-02T03:04:35Z',
        },
        unsentSince: '2026-01-02T03:04:35Z',
      },
      sentence:
        'default/a is Running; version 1 was written at 03:04:55Z; since 03:04:35Z manager kube-foo has undone field message each time: the manager wrote it 4 times; next try in 5 s.',
    },
    {
      state: 'the API server drops a field',
      make: () =>
        after(
          60,
          running((h) => undo(h)),
        ),
      explanation: { cause: expect.objectContaining({ kind: 'hot-loop', fields: ['message'], managers: [] }) },
      sentence:
        'default/a is Running; version 1 was written at 03:04:55Z; since 03:04:35Z the API server or another writer has undone field message each time: the manager wrote it 4 times; next try in 5 s.',
    },
  ],
  'next-batch': [
    {
      state: 'a pod that is deleted after it has ended',
      make: async () => {
        const h = new SyncHarness().informed();
        h.manager.start();
        h.manager.terminatePod(h.addPods('a')[0]!);
        await after(3, h);
        const pod = h.client.pod('default', 'a')!;
        h.client.put({ ...pod, metadata: { ...pod.metadata, ...deletion } });
        h.observe('a');
        return h;
      },
      explanation: { cause: { kind: 'next-batch', since: start } },
      sentence: 'default/a is Failed; version 1 was written at 03:04:05Z; the next batch takes it up.',
    },
  ],
  containers: [
    {
      state: 'a pod that is being deleted and still runs',
      make: () => {
        const h = new SyncHarness().informed();
        terminating(h);
        h.manager.start();
        h.set('a', '1');
        return after(20, h);
      },
      explanation: { cause: { kind: 'containers', since: start, termination: undefined } },
      sentence:
        'default/a is Terminating (phase Running); version 1 was written at 03:04:05Z; it is being deleted and waits for its containers to stop (terminatePod was not called).',
    },
    {
      state: 'a pod whose containers do not stop within its grace period',
      make: () => {
        const termination = {
          podUID: uidOf('a'),
          since: start,
          gracePeriodSeconds: 1,
          gracePeriodEndsAt: '2026-01-02T03:04:06Z',
          lastError: 'stopContainer took over 122000 ms',
        };
        const podDeletionSafety = { podCouldHaveRunningContainers: () => true, terminations: () => [termination] };
        const h = new SyncHarness({ podDeletionSafety }).informed();
        terminating(h);
        h.manager.start();
        h.set('a', '1');
        return after(20, h);
      },
      explanation: { cause: expect.objectContaining({ kind: 'containers', since: start }) },
      sentence:
        'default/a is Terminating (phase Running); version 1 was written at 03:04:05Z; its containers have been stopping since 03:04:05Z; its grace period of 1 s is over; last error: stopContainer took over 122000 ms.',
    },
  ],
  'pod-deletion-safety': [
    {
      state: 'a terminal phase that is held back',
      make: () => {
        const h = new SyncHarness({ podCouldHaveRunningContainers: () => true }).informed();
        h.manager.start();
        h.manager.terminatePod(terminating(h));
        return after(20, h);
      },
      explanation: { phase: 'Failed', cause: { kind: 'pod-deletion-safety', since: start } },
      sentence:
        'default/a is Failed; version 1 was written at 03:04:05Z; the manager holds its terminal phase back while podCouldHaveRunningContainers returns true.',
    },
  ],
  finalizers: [
    {
      state: 'a finalizer keeps the API object',
      make: () => {
        const h = new SyncHarness().informed();
        h.manager.start();
        h.manager.terminatePod(terminating(h, ['example.com/x']));
        return after(90, h);
      },
      explanation: {
        podName: 'a',
        version: undefined,
        cause: { kind: 'finalizers', finalizers: ['example.com/x'], since: start },
      },
      sentence:
        'default/a has terminated, and the API server accepted its DELETE at 03:04:05Z; the API object waits for finalizer example.com/x.',
    },
  ],
  dropped: [
    {
      state: 'deleted on the API server, after two calls of terminatePod',
      make: () => {
        const h = new SyncHarness();
        const pod = terminating(h);
        h.manager.start();
        h.manager.subscribe({
          onOutcome: ({ outcome }) => outcome === 'written' && h.manager.terminatePod(pod),
        });
        h.manager.terminatePod(pod);
        return after(90, h);
      },
      explanation: {
        podName: 'a',
        phase: 'Failed',
        ready: undefined,
        version: 2,
        cause: { kind: 'dropped', reason: 'deleted', isSent: true, since: start },
      },
      sentence:
        'default/a was deleted on the API server at 03:04:05Z; its last status (Failed, version 2) was written at 03:04:05Z.',
    },
    {
      state: 'deleted on the API server, although removeOrphanedStatuses dropped its status before the response',
      make: async () => {
        const h = new SyncHarness();
        h.manager.start();
        h.manager.terminatePod(terminating(h));
        const release = h.client.hold({ verb: 'delete' });
        await h.clock.advanceAsync(1_000);
        h.manager.removeOrphanedStatuses([]);
        release();
        return after(5, h);
      },
      explanation: {
        version: 1,
        cause: { kind: 'dropped', reason: 'deleted', isSent: true, since: expect.any(String) },
      },
      sentence:
        'default/a was deleted on the API server at 03:04:06Z; its last status (Failed, version 1) was written at 03:04:05Z.',
    },
    {
      state: 'removeOrphanedStatuses dropped its status before the response to its DELETE',
      make: async () => {
        const h = new SyncHarness();
        h.manager.start();
        h.manager.terminatePod(terminating(h));
        h.client.hold({ verb: 'delete' });
        await h.clock.advanceAsync(1_000);
        h.manager.removeOrphanedStatuses([]);
        return after(5, h);
      },
      explanation: { cause: { kind: 'dropped', reason: 'deleting', isSent: true, since: expect.any(String) } },
      sentence:
        'default/a is being deleted: removeOrphanedStatuses dropped its status at 03:04:06Z, before the API server had responded to its DELETE; its last status (Failed, version 1) was written at 03:04:05Z.',
    },
    {
      state: 'after the finalizers',
      make: async () => {
        const h = new SyncHarness().informed();
        h.manager.start();
        h.manager.terminatePod(terminating(h, ['example.com/x']));
        await after(90, h);
        h.podManager.removePod(h.podManager.getPodByUID(uidOf('a'))!);
        return after(20, h);
      },
      explanation: { cause: { kind: 'dropped', reason: 'deleted', isSent: true, since: '2026-01-02T03:05:45Z' } },
      sentence:
        'default/a was deleted on the API server at 03:05:45Z; its last status (Failed, version 1) was written at 03:04:05Z.',
    },
    {
      state: 'dropped by removeOrphanedStatuses, with an unsent version',
      make: async () => {
        const h = await after(1, running());
        h.client.hold({});
        h.set('a', '2');
        h.podManager.removePod(h.podManager.getPodByUID(uidOf('a'))!);
        h.manager.removeOrphanedStatuses([]);
        return after(5, h);
      },
      explanation: { version: 2, sentVersion: 1, cause: expect.objectContaining({ reason: 'removed', isSent: false }) },
      sentence:
        'default/a is gone: removeOrphanedStatuses dropped its status at 03:04:06Z; its last status (Running, version 2) was not sent; the API server had version 1, written at 03:04:05Z.',
    },
    {
      state: 'the API object has another UID',
      make: () =>
        after(
          3,
          running((h) => h.client.put(podOf('a', { uid: 'another' }))),
        ),
      explanation: { cause: expect.objectContaining({ reason: 'recreated', isSent: false }) },
      sentence:
        'default/a is gone: the API server has another pod with this name, so the manager dropped its status at 03:04:05Z; its last status (Running, version 1) was never sent.',
    },
  ],
  syncing: [
    {
      state: 'seen by the metrics, after a GET',
      make: () => {
        const seen: PodExplanation[] = [];
        const h: SyncHarness = running(undefined, { metrics: { incRequests: () => void seen.push(explain()) } });
        const explain = h.manager.explain.bind(h.manager, uidOf('a'));
        h.manager.explain = () => seen[0]!;
        return after(0, h);
      },
      explanation: { version: 1, unsentSince: start, nextTryAt: undefined },
      sentence: 'default/a is Running; version 1 was set just now: its sync is in progress.',
    },
  ],
} satisfies Record<PodCause['kind'], readonly Row[]>;

describe.each(Object.entries(rows) as [PodCause['kind'], readonly Row[]][])('explain(): %s', (kind, rowsOfKind) => {
  it.each(rowsOfKind)('$state', async ({ make, explanation, sentence }) => {
    const h = await make();
    const requests = h.client.actions.length;
    const explained = h.manager.explain(uidOf('a'));
    expect(explained).toMatchObject({ podUID: uidOf('a'), ...explanation, sentence });
    expect(explained.cause.kind).toBe(kind);
    expect(h.client.actions).toHaveLength(requests);
    await h.manager.stop();
  });
});

describe('explain()', () => {
  it('takes the UID of a mirror pod for its static pod', () => {
    const h = new SyncHarness();
    const staticPod = podOf('a', { annotations: staticAnnotations });
    h.podManager.addPod(staticPod);
    h.podManager.addPod(podOf('a', { uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'x' } }));
    h.set('a', '1');
    expect(h.manager.explain('mirror')).toEqual(h.manager.explain(uidOf('a')));
  });

  it('prints as its sentence, which its JSON has as a field only', async () => {
    const h = await after(1, running());
    const explanation = h.manager.explain(uidOf('a'));
    expect(String(explanation)).toBe(explanation.sentence);
    expect(explanation.sentence).toContain('default/a');
    expect(Object.keys(explanation)).not.toContain('toString');
    expect(JSON.parse(JSON.stringify(explanation))).toMatchObject({ sentence: explanation.sentence });
    await h.manager.stop();
  });

  it('rejects a value that is not a UID', () => {
    expect(() => new SyncHarness().manager.explain('')).toThrow(/Expected `podUID` to be/);
  });

  it('keeps what others say on one line, and short', async () => {
    const h = await after(
      0,
      running((h) => h.client.fail({}, httpError(422, `422 Invalid: a\nb ${'x'.repeat(1_000)}`), always)),
    );
    const { sentence, cause } = h.manager.explain(uidOf('a'));
    expect(sentence).toContain(`(a b ${'x'.repeat(296)}…)`);
    expect(cause).toMatchObject({ message: expect.stringContaining('x'.repeat(1_000)) });
    await h.manager.stop();
  });
});

/** What an operator reads about the pods `a` and `g` in each outage; null: the outage is of no single pod. */
const clausesOfOutages: Readonly<Record<string, RegExp | null>> = {
  'the API server is down':
    /GET fails \(request to 10\.0\.0\.1:6443 failed: ECONNREFUSED\);.* the manager has not been able to write a status since 03:04:05Z/,
  'the credentials have expired (401)': /GET fails with 401 \(Unauthorized\)/,
  'the API server hangs':
    /GET waits for a response;.* the manager has not been able to write a status since .*No response within 30000 ms/,
  '403 to GET': /GET is refused with 403/,
  '403 to PATCH': /PATCH is refused with 403/,
  'a refused DELETE': /DELETE is refused with 403/,
  'a pod stuck Terminating by podCouldHaveRunningContainers':
    /the manager holds its terminal phase back while podCouldHaveRunningContainers/,
  'a pod stuck Terminating by a finalizer': /the API object waits for finalizer example\.com\/backup/,
  'a hot loop by another writer': /manager other-agent has undone field message each time/,
  'a throttled client (429)': /the API server asks for a pause \(429 to GET\)/,
  'a slow API server, with requests that wait for a connection': /GET waits for a connection/,
  'a drain that gives up': /stop\(\) was called/,
  'an informer that is not synced': null,
};

describe('explain() names each outage that an operator may meet', () => {
  it.each(outages)('$name', async ({ name, cause }) => {
    const clause = clausesOfOutages[name];
    expect(clause, 'the clause of this outage').toBeDefined();
    if (clause == null) return;
    const node = new Node();
    await cause(node);
    const sentences = ['a', 'g'].map((name) => node.manager.explain(uidOf(name)).sentence);
    expect(sentences.join('\n')).toMatch(clause);
    await node.manager.stop();
  });
});
