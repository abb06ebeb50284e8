import { beforeEach, describe, expect, it } from 'vitest';
import type { Container, ValidPod, PodSpec } from 'kubelet-status-manager';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { createCrashLoopBackOff } from '../../../src/agent/back-off/crash-loop-back-off.ts';
import { createHandlerRunner } from '../../../src/agent/pod-workers/handler-runner.ts';
import { noProbeResults } from '../../../src/agent/prober/probe-results.ts';
import { podStatusFromRuntime } from '../../../src/agent/runtime/pod-status-from-runtime.ts';
import { FakeClock, FakeContainerRuntime, settle, silentLogger } from 'kubelet-status-manager/testing';
import { ActuatedResources } from '../../../src/agent/allocation/actuated-resources.ts';
import { RuntimeManager } from '../../../src/agent/pod-workers/runtime-manager.ts';
import { syncError } from '../../../src/agent/pod-workers/sync-result.ts';

let clock: FakeClock;
let runtime: FakeContainerRuntime;
let events: string[];
let sandboxesReady: number;
let actuatedState: MemoryState;
let actuatedResources: ActuatedResources;
let manager: RuntimeManager;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  runtime = new FakeContainerRuntime({ clock });
  for (const image of ['busybox', 'alpine', 'init']) runtime.images.add(image);
  events = [];
  sandboxesReady = 0;
  actuatedState = new MemoryState();
  manager = newManager();
});

function newManager(): RuntimeManager {
  actuatedResources = new ActuatedResources(actuatedState, silentLogger);
  return new RuntimeManager({
    ...{ runtime, clock, logger: silentLogger, actuatedResources },
    probeResults: noProbeResults,
    crashLoopBackOff: createCrashLoopBackOff(clock),
    handlerRunner: createHandlerRunner({ runtime, clock }),
    eventRecorder: { event: ({ reason }) => void events.push(reason) },
    onPodSandboxReady: ({ metadata }) => {
      const [sandbox] = runtime.pod(metadata.uid)!.sandboxes!;
      if (sandbox?.ready === true) sandboxesReady++;
    },
  });
}

const container = (name: string, image = 'busybox'): Container => ({ name, image, imagePullPolicy: 'IfNotPresent' });
const podOf = (spec: PodSpec): ValidPod => ({ metadata: { uid: '12345678', name: 'foo', namespace: 'new' }, spec });
async function sync(pod: ValidPod, restartAllContainers = false) {
  const runtimeStatus = podStatusFromRuntime(pod, runtime.pod('12345678'), runtime);
  const syncing = manager.syncPod(pod, runtimeStatus, { restartAllContainers, signal: new AbortController().signal });
  await settle(clock);
  return syncError(await syncing);
}
const runs = () =>
  (runtime.pod('12345678')?.containers ?? [])
    .map(({ name, attempt, state }) => `${name} ${attempt} ${state}`)
    .toSorted();
const exit = (name: string, exitCode = 0) => runtime.exit(runtime.container('12345678', name)!.id, { exitCode });

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
      undefined,
    );
    await clock.advanceAsync(60_000);
    expect(syncError(await killing)).toBeUndefined();
    expect(runs()).toEqual(['debug 0 exited', 'foo1 0 exited', 'foo2 0 exited']);
    expect(runtime.pod('12345678')?.sandboxes).toMatchObject([{ ready: false }]);
  });
});

describe('TestSyncPod', () => {
  it('creates a sandbox and starts all containers in it', async () => {
    expect(await sync(podOf({ containers: [container('foo1'), container('foo2', 'alpine')] }))).toBeUndefined();
    expect(runs()).toEqual(['foo1 0 running', 'foo2 0 running']);
    expect(runtime.pod('12345678')?.sandboxes).toMatchObject([{ ready: true, attempt: 0 }]);
  });
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
    expect(events).toContain('SandboxChanged');
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
    expect([sandboxesReady, events]).toEqual([0, ['FailedCreatePodSandBox']]);
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
