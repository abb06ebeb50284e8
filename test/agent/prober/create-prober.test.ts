import { createServer, type AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Probe } from 'kubelet-status-manager';
import type { ExecResult, ObjectEvent, PodEvent, ProbeResult } from 'kubelet-status-manager/agent';
import { createProber } from '../../../src/agent/prober/create-prober.ts';
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

function probe(spec: Probe): Promise<ProbeResult> {
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
  const request = { probeType: 'liveness' as const, probe: spec, pod, status: {}, container, containerID: 'test://c' };
  return prober.probe(request, abort.signal);
}

const halfResponse = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf';

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

  it('a response that ends too early is an error and counts as a failure', async () => {
    const server = createServer((socket) => void socket.once('data', () => socket.end(halfResponse)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    await expect(probe({ httpGet: { host: '127.0.0.1', port } })).rejects.toThrow('unexpected EOF');
    expect(events).toEqual([unhealthy('Liveness probe errored and resulted in failure state: unexpected EOF')]);
  });

  it('a port that does not exist is an error of the probe, not of the container', async () => {
    await expect(probe({ tcpSocket: { port: 'web' } })).rejects.toThrow('port "web" not found');
    await expect(probe({ httpGet: { port: 0 } })).rejects.toThrow('invalid port number: 0');
  });
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

  it('a probe that is no longer needed records nothing', async () => {
    run = () => new Promise(() => {});
    const probing = probe(exec);
    abort.abort();
    await probing;
    expect(events).toEqual([]);
  });
});
