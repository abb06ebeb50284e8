import { expect, it } from 'vitest';
import { Connections } from '../../../src/kube/http/connections.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

const aborted = expect.objectContaining({ kind: 'aborted' });
const [some, others] = [{ ca: 'some' }, { ca: 'others' }];

function setUp(): Connections {
  return new Connections({
    origin: 'http://127.0.0.1:1',
    proxy: undefined,
    tlsServerName: undefined,
    skipTLSVerify: false,
    connections: 2,
    connectTimeoutMs: 1_000,
    inactivityTimeoutMs: 1_000,
    waitTimeoutMs: 1_000,
    clock: new FakeClock(),
    logger: recordingLogger(),
  });
}

it('requests use one pool until the TLS options change or idle connections are closed', async () => {
  const connections = setUp();
  const pool = connections.dispatcherFor(some);
  expect(connections.dispatcherFor(some)).toBe(pool);
  const next = connections.dispatcherFor(others);
  expect(next).not.toBe(pool);
  await connections.closeIdle();
  expect(connections.dispatcherFor(others)).not.toBe(next);
  await connections.close();
});

it('a closed client connects neither for requests nor for streams', async () => {
  const connections = setUp();
  const stream = connections.forStream();
  connections.dispatcherFor(some);
  await connections.close();
  expect(connections.isClosed).toBe(true);
  expect(() => connections.dispatcherFor(some)).toThrow(aborted);
  expect(() => connections.dispatcherFor(some)).toThrow('the transport is closed');
  expect(() => stream.dispatcherFor(some)).toThrow(aborted);
  await connections.closeIdle();
  expect(connections.isClosed).toBe(true);
});

it('a stream that was given up while its credentials were loaded does not connect afterwards', async () => {
  const connections = setUp();
  const stream = connections.forStream();
  stream.release();
  expect(() => stream.dispatcherFor(some)).toThrow(aborted);
  expect(() => stream.dispatcherFor(some)).toThrow('the stream has been given up');
  await connections.close();
});
