import { beforeEach, describe, expect, it } from 'vitest';
import type { Container, ValidPod, PodSpec } from 'kubelet-status-manager';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { CrashLoopBackOff } from '../../../src/agent/back-off/crash-loop-back-off.ts';
import { createHandlerRunner } from '../../../src/agent/pod-syncer/handler-runner.ts';
import { noProbeResults } from '../../../src/node/probes/probe-results.ts';
import { podStatusFromRuntime } from '../../../src/agent/pleg/pod-status-from-runtime.ts';
import type { ContainerConfig } from '../../../src/node/runtime/container-runtime.ts';
import { BackOffError } from '../../../src/node/pod-workers/next-sync-delay.ts';
import {
  FakeClock,
  FakeContainerRuntime,
  type RecordingLogger,
  recordingLogger,
  settle,
  silentLogger,
} from 'kubelet-status-manager/testing';
import { ActuatedResources } from '../../../src/agent/allocation/actuated-resources.ts';
import type { PodEventRecorder } from '../../../src/node/events/event-recorder.ts';
import type { RecordKubeletMetric } from '../../../src/observe/kubelet-metrics.ts';
import { newImageManager } from './new-image-manager.ts';
import { RuntimeManager } from '../../../src/agent/pod-syncer/runtime-manager.ts';
import { syncError } from '../../../src/node/pod-workers/sync-action.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

let clock: FakeClock;
let runtime: FakeContainerRuntime;
let logger: RecordingLogger;
let events: string[];
/** `type reason: message` */
let messages: string[];
let requests: string[];
let configs: ContainerConfig[];
let sandboxesReady: number;
let actuatedState: MemoryState;
let actuatedResources: ActuatedResources;
let manager: RuntimeManager;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  runtime = new FakeContainerRuntime({ clock });
  for (const image of ['busybox', 'alpine', 'init']) runtime.images.add(image);
  logger = recordingLogger();
  events = [];
  messages = [];
  requests = [];
  recordConfigs();
  sandboxesReady = 0;
  actuatedState = new MemoryState();
  manager = newManager();
});

/** The configurations that the runtime is given. */
function recordConfigs(): void {
  configs = [];
  const createContainer = runtime.createContainer.bind(runtime);
  runtime.createContainer = (config, options) => {
    configs.push(config);
    return createContainer(config, options);
  };
}

function newManager(recordMetric?: RecordKubeletMetric): RuntimeManager {
  actuatedResources = new ActuatedResources(actuatedState, { clock, logger: silentLogger });
  const eventRecorder: PodEventRecorder = {
    event: ({ type, reason, message }) => {
      events.push(reason);
      messages.push(`${type} ${reason}: ${message}`);
    },
  };
  return new RuntimeManager({
    ...{ runtime: asBounded(runtime), clock, logger, actuatedResources, eventRecorder, recordMetric },
    imageManager: newImageManager({ runtime: asBounded(runtime), clock, eventRecorder }),
    probeResults: noProbeResults,
    crashLoopBackOff: new CrashLoopBackOff(clock),
    handlerRunner: asBounded(
      createHandlerRunner({
        ...{ runtime, clock, eventRecorder: { event: () => {} } },
        httpGet: async ({ url }) => void requests.push(url),
      }),
    ),
    updateQOSCgroups: async () => {},
    onPodSandboxReady: ({ metadata }) => {
      const [sandbox] = runtime.pod(metadata.uid)!.sandboxes!;
      if (sandbox?.ready === true) sandboxesReady++;
    },
  });
}

const container = (name: string, image = 'busybox'): Container => ({ name, image, imagePullPolicy: 'IfNotPresent' });
const podOf = (spec: PodSpec): ValidPod => ({ metadata: { uid: '12345678', name: 'foo', namespace: 'new' }, spec });
const inSync = (signal = new AbortController().signal) => ({ signal, scope: podScope() });
async function sync(pod: ValidPod, restartAllContainers = false, signal = new AbortController().signal) {
  const runtimeStatus = podStatusFromRuntime(pod, runtime.pod('12345678'), runtime);
  const syncing = manager.syncPod(pod, runtimeStatus, { restartAllContainers, ...inSync(signal) });
  await settle(clock);
  return syncError(await syncing);
}
const runs = () =>
  (runtime.pod('12345678')?.containers ?? [])
    .map(({ name, attempt, state }) => `${name} ${attempt} ${state}`)
    .toSorted();
