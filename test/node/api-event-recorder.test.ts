import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { APIError } from 'kubelet-status-manager';
import { APIEventRecorder, createEventClient, type EventClient } from 'kubelet-status-manager/agent';
import type { KubeEvent } from '../../src/node/events/kube-event.ts';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, settle } from 'kubelet-status-manager/testing';
import { recordingLogger } from '../../src/testing/recording-logger.ts';

const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1', resourceVersion: '7' },
  spec: { containers: [{ name: 'app' }], initContainers: [{ name: 'init' }] },
};

let clock: FakeClock;
let server: APIServer;
let transport: KubeTransport;
let logger: ReturnType<typeof recordingLogger>;
let recorder: APIEventRecorder;
beforeEach(async () => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  server = await APIServer.start({ clock, nodeUsers: ['node-a'] });
  transport = createKubeTransport(server.kubeconfig('node-a'));
  logger = recordingLogger();
  recorder = newRecorder(createEventClient(transport));
});
afterEach(async () => {
  await recorder.stop();
  await transport.close();
  await server.close();
});

function newRecorder(client: EventClient): APIEventRecorder {
  return new APIEventRecorder({ client, nodeName: 'node-a', clock, logger, random: () => 0.5 });
}

async function events(): Promise<(KubeEvent & { series?: unknown })[]> {
  const admin = createKubeTransport(server.kubeconfig());
  const list = (await admin.request('GET', '/api/v1/namespaces/default/events')).json() as { items: KubeEvent[] };
  await admin.close();
  return list.items;
}

/** Records and waits until it is written. */
async function record(message: string, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    recorder.event({ pod, container: 'app', type: 'Warning', reason: 'Unhealthy', message });
    await settle(clock, server);
  }
}

describe('TestEventf', () => {
  it('writes the annotations of an event', async () => {
    const annotations = { starved_resource: 'memory' };
    recorder.event({ pod, type: 'Warning', reason: 'Evicted', message: 'low', annotations });
    await settle(clock, server);
    expect(await events()).toMatchObject([{ metadata: { annotations } }]);
  });

  it('writes an event of a container as the kubelet does', async () => {
    await record('Liveness probe failed: no');
    const time = '2026-01-02T03:04:05Z';
    expect(await events()).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^web\.1886[0-9a-f]{12}$/), namespace: 'default' },
        involvedObject: {
          kind: 'Pod',
          apiVersion: 'v1',
          namespace: 'default',
          name: 'web',
          uid: 'u1',
          resourceVersion: '7',
          fieldPath: 'spec.containers{app}',
        },
        type: 'Warning',
        reason: 'Unhealthy',
        message: 'Liveness probe failed: no',
        count: 1,
        firstTimestamp: time,
        lastTimestamp: time,
        source: { component: 'kubelet', host: 'node-a' },
        reportingComponent: 'kubelet',
        reportingInstance: 'node-a',
      },
    ]);
  });

  it('a repeated event increments the count of the one Event on the API server', async () => {
    await record('no');
    clock.advance(60_000);
    await record('no', 2);
    expect(await events()).toMatchObject([
      { count: 3, firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:05:05Z' },
    ]);
    const patch = server.requests.find(({ method }) => method === 'PATCH');
    expect(Object.keys(JSON.parse(patch!.body) as object).sort()).toEqual(['count', 'lastTimestamp', 'message']);
  });

  it('an Event that the API server has deleted is created again with its count', async () => {
    await record('no');
    const [event] = await events();
    const admin = createKubeTransport(server.kubeconfig());
    await admin.request('DELETE', `/api/v1/namespaces/default/events/${event!.metadata.name}`);
    await admin.close();
    await record('no');
    expect(await events()).toMatchObject([{ count: 2, metadata: { name: event!.metadata.name } }]);
  });

  it('events recorded at the same time have different names', async () => {
    recorder.event({ pod, container: 'init', type: 'Normal', reason: 'Created', message: 'a' });
    recorder.event({ pod, container: 'gone', type: 'Normal', reason: 'Created', message: 'a' });
    recorder.event({ pod, type: 'Normal', reason: 'Created', message: 'a' });
    const object = { kind: 'Node', apiVersion: 'v1', name: 'node-a' };
    recorder.event({ object, type: 'Normal', reason: 'Starting', message: 'a' });
    await settle(clock, server);
    expect((await events()).map(({ involvedObject }) => String(involvedObject.fieldPath)).toSorted()).toEqual([
      'implicitly required container gone',
      'spec.initContainers{init}',
      'undefined',
      'undefined',
    ]);
  });
});

