import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { PodClient, RequestOptions } from '../../../src/kube/client/pod-client.ts';
import { SyncRequests, RequestFailure, type RequestingSync } from '../../../src/status-manager/sync/sync-requests.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { Tracing } from '../../../src/status-manager/tracing.ts';
import { RecordingMetrics } from '../../../src/testing/recording-metrics.ts';

const reference = { namespace: 'default', name: 'web' };
const pod: Pod = { metadata: { ...reference, uid: 'uid-web' } };
const requestTimeoutMs = 10_000;

/** Responds to its only request when the test says so, even if the signal is aborted. */
class DeafClient implements PodClient {
  readonly #response: Promise<Pod>;
  respond!: (response: Pod) => void;
  fail!: (error: unknown) => void;
  /** The request's; undefined while there was none. */
  options: RequestOptions | undefined;

  get signal(): AbortSignal | undefined {
    return this.options?.signal;
  }

  constructor() {
    this.#response = new Promise((resolve, reject) => {
      this.respond = resolve;
      this.fail = reject;
    });
  }

  getPod(_pod: unknown, options: RequestOptions): Promise<Pod> {
    this.options = options;
    return this.#response;
  }

  patchPodStatus(pod: unknown, _patch: unknown, options: RequestOptions): Promise<Pod> {
    return this.getPod(pod, options);
  }

  async deletePod(pod: unknown, _preconditions: unknown, options: RequestOptions): Promise<void> {
    await this.getPod(pod, options);
  }
}

function syncOf(signal: AbortSignal): RequestingSync {
  return { signal, enter: () => {} };
}

type Send = (requests: SyncRequests, signal: AbortSignal) => Promise<Pod | void>;

const verbs: readonly [string, Send][] = [
  ['get', (requests, signal) => requests.get(reference, syncOf(signal))],
  [
    'patch',
    (requests, signal) =>
      requests.patchStatus(reference, { type: 'application/json-patch+json', body: [] }, syncOf(signal)),
  ],
  ['delete', (requests, signal) => requests.delete(reference, 'uid-web', syncOf(signal))],
];

function setUp() {
  const clock = new FakeClock();
  const client = new DeafClient();
  const metrics = new RecordingMetrics();
  const controller = new AbortController();
  const requests = new SyncRequests({ client, clock, metrics, requestTimeoutMs, tracing: new Tracing() });
  /** What a request has hung up somewhere. */
  const leftOvers = () => ({
    listeners: getEventListeners(controller.signal, 'abort').length,
    timers: clock.pendingTimers,
  });
  return { clock, client, metrics, controller, requests, leftOvers };
}

const nothing = { listeners: 0, timers: 0 };