const exit = (name: string, exitCode = 0) => runtime.exit(runtime.container('12345678', name)!.id, { exitCode });

describe('a pod with image volumes', () => {
  const tools = { name: 'tools', image: { reference: 'tools:1', pullPolicy: 'IfNotPresent' } };
  const mounting = { ...container('foo1'), volumeMounts: [{ name: 'tools', mountPath: '/tools' }] };
  const pod = podOf({ containers: [mounting, container('foo2')], volumes: [tools] });

  it('has them pulled once, for the containers that mount them', async () => {
    expect(await sync(pod)).toBeUndefined();
    expect(messages).toContain('Normal Pulling: Pulling image "tools:1"');
    expect(messages.filter((message) => message.includes('Pulling image "tools:1"'))).toHaveLength(1);
    const volumes = configs.map(({ imageVolumes }) => imageVolumes && [...imageVolumes]);
    expect(volumes).toEqual([[['tools', expect.stringContaining('tools:1')]], undefined]);
  });

  it('does not start a container whose image volume cannot be pulled, and starts the others', async () => {
    const never = { name: 'tools', image: { ...tools.image, pullPolicy: 'Never' } };
    const failure = await sync(podOf({ ...pod.spec, volumes: [never] }));
    expect(failure?.message).toContain('"StartContainer" for "foo1" with ErrImageNeverPull');
    expect(messages).toContain('Warning Failed: Error: ErrImageNeverPull');
    expect(runs()).toEqual(['foo2 0 running']);
  });
});

describe('a pod with resource claims', () => {
  const message = (path: string) =>
    `Warning FailedPrepareDynamicResources: Failed to prepare dynamic resources: ${path} is not supported by this agent: there are no DRA drivers`;
  const claims = [{ name: 'gpu', resourceClaimName: 'gpu' }];

  it('never starts a container without its devices', async () => {
    const pod = podOf({ containers: [container('foo1')], resourceClaims: claims });
    expect((await sync(pod))?.message).toContain('spec.resourceClaims is not supported by this agent');
    const mapped = { requestMappings: [], resourceClaimName: 'c' };
    await sync({ ...podOf({ containers: [container('foo1')] }), status: { extendedResourceClaimStatus: mapped } });
    expect(messages).toEqual([message('spec.resourceClaims'), message('status.extendedResourceClaimStatus')]);
    expect(runtime.pod('12345678')).toBeUndefined();
  });

  it('keeps the containers that another agent has started, and starts none again', async () => {
    const pod = podOf({ containers: [container('foo1')], restartPolicy: 'Always' });
    await sync(pod);
    const claiming = { ...pod, spec: { ...pod.spec, resourceClaims: claims } };
    expect(await sync(claiming)).toBeUndefined();
    expect(runs()).toEqual(['foo1 0 running']);
    exit('foo1', 1);
    expect((await sync(claiming))?.message).toContain('spec.resourceClaims');
    expect(runs()).toEqual(['foo1 0 exited']);
  });
});

describe('TestKillPod', () => {
  it('stops the containers, ephemeral ones included, and then the sandbox', async () => {
    const pod = podOf({
      containers: [container('foo1'), container('foo2')],
      ephemeralContainers: [container('debug')],
    });
    expect(await sync(pod)).toBeUndefined();
    // They come with the first sync of a sandbox that is there.
    expect(await sync(pod)).toBeUndefined();
    const killing = manager.killPod(
      pod,
      podStatusFromRuntime(pod, runtime.pod('12345678'), runtime),
      undefined,
      inSync(),
    );
    await clock.advanceAsync(60_000);
    expect(syncError(await killing)).toBeUndefined();
    expect(runs()).toEqual(['debug 0 exited', 'foo1 0 exited', 'foo2 0 exited']);
    expect(runtime.pod('12345678')?.sandboxes).toMatchObject([{ ready: false }]);
  });
});

