import { Server, ServerCredentials, status as codes, type handleUnaryCall } from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import { probeGRPC } from '../../../src/node/prober/grpc-probe.ts';
import type { ProbeOutcome } from '../../../src/node/prober/prober.ts';
import { probeTCP } from '../../../src/node/prober/tcp-probe.ts';

const host = '127.0.0.1';
const { signal } = new AbortController();
let clock: FakeClock;
let closes: (() => void)[];
beforeEach(() => {
  clock = new FakeClock();
  closes = [];
});
afterEach(() => {
  for (const close of closes) close();
  assert.equal(clock.pendingTimers, 0);
});

/** A health server; messages are passed as they are on the wire. */
async function serveHealth(check: handleUnaryCall<Buffer, Buffer>, path = '/grpc.health.v1.Health/Check') {
  const server = new Server();
  const asIs = (bytes: Buffer): Buffer => bytes;
  const method = { requestStream: false, responseStream: false, requestSerialize: asIs, requestDeserialize: asIs };
  const definition = { Check: { ...method, path, responseSerialize: asIs, responseDeserialize: asIs } };
  server.addService(definition, { Check: check });
  closes.push(() => server.forceShutdown());
  return new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

const probe = (port: number, service = ''): Promise<ProbeOutcome> =>
  probeGRPC({ host, port, service, timeoutMs: 1000 }, clock, signal);

async function listen(onConnection: () => void): Promise<number> {
  const server = createServer((socket) => {
    closes.push(() => socket.destroy());
    onConnection();
  });
  closes.push(() => server.close());
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const port = await listen(() => {});
  closes.pop()!();
  return port;
}

describe('TestGrpcProber_Probe', () => {
  it('Should: succeed if server is serving, asked by the name of the service', async () => {
    const asked: unknown[] = [];
    const port = await serveHealth(({ request, metadata }, callback) => {
      asked.push([request.toString('hex'), metadata.get('user-agent').join('').split(' ')[0]]);
      callback(null, Buffer.from([8, 1]));
    });
    expect(await probe(port)).toEqual({ result: 'success', output: 'service healthy' });
    await probe(port, 'a');
    for (const length of [127, 128, 300]) await probe(port, 'a'.repeat(length));
    expect(asked).toEqual([
      ['', 'kube-probe/1.37'],
      ['0a0161', 'kube-probe/1.37'],
      [`0a7f${'61'.repeat(127)}`, 'kube-probe/1.37'],
      [`0a8001${'61'.repeat(128)}`, 'kube-probe/1.37'],
      [`0aac02${'61'.repeat(300)}`, 'kube-probe/1.37'],
    ]);
  });

  it.each([
    ['UNKNOWN', []],
    ['NOT_SERVING', [8, 2]],
    ['SERVICE_UNKNOWN', [8, 3]],
    ['UNKNOWN', [8, 0]],
    ['UNKNOWN', [16, 1]],
    ['9', [8, 9]],
  ])('Should: return failure if the service is %s', async (name, response) => {
    const port = await serveHealth((_, callback) => callback(null, Buffer.from(response)));
    expect(await probe(port)).toEqual({ result: 'failure', output: `service unhealthy (responded with "${name}")` });
  });

  it('Should: failed but return nil error because cant find host', async () => {
    const port = await closedPort();
    const probing = probe(port);
    const message = `timeout: failed to connect service "127.0.0.1:${port}" within 1s: context deadline exceeded`;
    while (clock.pendingTimers === 0) await clock.yieldToEventLoop();
    clock.advance(1000);
    expect(await probing).toEqual({ result: 'failure', output: message });
  });

  it.each([
    [codes.NOT_FOUND, 'NotFound'],
    [codes.UNAVAILABLE, 'Unavailable'],
    [codes.PERMISSION_DENIED, 'PermissionDenied'],
  ])('Should: return nil error because connection closed: %i is %s', async (code, name) => {
    const port = await serveHealth((_, callback) => callback({ code, details: 'unknown service' }));
    const output = `error: health rpc probe failed: rpc error: code = ${name} desc = unknown service`;
    expect(await probe(port, 'x')).toEqual({ result: 'failure', output });
  });

  it('Should: fail with timeout if the server says that it took too long', async () => {
    const port = await serveHealth((_, callback) => callback({ code: codes.DEADLINE_EXCEEDED, details: 'slow' }));
    expect(await probe(port)).toEqual({ result: 'failure', output: 'timeout: health rpc did not complete within 1s' });
  });

  it('Should: return failure if the server does not know the protocol', async () => {
    const port = await serveHealth((_, callback) => callback(null, Buffer.alloc(0)), '/other/Method');
    const { result, output } = await probe(port);
    expect(result).toBe('failure');
    expect(output).toMatch(
      /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\)/,
    );
  });

  it('Should: fail with timeout if server does not respond', async () => {
    const port = await serveHealth(() => clock.advance(1000));
    expect(await probe(port)).toEqual({ result: 'failure', output: 'timeout: health rpc did not complete within 1s' });
  });
});

describe('TestTcpHealthChecker', () => {
  const probeAt = (port: number): Promise<ProbeOutcome> => probeTCP({ host, port, timeoutMs: 1000 }, clock, signal);

  it('A connection is made and probing would succeed', async () => {
    expect(await probeAt(await listen(() => {}))).toEqual({ result: 'success', output: '' });
  });

  it('No connection can be made and probing would fail', async () => {
    const port = await closedPort();
    const output = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    expect(await probeAt(port)).toEqual({ result: 'failure', output });
  });

  it('localhost, if the pod has no address', async () => {
    const port = await listen(() => {});
    expect(await probeTCP({ host: '', port, timeoutMs: 1000 }, clock, signal)).toEqual({
      result: 'success',
      output: '',
    });
  });

  it('a result that is no longer needed is not waited for', async () => {
    const aborted = AbortSignal.abort();
    const output = 'dial tcp 192.0.2.1:9: i/o timeout';
    expect(await probeTCP({ host: '192.0.2.1', port: 9, timeoutMs: 1000 }, clock, aborted)).toEqual({
      result: 'failure',
      output,
    });
  });

  it('no connection in time', async () => {
    const probing = probeTCP({ host: '192.0.2.1', port: 9, timeoutMs: 1000 }, clock, signal);
    clock.advance(1000);
    expect(await probing).toEqual({ result: 'failure', output: 'dial tcp 192.0.2.1:9: i/o timeout' });
  });
});
