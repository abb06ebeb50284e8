import { afterEach, expect, it } from 'vitest';
import { FakeClock, type RecordingLogger, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { CRIError } from '../../src/cri/cri-error.ts';
import type { CRIConnection } from '../../src/cri/cri-connection.ts';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { hostPodFiles } from '../../src/cri/runtime-pod-files.ts';
import { RuntimeEvents, type RuntimeEventsOptions } from '../../src/cri/runtime-events.ts';
import type { RuntimeEvent } from '../../src/node/runtime/container-runtime.ts';
import { TestDirectories } from '../support/directories.ts';
import { podWith } from './pods.ts';
import { TestStream } from './test-stream.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

/** Events whose streams the test ends. */
function watchEvents(options: Partial<RuntimeEventsOptions> = {}): {
  clock: FakeClock;
  logger: RecordingLogger;
  streams: TestStream[];
  /** What `onComplete` was called with. */
  completeness: boolean[];
  connection: { isConnected: boolean };
  events: RuntimeEvents;
} {
  const streams: TestStream[] = [];
  const completeness: boolean[] = [];
  const connect = (...parameters: readonly unknown[]): TestStream => {
    const stream = new TestStream();
    streams.push(stream);
    return stream.open(...parameters);
  };
  const clock = new FakeClock();
  const logger = recordingLogger();
  const client = { containerEvents: connect, stream: connect, isConnected: true };
  const events = new RuntimeEvents({
    client: client as object as CRIConnection,
    clock,
    logger,
    ownerOf: () => undefined,
    isExpected: () => false,
    hasEnded: async () => true,
    onEvent: () => {},
    onComplete: (areComplete) => completeness.push(areComplete),
    ...options,
  });
  return { clock, logger, streams, completeness, connection: client, events };
}

/** What grpc-js emits. */
function serviceError(details: string): Error {
  return Object.assign(new Error(`14 UNAVAILABLE: ${details}`), { code: 14, details });
}

it('events that the runtime refuses are logged after 10 s with the reason, and when they are there again', () => {
  const { clock, logger, streams, events } = watchEvents();
  for (let i = 0; i <= 10; i++) {
    streams.at(-1)!.emit('error', serviceError('invalid filter'));
    expect(logger.lines.length, `after ${i} s`).toBe(i < 10 ? 0 : 1);
    clock.advance(1000);
  }
  streams.at(-1)!.emit('data', { container_id: 'c', container_event_type: 'CONTAINER_STOPPED_EVENT' });
  expect(logger.lines).toMatchObject([
    {
      level: 'warn',
      message: 'Watching events of the runtime failed',
      fields: { reason: 'invalid filter', failures: 11 },
    },
    { level: 'info', message: 'Watching events of the runtime succeeded again' },
  ]);
  events.stop();
});

it('events of a runtime that was gone are logged as there again when the stream stays open, though none comes', () => {
  const { clock, logger, streams, events } = watchEvents();
  for (let i = 0; i <= 10; i++) {
    streams.at(-1)!.emit('error', serviceError('No connection established. Last error: ENOENT. Resolution note: '));
    clock.advance(1000);
  }
  clock.advance(9999);
  expect(logger.lines).toMatchObject([{ fields: { reason: 'No connection established. Last error: ENOENT' } }]);
  clock.advance(1);
  expect(logger.lines[1]).toMatchObject({ message: 'Watching events of the runtime succeeded again' });
  events.stop();
});

it('events are not there again while their stream waits for a connection', () => {
  const { clock, logger, streams, connection, events } = watchEvents();
  connection.isConnected = false;
  for (let i = 0; i <= 10; i++) {
    streams.at(-1)!.emit('error', serviceError('Deadline exceeded'));
    clock.advance(1000);
  }
  clock.advance(60_000);
  expect(logger.lines).toMatchObject([{ message: 'Watching events of the runtime failed' }]);
  connection.isConnected = true;
  clock.advance(1000);
  expect(logger.lines[1]).toMatchObject({ message: 'Watching events of the runtime succeeded again' });
  events.stop();
});

it('a runtime that ends each stream without an event has none: this is no failure, and is tried again every 10 s', () => {
  const { clock, logger, streams, completeness, events } = watchEvents();
  for (let i = 1; i <= 60; i++) {
    streams.at(-1)!.emit('end');
    clock.advance(9999);
    expect(streams).toHaveLength(i);
    clock.advance(1);
  }
  expect(logger.lines).toEqual([]);
  expect(completeness).toEqual([]);
  events.stop();
});

it("the start and the stop that a worker is waiting for are no events; a container's own exit is one", async () => {
  const stream = new TestStream();
  let respond = (): void => {};
  const client = {
    containerEvents: stream.open,
    call: () => new Promise<object>((resolve) => (respond = () => resolve({}))),
  };
  const settings = { runtimeName: 'containerd', podLogsDirectory: '/logs', containerLogMaxSizeBytes: Infinity };
  const runtime = new CRIRuntime({
    ...({ client, ...settings, clock: new FakeClock() } as object as CRIRuntimeSettings),
  });
  const seen: string[] = [];
  const unsubscribe = runtime.subscribe(({ type }) => seen.push(type));
  const emit = (type: string): void => {
    const sandbox = { metadata: { uid: '1234' } };
    const event = { container_id: 'c', container_event_type: `CONTAINER_${type}_EVENT`, pod_sandbox_status: sandbox };
    stream.emit('data', event);
  };
  const calls = [
    () => runtime.startContainer('containerd://c'),
    () => runtime.stopContainer('containerd://c', 1),
    () => runtime.stopPodSandbox('c'),
  ];
  const events: string[][] = [];
  for (const call of calls) {
    const done = call();
    emit('STARTED');
    emit('STOPPED');
    respond();
    await done;
    events.push(seen.splice(0));
  }
  emit('STARTED');
  emit('STOPPED');
  expect([...events, seen]).toEqual([['stopped'], ['started'], ['started'], ['started', 'stopped']]);
  unsubscribe();
});

it('an event of a sandbox names no container, also before its status was read', async () => {
  const stream = new TestStream();
  const client = { containerEvents: stream.open };
  const settings = { runtimeName: 'containerd', podLogsDirectory: '/logs', containerLogMaxSizeBytes: Infinity };
  const runtime = new CRIRuntime({
    ...({ client, ...settings, clock: new FakeClock() } as object as CRIRuntimeSettings),
  });
  const seen: RuntimeEvent[] = [];
  const unsubscribe = runtime.subscribe((event) => seen.push(event));
  for (const id of ['s', 'c'])
    stream.emit('data', {
      ...{ container_id: id, container_event_type: 'CONTAINER_STARTED_EVENT' },
      pod_sandbox_status: { id: 's', metadata: { uid: '1234' } },
    });
  expect(seen).toEqual([
    { type: 'started', podUID: '1234' },
    { type: 'started', podUID: '1234', containerID: 'containerd://c' },
  ]);
  unsubscribe();
});

it("a sandbox that the agent runs is known as one before its status is read, to containerd's events too", async () => {
  const criStream = new TestStream();
  const stream = new TestStream();
  const client = {
    containerEvents: criStream.open,
    stream: stream.open,
    call: async () => ({ pod_sandbox_id: 's' }),
  };
  const clock = new FakeClock();
  const settings = {
    runtimeName: 'containerd',
    podLogsDirectory: directories.create(),
    containerLogMaxSizeBytes: Infinity,
    files: hostPodFiles(systemFiles, {
      ...{ rootDirectory: '', podLogsDirectory: directories.create() },
      logger: recordingLogger(),
    }),
  };
  const helper = { getPodDNS: async () => ({ servers: [], searches: [], options: [] }), generatePodHostName: () => '' };
  const runtime = new CRIRuntime({
    ...({ client, helper, ...settings, clock, logger: recordingLogger() } as object as CRIRuntimeSettings),
  });
  const seen: RuntimeEvent[] = [];
  const unsubscribe = runtime.subscribe((event) => seen.push(event));
  criStream.emit('error', Object.assign(serviceError('unknown method'), { code: 12 }));
  clock.advance(0);
  const pod = podWith();
  await runtime.runPodSandbox({ pod, attempt: 0 });
  // A message of one string: the container's ID.
  const value = Uint8Array.from([10, 1, 's'.charCodeAt(0)]);
  stream.emit('data', { topic: '/tasks/start', event: { value } });
  expect(seen).toEqual([{ type: 'started', podUID: pod.metadata.uid }]);
  unsubscribe();
});

it('events are complete from the first one of a stream to its end, and say so each time', () => {
  const { events, streams, clock, completeness } = watchEvents();
  const event = { container_id: 'c', container_event_type: 'CONTAINER_STOPPED_EVENT' };
  clock.advance(60_000);
  expect(completeness, 'a stream that may never send anything').toEqual([]);
  streams.at(-1)!.emit('data', event);
  streams.at(-1)!.emit('data', event);
  expect(completeness).toEqual([true, true]);
  streams.at(-1)!.emit('end');
  expect(completeness).toEqual([true, true, false]);
  clock.advance(1000);
  streams.at(-1)!.emit('error', new Error('unavailable'));
  clock.advance(1000);
  streams.at(-1)!.emit('data', event);
  expect(completeness).toEqual([true, true, false, true]);
  events.stop();
});

/** Events of containerd, for a runtime without CRI events, of a container that has exited. */
function watchExit(hasEnded: (id: string, signal: AbortSignal) => Promise<boolean>) {
  const seen: unknown[] = [];
  const watched = watchEvents({
    hasEnded,
    ownerOf: () => ({ podUID: 'u', isSandbox: false }),
    onEvent: (id, { type }) => void seen.push([id, type]),
  });
  watched.streams[0]!.emit('error', Object.assign(serviceError('unknown method'), { code: 12 }));
  watched.clock.advance(0);
  const value = Uint8Array.from([10, 1, ...Buffer.from('c')]);
  watched.streams[1]!.emit('data', { topic: '/tasks/exit', event: { value } });
  return { ...watched, seen };
}

it('the exit of a container that the runtime no longer knows is an event at once', async () => {
  const { seen, clock, events } = watchExit(() =>
    Promise.reject(new CRIError(Object.assign(new Error(), { code: 5, details: 'not found' }))),
  );
  await expect.poll(() => seen).toEqual([['c', 'stopped']]);
  events.stop();
  expect(clock.pendingTimers).toBe(0);
});

it('an exit that the runtime does not show is an event after 10 s', async () => {
  let asked = 0;
  const { seen, clock, events } = watchExit(async () => {
    asked += 1;
    if (asked % 2 === 0) throw new Error('no connection');
    return false;
  });
  for (let ms = 0; ms < 10_000; ms += 25) {
    await settle();
    expect(seen).toEqual([]);
    clock.advance(25);
  }
  await expect.poll(() => seen).toEqual([['c', 'stopped']]);
  expect(asked).toBe(400);
  events.stop();
});

it('the exit of a container that the runtime does not answer for is an event after 10 s', async () => {
  const { seen, clock, events } = watchExit(
    (_, signal) => new Promise((__, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  );
  await clock.advanceAsync(9_999);
  expect(seen).toEqual([]);
  await clock.advanceAsync(1);
  expect(seen).toEqual([['c', 'stopped']]);
  events.stop();
  expect(clock.pendingTimers).toBe(0);
});

it('after stop there are no events and no timers, and nothing is asked or opened', async () => {
  let asked = 0;
  const { seen, clock, events, streams, completeness } = watchExit(async () => (++asked, false));
  await settle();
  const before = [...completeness];
  events.stop();
  await settle();
  expect(clock.pendingTimers).toBe(0);
  streams[1]!.emit('data', { topic: '/tasks/start', event: null });
  streams[1]!.emit('end');
  await clock.advanceAsync(20_000);
  expect([seen, asked, streams.length, clock.pendingTimers]).toEqual([[], 1, 2, 0]);
  expect(completeness).toEqual(before);
});

it('a stream that has had events and ends is a failure with this reason, if it lasts', () => {
  const { clock, logger, streams } = watchEvents();
  for (let i = 0; i <= 10; i++) {
    streams.at(-1)!.emit('data', { container_id: 'c', container_event_type: 'CONTAINER_STARTED_EVENT' });
    streams.at(-1)!.emit('end');
    streams.at(-1)!.emit('end');
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1000);
  }
  expect(streams.length).toBe(12);
  expect(logger.warnings).toEqual([]);
});