describe('a container in an unknown state', () => {
  async function killUnknown(): Promise<string[]> {
    const pod = podOf({ containers: [container('foo1')] });
    runtime.put({
      ...{ uid: '12345678', name: 'foo', namespace: 'new' },
      sandboxes: [{ id: 'sandbox', ready: true }],
      containers: [
        { id: 'fake://1', name: 'foo1', state: 'unknown', sandboxID: 'sandbox', createdAtMs: 0 },
        { id: 'fake://2', name: 'foo2', state: 'exited', sandboxID: 'sandbox', createdAtMs: 0 },
      ],
    });
    const runtimeStatus = podStatusFromRuntime(pod, runtime.pod('12345678'), runtime);
    const killing = manager.killPod(pod, runtimeStatus, undefined, inSync());
    await clock.advanceAsync(60_000);
    return (await killing).map(({ action, target }) => `${action} ${target}`);
  }

  it('is stopped with its sandbox', async () => {
    expect(await killUnknown()).toEqual(['KillPodSandbox sandbox']);
  });

  it('is stopped like a running one in a runtime without sandboxes', async () => {
    runtime = new FakeContainerRuntime({ clock, sandboxes: false });
    manager = newManager();
    expect(await killUnknown()).toEqual(['KillContainer foo1']);
  });
});

describe('TestSyncPod', () => {
  it('creates a sandbox and starts all containers in it', async () => {
    expect(await sync(podOf({ containers: [container('foo1'), container('foo2', 'alpine')] }))).toBeUndefined();
    expect(runs()).toEqual(['foo1 0 running', 'foo2 0 running']);
    expect(runtime.pod('12345678')?.sandboxes).toMatchObject([{ ready: true, attempt: 0 }]);
  });
});

it('starts of the sandbox and of containers are counted, and their failures by reason, but not what an abort ends', async () => {
  const measured: string[] = [];
  manager = newManager((...of) => void measured.push(of.join(' ')));
  const counts = (): string[] => measured.splice(0);
  runtime.fail({ method: 'runPodSandbox' }, 'no network');
  await sync(initPod);
  expect(counts()).toEqual(['started_pods_total 1', 'started_pods_errors_total 1']);
  await sync(initPod);
  expect(counts()).toEqual(['started_pods_total 1', 'started_containers_total 1 init_container']);
  exit('init1');
  runtime.fail({ method: 'createContainer' }, 'no space');
  runtime.images.delete('alpine');
  runtime.fail({ method: 'pullImage', image: 'alpine' }, 'no such image');
  await sync({ ...initPod, spec: { ...initPod.spec, ephemeralContainers: [container('debug')] } });
  expect(counts()).toEqual([
    'started_containers_total 1 ephemeral_container',
    'started_containers_errors_total 1 ephemeral_container CreateContainerError',
    'started_containers_total 1 container',
    'started_containers_total 1 container',
    'started_containers_errors_total 1 container ErrImagePull',
  ]);
  const controller = new AbortController();
  runtime.delay({ method: 'pullImage' }, 60_000);
  const { signal } = controller;
  const runtimeStatus = podStatusFromRuntime(initPod, runtime.pod('12345678'), runtime);
  const failure = manager.syncPod(initPod, runtimeStatus, inSync(signal)).catch((thrown: Error) => thrown.message);
  controller.abort(new Error('the pod ends'));
  await clock.advanceAsync(60_000);
  expect(await failure).toBe('the pod ends');
  expect(counts().filter((count) => count.includes('errors'))).toEqual([]);
});

describe('TestPruneInitContainers', () => {
  it('keeps the newest run of each init container', async () => {
    const pod = podOf({ containers: [container('app')], initContainers: [container('init1'), container('init2')] });
    const past = [
      ['init1', 3, 'exited'],
      ['init1', 2, 'exited'],
      ['init2', 1, 'exited'],
      ['init1', 1, 'unknown'],
      ['init2', 0, 'exited'],
      ['init1', 0, 'exited'],
    ] as const;
    runtime.put({
      ...{ uid: '12345678', name: 'foo', namespace: 'new' },
      sandboxes: [{ id: 'sandbox', ready: true, network: { ip: '10.0.0.1' } }],
      containers: past.map(([name, attempt, state]) => ({
        ...{ id: `fake://${name}-${attempt}`, name, attempt, state, sandboxID: 'sandbox' },
        createdAtMs: attempt,
      })),
    });
    await sync(pod);
    expect(runs().filter((run) => run.startsWith('init'))).toEqual(['init1 3 exited', 'init2 1 exited']);
  });
});

