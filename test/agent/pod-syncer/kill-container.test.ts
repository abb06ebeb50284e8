import { beforeEach, describe, expect, it } from 'vitest';
import type { Container, ValidPod } from 'kubelet-status-manager';
import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { createHandlerRunner } from '../../../src/agent/pod-syncer/handler-runner.ts';
import { FakeClock, FakeContainerRuntime, recordingLogger } from 'kubelet-status-manager/testing';
import type { ContainerKillReason } from '../../../src/agent/actions/pod-actions.ts';
import { ContainerKiller, type KillRequest } from '../../../src/agent/pod-syncer/kill-pod.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

let clock: FakeClock;
let runtime: FakeContainerRuntime;
let logger: ReturnType<typeof recordingLogger>;
let events: string[];
let requests: string[];
let killer: ContainerKiller;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  runtime = new FakeContainerRuntime({ clock });
  logger = recordingLogger();
  events = [];
  requests = [];
  const httpGet = async ({ url }: { readonly url: string }): Promise<void> => void requests.push(url);
  killer = new ContainerKiller({
    ...{ runtime: asBounded(runtime), clock, logger },
    handlerRunner: asBounded(createHandlerRunner({ runtime, clock, httpGet, eventRecorder: { event: () => {} } })),
    eventRecorder: { event: ({ type, reason, message }) => void events.push(`${type} ${reason}: ${message}`) },
  });
});

const id = 'fake://foo';
const podOf = (container: Partial<Container>, spec: object = {}, metadata: object = {}): ValidPod => ({
  metadata: { uid: 'u', name: 'bar', namespace: 'default', ...metadata },
  spec: { containers: [{ name: 'foo', image: 'busybox', ...container }], ...spec },
});
function putRunning(): void {
  const containers = [{ id, name: 'foo', state: 'running', createdAtMs: 0 } as const];
  runtime.put({ uid: 'u', name: 'bar', namespace: 'default', containers });
}
async function kill(pod: ValidPod, rest: Partial<KillRequest> = {}): Promise<unknown> {
  putRunning();
  let result: unknown;
  const sync = { signal: new AbortController().signal, scope: podScope(pod) };
  const request = { ...sync, pod, containerID: id, containerName: 'foo', podIP: '127.0.0.1', ...rest };
  const killing = killer.killContainer(request).then((done) => (result = done));
  await clock.advanceAsync(200_000);
  await killing;
  return result;
}
const stopped = () => runtime.callsOf({ method: 'stopContainer' }).map(({ gracePeriodSeconds }) => gracePeriodSeconds);
const commands = () => runtime.callsOf({ method: 'execSync' }).map(({ command }) => command);

describe('TestKillContainerGracePeriod', () => {
  const probe = (seconds: number) => ({ terminationGracePeriodSeconds: seconds });
  const both = { startupProbe: probe(10), livenessProbe: probe(30) };
  const long = { terminationGracePeriodSeconds: 60 };
  const short = { terminationGracePeriodSeconds: 10 };
  it.each<[string, Partial<Container>, object, ContainerKillReason, number]>([
    ['default termination grace period', {}, {}, 'Unknown', 2],
    ['use pod termination grace period', {}, long, 'Unknown', 60],
    ['liveness probe overrides pod termination grace period', { livenessProbe: probe(10) }, long, 'LivenessProbe', 10],
    ['startup probe overrides pod termination grace period', { startupProbe: probe(10) }, long, 'StartupProbe', 10],
    [
      'startup probe overrides pod termination grace period, probe period > pod period',
      ...([{ startupProbe: probe(60) }, short, 'StartupProbe', 60] as const),
    ],
    [
      'liveness probe overrides pod termination grace period, probe period > pod period',
      ...([{ livenessProbe: probe(60) }, short, 'LivenessProbe', 60] as const),
    ],
    [
      'non-liveness probe failure, use pod termination grace period',
      ...([{ livenessProbe: probe(10) }, long, 'Unknown', 60] as const),
    ],
    [
      'non-startup probe failure, use pod termination grace period',
      ...([{ startupProbe: probe(10) }, long, 'Unknown', 60] as const),
    ],
    ['all three grace periods set, use pod termination grace period', both, long, 'Unknown', 60],
    ['all three grace periods set, use startup termination grace period', both, long, 'StartupProbe', 10],
    ['all three grace periods set, use liveness termination grace period', both, long, 'LivenessProbe', 30],
  ])('%s', async (_, container, spec, reason, expected) => {
    await kill(podOf(container, spec), { reason });
    expect(stopped()).toEqual([expected]);
  });

  it('the grace period of a deletion goes before that of a probe, and one that is given before both', async () => {
    const pod = podOf(both, long, { deletionGracePeriodSeconds: 20 });
    await kill(pod, { reason: 'LivenessProbe' });
    await kill(pod, { reason: 'LivenessProbe', gracePeriodSeconds: 5 });
    expect(stopped()).toEqual([20, 5]);
  });
});