describe('TestEventCorrelator', () => {
  it('ten different messages of one reason within ten minutes become one event', async () => {
    for (let i = 1; i <= 9; i++) await record(`no ${i}`);
    expect(await events()).toHaveLength(9);
    await record('no 10');
    await record('no 11');
    const combined = (await events()).filter(({ message }) => message.startsWith('(combined'));
    expect(combined).toMatchObject([{ message: '(combined from similar events): no 11', count: 2 }]);
    expect(await events()).toHaveLength(10);
  });

  it('events that are more than ten minutes old do not count', async () => {
    for (let i = 1; i <= 9; i++) await record(`no ${i}`);
    clock.advance(600_001);
    await record('no 10');
    expect((await events()).filter(({ message }) => message.startsWith('(combined'))).toEqual([]);
  });

  it('each object may have 25 events, and one more every five minutes', async () => {
    await record('no', 30);
    expect(await events()).toMatchObject([{ count: 25 }]);
    const other = { metadata: { ...pod.metadata, name: 'other', uid: 'u2' } };
    recorder.event({ pod: other, type: 'Normal', reason: 'Started', message: 'a' });
    await settle(clock, server);
    expect(await events()).toHaveLength(2);
    clock.advance(299_999);
    await record('no');
    expect(new Set((await events()).map(({ count }) => count))).toEqual(new Set([1, 25]));
    clock.advance(1);
    await record('no');
    // The events that were not sent are counted, too.
    expect(new Set((await events()).map(({ count }) => count))).toEqual(new Set([1, 32]));
  });

  it('warnings leave the Normal events of the object their own 25', async () => {
    await record('no', 26);
    recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'Stopping container app' });
    await settle(clock, server);
    expect((await events()).map(({ reason, count }) => [reason, count])).toEqual(
      expect.arrayContaining([
        ['Unhealthy', 25],
        ['Killing', 1],
      ]),
    );
  });
});

describe('TestWriteEventError', () => {
  const failing = (error: () => Error): { client: EventClient; tries: () => number } => {
    let tries = 0;
    const fail = (): Promise<KubeEvent> => {
      tries++;
      return Promise.reject(error());
    };
    return { client: { create: fail, patch: fail }, tries: () => tries };
  };

  it.each<[string, Error, number, number]>([
    ['no connection', new APIError('refused', { kind: 'network' }), 12, 1],
    ['too many requests', new APIError('slow down', { kind: 'http', statusCode: 429 }), 12, 1],
    ['a forbidden event', new APIError('forbidden', { kind: 'http', statusCode: 403 }), 1, 1],
    ['an Event that is there already', new APIError('exists', { kind: 'http', statusCode: 409 }), 1, 0],
  ])('%s', async (_, error, expectedTries, dropped) => {
    const { client, tries } = failing(() => error);
    recorder = newRecorder(client);
    recorder.event({ pod, type: 'Normal', reason: 'Started', message: 'a' });
    await clock.advanceAsync(0);
    expect(tries()).toBe(1);
    await clock.advanceAsync(5000);
    expect(tries()).toBe(Math.min(2, expectedTries));
    await clock.advanceAsync(3_600_000);
    expect([tries(), recorder.inspect().dropped, clock.pendingTimers]).toEqual([expectedTries, dropped, 0]);
    // One warning, and none for each of the tries.
    expect(logger.warnings).toHaveLength(dropped);
  });

  it('an event in a namespace that is being deleted is dropped without a warning', async () => {
    const causes = [{ reason: 'NamespaceTerminating', message: 'it is being terminated' }];
    recorder = newRecorder(failing(() => new APIError('forbidden', { kind: 'http', statusCode: 403, causes })).client);
    recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'Stopping container app' });
    await clock.advanceAsync(0);
    expect([recorder.inspect(), logger.warnings]).toEqual([{ queued: 0, dropped: 1 }, []]);
  });

  it('an event that the API server refuses does not make a failure, and others no recovery', async () => {
    const refusal = new APIError('namespaces "none" not found', { kind: 'http', statusCode: 404 });
    const create: EventClient['create'] = async (event) => {
      if (event.metadata.namespace === 'none') throw refusal;
      return event;
    };
    recorder = newRecorder({ create, patch: (event) => Promise.resolve(event) });
    for (let i = 0; i < 10; i++)
      for (const namespace of ['none', 'ns'])
        recorder.event({
          pod: { metadata: { name: `p${i}`, namespace } },
          type: 'Normal',
          reason: 'Started',
          message: 'a',
        });
    await clock.advanceAsync(60_000);
    expect(recorder.inspect()).toEqual({ queued: 0, dropped: 10 });
    expect(logger.warnings).toMatchObject([
      {
        message: 'The API server refuses an event',
        fields: { reason: refusal.message, involvedObject: { name: 'p0', namespace: 'none' } },
      },
    ]);
  });

  it('logs once since when writing fails, and when it succeeds again', async () => {
    const { client } = failing(() => new APIError('refused', { kind: 'network' }));
    let isBroken = true;
    const works: EventClient = { create: (event) => Promise.resolve(event), patch: (event) => Promise.resolve(event) };
    recorder = newRecorder({
      create: (...args) => (isBroken ? client : works).create(...args),
      patch: (...args) => (isBroken ? client : works).patch(...args),
    });
    for (let i = 0; i < 20; i++) recorder.event({ pod, type: 'Normal', reason: 'Started', message: `${i}` });
    await clock.advanceAsync(60_000);
    const failingSince = '2026-01-02T03:04:05Z';
    expect(logger.lines).toMatchObject([
      { level: 'warn', message: 'Writing events failed', fields: { failingSince, failures: 1, reason: 'refused' } },
    ]);
    expect(recorder.inspect()).toEqual({ queued: 19, dropped: 0, failingSince });
    isBroken = false;
    await clock.advanceAsync(10_000);
    expect(logger.lines.at(-1)).toMatchObject({ level: 'info', message: 'Writing events succeeded again' });
    expect(recorder.inspect()).toEqual({ queued: 0, dropped: 0 });
  });

  it('never blocks: beyond 1000 waiting events the newest are dropped', async () => {
    recorder = newRecorder({ create: () => new Promise(() => {}), patch: () => new Promise(() => {}) });
    for (let i = 0; i < 1100; i++) {
      recorder.event({ pod: { metadata: { name: `p${i}` } }, type: 'Normal', reason: 'Started', message: 'a' });
    }
    await clock.advanceAsync(0);
    expect(recorder.inspect()).toEqual({ queued: 999, dropped: 100 });
    const stopping = recorder.stop();
    await clock.advanceAsync(30_000);
    await stopping;
    expect(recorder.inspect()).toMatchObject({ queued: 0, dropped: 1100 });
  });
});