it('a run that has not ended does not count among the ended runs, of which the newest is kept', async () => {
  runtime.put({
    ...{ uid: '12345678', name: 'foo', namespace: 'new' },
    sandboxes: [{ id: 'sandbox', ready: true }],
    containers: [
      { id: 'fake://1', name: 'init1', attempt: 1, state: 'running', sandboxID: 'sandbox', createdAtMs: 1 },
      { id: 'fake://0', name: 'init1', attempt: 0, state: 'exited', sandboxID: 'sandbox', createdAtMs: 0 },
    ],
  });
  await sync(initPod);
  expect(runs()).toEqual(['init1 0 exited', 'init1 1 running']);
});

it('a pod that has ended keeps the runs of its init containers, which its status shows', async () => {
  const pod = { ...initPod, spec: { ...initPod.spec, restartPolicy: 'Never' } };
  await sync(pod);
  exit('init1');
  await sync(pod);
  exit('foo1');
  exit('foo2');
  expect(await sync(pod)).toBeUndefined();
  expect(runtime.pod('12345678')?.sandboxes).toMatchObject([{ ready: false }]);
  expect(runs()).toEqual(['foo1 0 exited', 'foo2 0 exited', 'init1 0 exited']);
});

it('an init container that cannot be removed is logged, and the sync goes on', async () => {
  await sync(initPod);
  exit('init1', 1);
  await sync(initPod);
  exit('init1', 1);
  runtime.fail({ method: 'removeContainer' }, 'busy');
  await clock.advanceAsync(60_000);
  expect(await sync(initPod)).toBeUndefined();
  expect(logger.warnings).toMatchObject([
    {
      message: 'Failed to remove an exited init container',
      fields: { pod: 'new/foo', container: 'init1', reason: 'busy' },
    },
  ]);
  expect(runs()).toContain('init1 2 running');
});

const initPod = podOf({
  restartPolicy: 'Always',
  initContainers: [container('init1', 'init')],
  containers: [container('foo1'), container('foo2', 'alpine')],
});

describe('TestSyncPodWithInitContainers', () => {
  it('init container, then the regular ones; a new sandbox begins with the init container again', async () => {
    await sync(initPod);
    expect(runs()).toEqual(['init1 0 running']);
    await sync(initPod);
    expect(runs()).toEqual(['init1 0 running']);
    exit('init1');
    await sync(initPod);
    expect(runs()).toEqual(['foo1 0 running', 'foo2 0 running', 'init1 0 exited']);
    await runtime.stopPodSandbox!(runtime.pod('12345678')!.sandboxes![0]!.id);
    await sync(initPod);
    // The first run was removed, and the regular containers were killed with their sandbox.
    expect(runs()).toEqual(['foo1 0 exited', 'foo2 0 exited', 'init1 1 running']);
    expect(messages).toContain('Normal SandboxChanged: Pod sandbox changed, it will be killed and re-created.');
  });

  it('no run of the lost sandbox is left, not even one that was running', async () => {
    await sync(initPod);
    runtime.setSandbox(runtime.pod('12345678')!.sandboxes![0]!.id, { ready: false });
    const syncing = sync(initPod);
    await clock.advanceAsync(60_000);
    expect(await syncing).toBeUndefined();
    expect(runs()).toEqual(['init1 1 running']);
  });
});

describe('TestSyncPodWithRestartAllContainers', () => {
  it('removes all containers, and starts with the init container again', async () => {
    await sync(initPod);
    exit('init1');
    await sync(initPod);
    exit('foo2', 42);
    expect(await sync(initPod, true)).toBeUndefined();
    expect(runs()).toEqual([]);
    await sync(initPod);
    expect(runs()).toEqual(['init1 0 running']);
  });
});