describe('TestKillContainer', () => {
  it('no error: an event with the message, then the container is stopped', async () => {
    expect(await kill(podOf({}))).toEqual({ action: 'KillContainer', target: 'foo' });
    await kill(podOf({}), { message: 'Container foo failed liveness probe, will be restarted' });
    expect(events).toEqual([
      'Normal Killing: Stopping container foo',
      'Normal Killing: Container foo failed liveness probe, will be restarted',
    ]);
  });

  it('a container that is not in the spec any more is stopped', async () => {
    await kill({ metadata: { uid: 'u', name: 'web', namespace: 'ns' }, spec: {} });
    expect(stopped()).toEqual([2]);
    expect(events).toEqual(['Normal Killing: Stopping container foo']);
  });

  it('an error of the runtime is a failure of the result', async () => {
    runtime.fail({ method: 'stopContainer' }, 'busy');
    expect(await kill(podOf({}))).toMatchObject({ failure: { reason: 'KillContainerError', message: 'busy' } });
  });
});

describe('a kill that is aborted', () => {
  const preStop = { exec: { command: ['PreStopCMD'] } };
  const pod = podOf({ lifecycle: { preStop } });

  it('before it begins runs no hook and does not stop the container', async () => {
    const signal = AbortSignal.abort(new Error('agent stops'));
    expect(await kill(pod, { gracePeriodSeconds: 30, signal })).toMatchObject({ failure: { message: 'agent stops' } });
    expect([commands(), stopped()]).toEqual([[], []]);
  });

  it('during the preStop hook does not count as a failed hook', async () => {
    const controller = new AbortController();
    runtime.onExec(() => new Promise((_, reject) => controller.signal.addEventListener('abort', reject)));
    clock.afterFunc(1000, () => controller.abort(new Error('agent stops')));
    const result = await kill(pod, { gracePeriodSeconds: 30, signal: controller.signal });
    expect(result).toMatchObject({ failure: { message: 'agent stops' } });
    expect([events, logger.warnings, stopped()]).toEqual([['Normal Killing: Stopping container foo'], [], []]);
  });

  it('does not wait for a preStop hook that hangs', async () => {
    putRunning();
    const controller = new AbortController();
    runtime.onExec(() => new Promise(() => {}));
    const sync = { signal: controller.signal, scope: podScope(pod) };
    const request = { ...sync, pod, containerID: id, containerName: 'foo', gracePeriodSeconds: 30 };
    let result: unknown;
    const killing = killer.killContainer(request).then((done) => (result = done));
    await clock.advanceAsync(1000);
    controller.abort(new Error('agent stops'));
    await clock.advanceAsync(0);
    expect(result).toMatchObject({ failure: { message: 'agent stops' } });
    await killing;
  });
});

describe('TestStopContainerWithNotFoundError', () => {
  it('a container that is gone already counts as stopped', async () => {
    expect(await kill(podOf({}), { containerID: 'fake://gone' })).toEqual({ action: 'KillContainer', target: 'foo' });
  });
});

describe.each<[string, (container: Container) => object]>([
  ['TestLifeCycleHook', (container) => ({ containers: [container] })],
  [
    'TestLifeCycleHookForRestartableInitContainer',
    (container) => ({ containers: [], initContainers: [{ ...container, restartPolicy: 'Always' }] }),
  ],
])('%s', (_, specOf) => {
  const withHook = (lifecycle: KubeObject<'Lifecycle'>): ValidPod =>
    podOf({}, specOf({ name: 'foo', image: 'busybox', lifecycle }));

  it('PreStop-CMDExec', async () => {
    await kill(withHook({ preStop: { exec: { command: ['PreStopCMD'] } } }), { gracePeriodSeconds: 30 });
    expect(commands()).toEqual([['PreStopCMD']]);
    expect(stopped()).toEqual([30]);
  });

  it('PreStop-HTTPGet', async () => {
    const httpGet = { host: 'testHost.com', path: '/GracefulExit', port: 80 };
    await kill(withHook({ preStop: { httpGet } }), { gracePeriodSeconds: 30 });
    expect(requests).toEqual(['http://testHost.com:80/GracefulExit']);
  });

  it('PreStop-NoTimeToRun', async () => {
    await kill(withHook({ preStop: { exec: { command: ['PreStopCMD'] } } }), { gracePeriodSeconds: 0 });
    expect(commands()).toEqual([]);
    expect(stopped()).toEqual([2]);
  });

  it('PreStop that fails: an event and a log line, and the container is stopped', async () => {
    runtime.onExec(() => ({ exitCode: 3, stdout: '', stderr: 'no' }));
    await kill(withHook({ preStop: { exec: { command: ['PreStopCMD'] } } }), { gracePeriodSeconds: 30 });
    expect(events).toEqual(['Normal Killing: Stopping container foo', 'Warning FailedPreStopHook: PreStopHook failed']);
    expect(logger.warnings).toMatchObject([
      {
        message: 'preStop hook failed; stopping the container anyway',
        fields: { container: 'foo', reason: expect.stringContaining('exited with 3') },
      },
    ]);
    expect(stopped()).toEqual([30]);
  });
});