describe('the limit of requests', () => {
  const sent: string[] = [];
  const counting: EventClient = {
    create: (event) => {
      sent.push(event.metadata.name);
      return Promise.resolve(event);
    },
    patch: (event) => Promise.resolve(event),
  };
  const recordMany = (count: number): void => {
    for (let i = 0; i < count; i++) {
      recorder.event({ pod: { metadata: { name: `p${i}` } }, type: 'Normal', reason: 'Started', message: 'a' });
    }
  };
  beforeEach(() => void sent.splice(0));

  it('100 requests immediately, then 50 a second; events that wait are not lost', async () => {
    recorder = newRecorder(counting);
    recordMany(200);
    await clock.advanceAsync(0);
    expect(sent).toHaveLength(100);
    await clock.advanceAsync(1000);
    expect(sent).toHaveLength(150);
    await clock.advanceAsync(1000);
    expect(sent).toHaveLength(200);
  });

  it('other limits', async () => {
    recorder = new APIEventRecorder({ client: counting, nodeName: 'node-a', clock, logger, qps: 1, burst: 2 });
    recordMany(4);
    await clock.advanceAsync(1000);
    expect(sent).toHaveLength(3);
    // A stop does not wait for them.
    await recorder.stop();
    expect(sent).toHaveLength(4);
    for (const options of [{ qps: 0 }, { qps: NaN }, { burst: 0 }, { delayMs: -1 }]) {
      expect(() => new APIEventRecorder({ client: counting, nodeName: 'n', logger, ...options })).toThrow(
        Object.keys(options)[0],
      );
    }
  });
});

it('events wait for delayMs until the first of them is written', async () => {
  recorder = new APIEventRecorder({
    client: createEventClient(transport),
    ...{ nodeName: 'node-a', clock, logger, delayMs: 500 },
  });
  recorder.event({ pod, type: 'Normal', reason: 'Pulled', message: 'a' });
  await clock.advanceAsync(499);
  recorder.event({ pod, type: 'Normal', reason: 'Started', message: 'b' });
  expect(recorder.inspect().queued).toBe(2);
  await clock.advanceAsync(1);
  await settle(clock, server);
  expect((await events()).map(({ reason }) => reason)).toEqual(['Pulled', 'Started']);
  // A stop does not wait.
  recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'c' });
  await recorder.stop();
  expect(await events()).toHaveLength(3);
});

it('stop() resolves when waiting events are written, and nothing is written after that', async () => {
  recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'a' });
  await recorder.stop();
  recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'b' });
  await settle(clock, server);
  expect(await events()).toHaveLength(1);
});