describe('containers that are to be removed for a restart of all', () => {
  const names = () => runtime.pod('12345678')!.containers.map(({ name }) => name);
  beforeEach(async () => {
    await sync(initPod);
    exit('init1');
    await sync(initPod);
    exit('foo2', 42);
  });

  it('stay if one cannot be removed, until the next sync', async () => {
    const before = names();
    runtime.fail({ method: 'removeContainer' }, 'busy');
    expect((await sync(initPod, true))?.message).toMatch(
      /^failed to "RemoveContainer" for "\w+" with RemoveContainerError: "busy"$/,
    );
    expect(names()).toEqual(before);
    expect(await sync(initPod, true)).toBeUndefined();
    expect(runs()).toEqual([]);
  });

  it('are killed before, and stay if that fails', async () => {
    runtime.fail({ method: 'stopContainer' }, 'busy');
    expect((await sync(initPod, true))?.message).toBe(
      'failed to "RemoveContainer" for "foo1" with KillContainerError: "busy"',
    );
    expect(messages).toContain('Normal Killing: killing');
    expect(runs()).toContain('foo1 0 running');
  });
});

describe('containers whose spec has changed', () => {
  const changed = podOf({ containers: [container('foo1', 'alpine'), container('foo2', 'init')] });
  const stopCalls = () => runtime.callsOf({ method: 'stopContainer' }).map((call) => call.container);
  beforeEach(() => sync(podOf({ containers: [container('foo1'), container('foo2')] })));

  it('are all killed and started again in one sync', async () => {
    const syncing = sync(changed);
    await clock.advanceAsync(60_000);
    expect(await syncing).toBeUndefined();
    expect(runs().filter((run) => run.endsWith('running'))).toEqual(['foo1 1 running', 'foo2 1 running']);
  });

  it('stay as they are from the first one on that cannot be killed', async () => {
    runtime.fail({ method: 'stopContainer' }, 'busy');
    expect((await sync(changed))?.message).toBe('failed to "KillContainer" for "foo1" with KillContainerError: "busy"');
    expect(stopCalls()).toEqual(['foo1']);
    expect(configs).toHaveLength(2);
  });
});

describe('the configuration of a container', () => {
  const ip = '10.0.0.1';
  const withHook = { ...container('foo1'), lifecycle: { postStart: { httpGet: { path: '/', port: 80 } } } };

  it('has the sandbox that was just created and its addresses, which the postStart hook uses, too', async () => {
    await sync(podOf({ containers: [withHook] }));
    const [sandbox] = runtime.pod('12345678')!.sandboxes!;
    expect(sandbox!.network!.ip).toBe(ip);
    expect(configs).toMatchObject([{ sandboxID: sandbox!.id, podIPs: [ip] }]);
    expect(requests).toEqual([`http://${ip}:80/`]);
  });

  it('has the addresses of the node in a pod with hostNetwork', async () => {
    const pod = podOf({ hostNetwork: true, containers: [withHook] });
    const runtimeStatus = { ...podStatusFromRuntime(pod, undefined, runtime), ips: ['192.168.0.1', 'fd00::1'] };
    const syncing = manager.syncPod(pod, runtimeStatus, inSync());
    await settle(clock);
    expect(syncError(await syncing)).toBeUndefined();
    expect(configs).toMatchObject([{ podIPs: ['192.168.0.1', 'fd00::1'] }]);
    expect(requests).toEqual(['http://192.168.0.1:80/']);
    // Its sandbox has no addresses of its own, for which the runtime would be asked.
    expect(runtime.callsOf({ method: 'getPod' })).toEqual([]);
  });

  it('has the addresses that podSandboxStatus shows, in a runtime with this method', async () => {
    const podSandboxStatus = async (id: string) => ({ id, ready: true, network: { ip: '10.9.8.7' } });
    Object.assign(runtime, { podSandboxStatus });
    await sync(podOf({ containers: [container('foo1')] }));
    expect(configs).toMatchObject([{ podIPs: ['10.9.8.7'] }]);
  });

  it('has no addresses if the sandbox has none', async () => {
    const getPod = runtime.getPod.bind(runtime);
    runtime.getPod = async (uid, options) => {
      const found = await getPod(uid, options);
      return found && { ...found, sandboxes: found.sandboxes!.map((sandbox) => ({ ...sandbox, network: undefined })) };
    };
    await sync(podOf({ containers: [container('foo1')] }));
    expect(configs).toHaveLength(1);
    expect(configs[0]).not.toHaveProperty('podIPs');
  });

  it('has the container that an ephemeral container targets', async () => {
    const pod = podOf({ containers: [container('foo1')] });
    await sync(pod);
    const { id } = runtime.container('12345678', 'foo1')!;
    const debug = { ...container('debug'), targetContainerName: 'foo1' };
    await sync({ ...pod, spec: { ...pod.spec, ephemeralContainers: [debug] } });
    expect(configs.map(({ container: { name }, targetContainerID }) => [name, targetContainerID])).toEqual([
      ['foo1', undefined],
      ['debug', id],
    ]);
    const lost = { ...container('other'), targetContainerName: 'nobody' };
    expect((await sync({ ...pod, spec: { ...pod.spec, ephemeralContainers: [debug, lost] } }))?.message).toBe(
      'failed to "StartContainer" for "other" with CreateContainerConfigError: "unable to find target container nobody"',
    );
  });
});

