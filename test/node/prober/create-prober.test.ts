import { createServer, type AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Probe } from 'kubelet-status-manager';
import type { ExecResult, ObjectEvent, PodEvent, ProbeResult } from 'kubelet-status-manager/agent';
import { createProber } from '../../../src/node/prober/create-prober.ts';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';

const pod = { metadata: { name: 'p', namespace: 'ns', uid: '1' } };
const exec = { exec: { command: ['/bin/bash', '-c', 'some $(A)'] }, timeoutSeconds: 5 };

let clock: FakeClock;
let events: (PodEvent | ObjectEvent)[];
let commands: unknown[];
let run: () => Promise<ExecResult>;
let abort: AbortController;
beforeEach(() => {
  clock = new FakeClock();
  events = [];
  commands = [];
  abort = new AbortController();
  run = () => Promise.resolve({ exitCode: 0, stdout: '', stderr: '' });
});

function probe(spec: Probe, podIP?: string): Promise<ProbeResult> {
  const prober = createProber({
    clock,
    recorder: { event: (event) => events.push(event) },
    runtime: {
      execSync: (containerID, command, timeoutMs) => {
        commands.push([containerID, command, timeoutMs]);
        return run();
      },
    },
  });
  const container = { name: 'app', env: [{ name: 'A', value: 'script' }] };
  const status = { ...(podIP !== undefined && { podIP }) };
  const request = { probeType: 'liveness' as const, probe: spec, pod, status, container, containerID: 'test://c' };
  return prober.probe(request, abort.signal);
}

const halfResponse = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf';