describe.each(verbs)('a %s', (verb, send) => {
  /** What came of the request after `end`, and what is left of it then. */
  async function endedBy(end: (parts: ReturnType<typeof setUp>) => void) {
    const parts = setUp();
    const sent = send(parts.requests, parts.controller.signal);
    expect(parts.leftOvers()).toEqual({ listeners: 1, timers: 1 });
    end(parts);
    const [result] = await Promise.allSettled([sent]);
    return { ...parts, result, failure: result.status === 'rejected' && (result.reason as RequestFailure) };
  }

  it('that gets a response leaves nothing behind', async () => {
    const { result, client, metrics, leftOvers } = await endedBy(({ client }) => client.respond(pod));
    expect(result).toEqual({ status: 'fulfilled', value: verb === 'delete' ? undefined : pod });
    expect(leftOvers()).toEqual(nothing);
    expect(metrics.requests).toEqual([`${verb} ok`]);
    expect(client.signal?.aborted).toBe(false);
  });

  it('that fails leaves nothing behind', async () => {
    const error = new APIError('not now', { kind: 'http', statusCode: 500 });
    const { failure, metrics, leftOvers } = await endedBy(({ client }) => client.fail(error));
    expect(failure).toBeInstanceOf(RequestFailure);
    expect(failure).toMatchObject({ verb, failure: 'ServiceUnavailable', error });
    expect(leftOvers()).toEqual(nothing);
    expect(metrics.requests).toEqual([`${verb} ServiceUnavailable`]);
  });

  it('without a response ends at its deadline and leaves nothing behind, nor does a response that arrives too late', async () => {
    const { failure, client, clock, metrics, leftOvers } = await endedBy(({ clock }) =>
      clock.advance(requestTimeoutMs),
    );
    const error = { kind: 'timeout', message: `No response within ${requestTimeoutMs} ms` };
    expect(failure).toMatchObject({ verb, failure: 'Unreachable', error });
    expect(leftOvers()).toEqual(nothing);
    expect(client.signal).toMatchObject({ aborted: true, reason: error });
    client.respond(pod);
    await clock.yieldToEventLoop();
    expect(leftOvers()).toEqual(nothing);
    expect(metrics.requests).toEqual([`${verb} Unreachable`]);
  });

  it('waits for its response until the deadline', async () => {
    const { result } = await endedBy(({ client, clock }) => {
      clock.advance(requestTimeoutMs - 1);
      client.respond(pod);
    });
    expect(result.status).toBe('fulfilled');
  });

  it('that waits for a connection used up its deadline there: it runs from when a connection takes the request', async () => {
    const { result } = await endedBy(({ client, clock }) => {
      client.options!.onQueued!();
      clock.advance(10 * requestTimeoutMs);
      client.options!.onStarted!();
      clock.advance(requestTimeoutMs - 1);
      client.respond(pod);
    });
    expect(result.status).toBe('fulfilled');
    const { failure, leftOvers } = await endedBy(({ client, clock }) => {
      client.options!.onQueued!();
      client.options!.onStarted!();
      clock.advance(requestTimeoutMs);
      // Too late, and must arm nothing.
      client.options!.onStarted!();
    });
    expect(failure).toMatchObject({ verb, failure: 'Unreachable', error: { kind: 'timeout' } });
    expect(leftOvers()).toEqual(nothing);
  });

  it('that a client queues and forgets ends all the same', async () => {
    const { failure, leftOvers } = await endedBy(({ client, clock }) => {
      client.options!.onQueued!();
      clock.advance(600_000);
    });
    const error = { kind: 'connection-wait', message: 'Not sent within 600000 ms' };
    expect(failure).toMatchObject({ verb, failure: 'Unreachable', error });
    expect(leftOvers()).toEqual(nothing);
  });

  it('that is aborted ends immediately and leaves nothing behind', async () => {
    const reason = new Error('the manager stops');
    const { failure, client, metrics, leftOvers } = await endedBy(({ controller }) => controller.abort(reason));
    expect(failure).toMatchObject({ verb, failure: 'aborted', error: { kind: 'aborted', cause: reason } });
    expect(leftOvers()).toEqual(nothing);
    expect(client.signal).toMatchObject({ aborted: true, reason });
    expect(metrics.requests).toEqual([`${verb} aborted`]);
  });

  it.each<[string, (client: DeafClient) => void]>([
    ['2xx', (client) => client.respond(pod)],
    ['422', (client) => client.fail(new APIError('422 Invalid', { kind: 'http', statusCode: 422 }))],
    ['<error>', (client) => client.fail(new APIError('ECONNRESET', { kind: 'network' }))],
  ])('is counted with the code %s and its duration in seconds', async (code, end) => {
    const { clock, client, metrics, controller, requests } = setUp();
    clock.advance(60_000);
    const sent = send(requests, controller.signal);
    clock.advance(250);
    end(client);
    const [result] = await Promise.allSettled([sent]);
    expect([metrics.requestCodes, metrics.requestDurations]).toEqual([[code], [0.25]]);
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ tookMs: 250 });
  });

  it('is not sent when its signal was aborted before', async () => {
    const { requests, controller, client, metrics, leftOvers } = setUp();
    const reason = new Error('the manager stops');
    controller.abort(reason);
    await expect(send(requests, controller.signal)).rejects.toBe(reason);
    expect(client.signal).toBeUndefined();
    expect(leftOvers()).toEqual(nothing);
    expect(metrics.requests).toEqual([]);
  });
});

it.each(verbs.slice(0, 2))('a response to a %s that is no pod is not taken for one', async (verb, send) => {
  for (const response of [undefined, {}, { metadata: 'web' }]) {
    const { client, controller, requests } = setUp();
    const sent = send(requests, controller.signal);
    client.respond(response as Pod);
    await expect(sent).rejects.toMatchObject({
      error: { kind: 'invalid-response', message: `The response to ${verb} is not a pod` },
    });
  }
});

it('requests that share a signal each take their own listener off it', async () => {
  const { requests, controller, client, leftOvers } = setUp();
  const other = setUp();
  const ended = requests.get(reference, syncOf(controller.signal));
  const waiting = other.requests.get(reference, syncOf(controller.signal));
  client.respond(pod);
  await ended;
  expect(leftOvers()).toEqual({ listeners: 1, timers: 0 });
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ failure: 'aborted' });
  expect(leftOvers()).toEqual(nothing);
  expect(other.leftOvers()).toEqual(nothing);
});