describe('a container that cannot be started', () => {
  const pod = podOf({ containers: [{ ...container('foo1'), image: 'missing' }] });

  it('because of its image has two events', async () => {
    runtime.fail({ method: 'pullImage' }, 'no route');
    expect((await sync(pod))?.message).toBe('failed to "StartContainer" for "foo1" with ErrImagePull: "no route"');
    expect(messages).toEqual([
      'Normal Pulling: Pulling image "missing"',
      'Warning Failed: Failed to pull image "missing": no route',
      'Warning Failed: Error: ErrImagePull',
    ]);
  });

  it('because the sync was aborted has none', async () => {
    const controller = new AbortController();
    runtime.delay({ method: 'pullImage' }, 60_000);
    const syncing = sync(pod, false, controller.signal);
    const failure = syncing.then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    await settle(clock);
    controller.abort(new Error('deleted'));
    expect(await failure).toBe('deleted');
    expect(messages).toEqual(['Normal Pulling: Pulling image "missing"']);
  });

  it('because of its postStart hook is killed, which is logged and an event', async () => {
    runtime.onExec(() => ({ exitCode: 3, stdout: '', stderr: 'no' }));
    const failing = { ...container('foo1'), lifecycle: { postStart: { exec: { command: ['warm-up'] } } } };
    const syncing = sync(podOf({ containers: [failing] }));
    await clock.advanceAsync(60_000);
    expect((await syncing)?.message).toMatch(/^failed to "StartContainer" for "foo1" with PostStartHookError: /);
    expect(messages.slice(-2)).toEqual([
      'Warning FailedPostStartHook: PostStartHook failed',
      'Normal Killing: FailedPostStartHook',
    ]);
    const fields = { pod: 'new/foo', container: 'foo1', reason: expect.stringContaining('exited with 3') };
    expect(logger.warnings).toMatchObject([{ message: 'postStart hook failed; killing the container', fields }]);
  });

  it('because it crashes again and again is retried when its back-off ends', async () => {
    const crashing = podOf({ containers: [container('foo1')] });
    runtime.script('foo1', { exitAfterMs: 1000, exitCode: 1 });
    await sync(crashing);
    await clock.advanceAsync(1000);
    await sync(crashing);
    await clock.advanceAsync(1000);
    const error = await sync(crashing);
    const { cause } = error!.cause as Error;
    expect(cause).toBeInstanceOf(BackOffError);
    expect(cause).toMatchObject({ message: 'CrashLoopBackOff', untilMs: clock.monotonicMs() + 10_000 });
  });
});

describe('TestSyncPodNoEventsInSteadyState', () => {
  it('a pod that runs as it should causes no events', async () => {
    const pod = podOf({ containers: [container('foo1')] });
    await sync(pod);
    expect(events).toEqual(['Pulled', 'Created', 'Started']);
    events = [];
    await sync(pod);
    expect(events).toEqual([]);
  });
});