/** A server that sends this to each request, and ends the connection. */
async function serve(response: string): Promise<number> {
  const server = createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const unhealthy = (message: string): PodEvent => ({
  pod,
  container: 'app',
  type: 'Warning',
  reason: 'Unhealthy',
  message,
});

describe('TestProbe', () => {
  it('No handler', async () => {
    await expect(probe({})).rejects.toThrow('missing probe handler for ns/p:app');
    const message = 'Liveness probe errored and resulted in unknown state: missing probe handler for ns/p:app';
    expect(events).toEqual([unhealthy(message)]);
  });

  it('Probe succeeds; its arguments are passed through, with static variables', async () => {
    expect(await probe(exec)).toBe('success');
    expect(commands).toEqual([['test://c', ['/bin/bash', '-c', 'some script'], 5000]]);
    expect(events).toEqual([]);
  });

  it('Probe fails; the event has the output of the command', async () => {
    run = () => Promise.resolve({ exitCode: 1, stdout: 'out;', stderr: 'err' });
    expect(await probe(exec)).toBe('failure');
    expect(events).toEqual([unhealthy('Liveness probe failed: out;err')]);
    expect(commands).toHaveLength(1);
  });

  it('Probe result is unknown with an error: three attempts, one event, and no result', async () => {
    run = () => Promise.reject(new Error('exec error'));
    await expect(probe(exec)).rejects.toThrow('exec error');
    expect(commands).toHaveLength(3);
    expect(events).toEqual([unhealthy('Liveness probe errored and resulted in unknown state: exec error')]);
  });

  it('an attempt that can be made ends the attempts', async () => {
    let attempts = 0;
    run = async () => {
      attempts++;
      if (attempts < 3) throw new Error('busy');
      return { exitCode: 0, stdout: '', stderr: '' };
    };
    expect(await probe(exec)).toBe('success');
    expect([attempts, events]).toEqual([3, []]);
  });

  it('a probe that is no longer needed is not tried again', async () => {
    run = () => {
      abort.abort();
      return Promise.reject(new Error('cancelled'));
    };
    await probe(exec).catch(() => {});
    expect([commands.length, events]).toEqual([1, []]);
  });

  it('what is thrown need not be an Error', async () => {
    run = () => Promise.reject('no runtime');
    await expect(probe(exec)).rejects.toBe('no runtime');
    expect(events).toEqual([unhealthy('Liveness probe errored and resulted in unknown state: no runtime')]);
  });

  it('a redirect that is not followed is a success with a warning', async () => {
    const port = await serve('HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nok');
    expect(await probe({ httpGet: { port } }, '127.0.0.1')).toBe('success');
    const message = 'Liveness probe warning: Probe terminated redirects, Response body: ok';
    expect(events).toEqual([{ ...unhealthy(message), reason: 'ProbeWarning' }]);
  });

  it.each<[string, (port: number) => Probe]>([
    ['httpGet', (port) => ({ httpGet: { port } })],
    ['httpGet of a host', (port) => ({ httpGet: { port, host: '127.0.0.1' } })],
    ['tcpSocket', (port) => ({ tcpSocket: { port } })],
    ['tcpSocket of a host', (port) => ({ tcpSocket: { port, host: '127.0.0.1' } })],
  ])('%s: asks the address of the pod, unless the probe has one', async (name, spec) => {
    const port = await serve('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(await probe(spec(port), name.endsWith('host') ? '192.0.2.1' : '127.0.0.1')).toBe('success');
    expect(events).toEqual([]);
  });

  it('grpc: asks the address of the pod, within its time-out', async () => {
    const port = await serve('');
    const probing = probe({ grpc: { port }, timeoutSeconds: 2 }, '127.0.0.1');
    while (clock.pendingTimers === 0) await clock.yieldToEventLoop();
    clock.advance(2000);
    expect(await probing).toBe('failure');
    expect((events[0] as PodEvent).message).toMatch(
      /^Liveness probe failed: timeout: failed to connect service "127\.0\.0\.1:\d+" within 2s/,
    );
  });

  it('of several handlers, exec is run', async () => {
    expect(await probe({ ...exec, httpGet: { port: 1 }, tcpSocket: { port: 1 } }, '127.0.0.1')).toBe('success');
    expect(commands).toHaveLength(1);
  });

  it('a command may be missing', async () => {
    await probe({ exec: {} });
    expect(commands).toEqual([['test://c', [], 1000]]);
  });

  it('a response that ends too early is an error and counts as a failure', async () => {
    const port = await serve(halfResponse);
    await expect(probe({ httpGet: { host: '127.0.0.1', port } })).rejects.toThrow('unexpected EOF');
    expect(events).toEqual([unhealthy('Liveness probe errored and resulted in failure state: unexpected EOF')]);
  });

  it('a port that does not exist is an error of the probe, not of the container', async () => {
    await expect(probe({ tcpSocket: { port: 'web' } })).rejects.toThrow('port "web" not found');
    await expect(probe({ httpGet: { host: '127.0.0.1', port: 0 } })).rejects.toThrow('invalid port number: 0');
  });

  it.each<Probe>([{ tcpSocket: { port: 80 } }, { httpGet: { port: 80 } }, { grpc: { port: 80 } }])(
    'nothing but the pod is probed if the pod has no address: %j',
    async (handler) => {
      await expect(probe(handler)).rejects.toThrow('the pod has no IP address');
      const message = 'Liveness probe errored and resulted in unknown state: the pod has no IP address';
      expect(events).toEqual([unhealthy(message)]);
    },
  );
});

describe('TestExec', () => {
  it('TestNewExecInContainer: the output is truncated to 10 KiB', async () => {
    run = () => Promise.resolve({ exitCode: 1, stdout: 'a'.repeat(20_000), stderr: '' });
    await probe(exec);
    expect(events).toEqual([unhealthy(`Liveness probe failed: ${'a'.repeat(10 * 1024)}`)]);
  });

  it('a command that a busy runtime starts late and that then succeeds in time is a success', async () => {
    run = () => new Promise((resolve) => clock.afterFunc(9000, () => resolve({ exitCode: 0, stdout: '', stderr: '' })));
    const probing = probe(exec);
    clock.advance(9000);
    expect(await probing).toBe('success');
    expect(events).toEqual([]);
  });

  it('a runtime that says nothing is given two minutes after the time-out', async () => {
    run = () => new Promise(() => {});
    const probing = probe(exec);
    clock.advance(124_999);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    expect(await probing).toBe('failure');
  });

  it('an error before the time-out is one of the probe, not of the container', async () => {
    run = () => new Promise((_, reject) => clock.afterFunc(4999, () => reject(new Error('no runtime'))));
    const probing = probe(exec).catch((error: Error) => error.message);
    for (let attempt = 0; attempt < 3; attempt++) await clock.advanceAsync(4999);
    expect(await probing).toBe('no runtime');
  });

  it.each<[string, number, () => Promise<ExecResult>]>([
    ['a runtime that never ends it', 125_000, () => new Promise(() => {})],
    [
      'a runtime that kills it',
      6000,
      () => new Promise((_, reject) => clock.afterFunc(6000, () => reject(new Error('killed')))),
    ],
  ])('a command that runs too long is a failure: %s', async (_, afterMs, call) => {
    run = call;
    const probing = probe(exec);
    clock.advance(afterMs);
    expect(await probing).toBe('failure');
    expect(events).toEqual([
      unhealthy('Liveness probe failed: command timed out: "/bin/bash -c some script" timed out after 5s'),
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('default time-out: one second', async () => {
    await probe({ exec: { command: ['true'] } });
    expect(commands).toEqual([['test://c', ['true'], 1000]]);
  });

  it('a failed probe is logged at debug if there is no recorder', async () => {
    const logger = recordingLogger();
    const execSync = () => Promise.resolve({ exitCode: 1, stdout: 'no', stderr: '' });
    const prober = createProber({ clock, logger, runtime: { execSync } });
    const request = { probeType: 'readiness', probe: exec, pod, status: {}, container: { name: 'app' } } as const;
    expect(await prober.probe({ ...request, containerID: 'test://c' }, abort.signal)).toBe('failure');
    expect(logger.lines).toEqual([
      {
        level: 'debug',
        message: 'A probe failed',
        fields: { pod: 'ns/p', podUID: '1', container: 'app', reason: 'Readiness probe failed: no' },
      },
    ]);
  });

  it.each([
    ['startup', 'Startup'],
    ['readiness', 'Readiness'],
    ['liveness', 'Liveness'],
  ] as const)(
    'the event of a %s probe begins with %s; without recorder and logger there is none',
    async (probeType, name) => {
      const execSync = () => Promise.resolve({ exitCode: 1, stdout: 'no', stderr: '' });
      const recorded: unknown[] = [];
      for (const recorder of [
        undefined,
        { event: ({ message }: { message: string }) => void recorded.push(message) },
      ]) {
        const prober = createProber({ clock, recorder, runtime: { execSync } });
        const request = { probeType, probe: exec, pod, status: {}, container: { name: 'app' }, containerID: 'c' };
        expect(await prober.probe(request, abort.signal)).toBe('failure');
      }
      expect(recorded).toEqual([`${name} probe failed: no`]);
    },
  );

  it('a probe that is no longer needed records nothing', async () => {
    run = () => new Promise(() => {});
    const probing = probe(exec);
    abort.abort();
    await probing;
    expect(events).toEqual([]);
  });
});