describe('TestOnPodSandboxReadyInvocation', () => {
  it('OnPodSandboxReady succeeds: called once the new sandbox is ready, before images are pulled', async () => {
    const pod = podOf({ containers: [{ ...container('foo1'), image: 'missing' }] });
    runtime.delay({ method: 'pullImage' }, 60_000);
    const syncing = sync(pod);
    await settle(clock);
    expect(sandboxesReady).toBe(1);
    await clock.advanceAsync(60_000);
    expect(await syncing).toBeUndefined();
    await sync(pod);
    expect(sandboxesReady).toBe(1);
  });

  it('not called when there is no sandbox', async () => {
    runtime.fail({ method: 'runPodSandbox' }, 'no network');
    expect((await sync(podOf({ containers: [container('foo1')] })))?.message).toContain('no network');
    expect(sandboxesReady).toBe(0);
    expect(messages).toEqual(['Warning FailedCreatePodSandBox: Failed to create pod sandbox: no network']);
  });

  it('not called when the pod cannot be prepared for its sandbox, which is then not created', async () => {
    Object.assign(runtime, { preparePod: () => Promise.reject(new Error('no cgroup')) });
    expect((await sync(podOf({ containers: [container('foo1')] })))?.message).toBe(
      'failed to "CreatePodSandbox" for "foo_new" with CreatePodSandboxError: "no cgroup"',
    );
    expect([sandboxesReady, runtime.calls]).toEqual([0, []]);
    expect(messages).toEqual(['Warning FailedCreatePodContainer: unable to ensure pod container exists: no cgroup']);
  });

  it('not called when the addresses of the sandbox cannot be read', async () => {
    runtime.fail({ method: 'getPod' }, 'no response');
    expect((await sync(podOf({ containers: [container('foo1')] })))?.message).toContain('no response');
    expect([sandboxesReady, configs]).toEqual([0, []]);
    expect(messages).toEqual(['Warning FailedPodSandBoxStatus: Unable to get pod sandbox status: no response']);
  });
});

describe('TestDoPodResizeAction', () => {
  const withResources = (limits: Record<string, string>, requests: Record<string, string>): ValidPod =>
    podOf({ containers: [{ ...container('foo1'), resources: { limits, requests } }] });
  const before = withResources({ cpu: '200m', memory: '200M' }, { cpu: '100m', memory: '100M' });
  const updates = () => runtime.callsOf({ method: 'updateContainerResources' }).map(({ resources }) => resources);

  it('TestUpdatePodContainerResources: memory first, with the present cpu; then cpu', async () => {
    await sync(before);
    const after = withResources({ cpu: '400m', memory: '400M' }, { cpu: '100m', memory: '200M' });
    expect(await sync(after)).toBeUndefined();
    expect(updates()).toEqual([
      { limits: { cpu: '200m', memory: '400M' }, requests: { cpu: '100m', memory: '200M' } },
      { limits: { cpu: '400m', memory: '400M' }, requests: { cpu: '100m', memory: '200M' } },
    ]);
    expect(await sync(after)).toBeUndefined();
    expect(updates()).toHaveLength(2);
  });

  it('a resize that the runtime has applied stays recorded when the next update fails', async () => {
    await sync(before);
    const after = withResources({ cpu: '400m', memory: '400M' }, { cpu: '100m', memory: '100M' });
    runtime.fail({ method: 'updateContainerResources' }, 'busy');
    expect((await sync(after))?.message).toBe(
      'failed to "ResizePodInPlace" for "foo_new" with ErrResizePodInPlace: "busy"',
    );
    // The first one failed, so that nothing was changed; the next sync makes both.
    expect(await sync(after)).toBeUndefined();
    expect(updates()).toHaveLength(3);
  });

  it('a resize that was in progress when the agent ended is finished by the next agent, which has the same state', async () => {
    await sync(before);
    const after = withResources({ cpu: '200m', memory: '400M' }, { cpu: '100m', memory: '100M' });
    runtime.fail({ method: 'updateContainerResources' }, 'busy');
    await sync(after);
    manager = newManager();
    expect(
      actuatedResources.isPodResizeInProgress(after, podStatusFromRuntime(after, runtime.pod('12345678'), runtime)),
    ).toBe(true);
    await sync(after);
    expect(updates()).toHaveLength(2);
  });

  it('a removed limit is omitted', async () => {
    await sync(before);
    await sync(withResources({ memory: '200M' }, { cpu: '100m', memory: '100M' }));
    expect(updates()).toEqual([{ limits: { memory: '200M' }, requests: { cpu: '100m', memory: '100M' } }]);
  });
});
