import { beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { ContainerRuntime, RuntimeEvent } from 'kubelet-status-manager/agent';
import { computePodActions } from '../../src/agent/actions/compute-pod-actions.ts';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import { hashContainer } from '../../src/node/runtime/hash-container.ts';
import { noProbeResults } from '../../src/node/probes/probe-results.ts';
import { podStatusFromRuntime } from '../../src/agent/pleg/pod-status-from-runtime.ts';
import { FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';

const pod: ValidPod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
  spec: { restartPolicy: 'OnFailure', containers: [{ name: 'app', image: 'app:1' }] },
};
const start = Date.parse('2026-01-02T03:04:05Z');

let clock: FakeClock;
let runtime: FakeContainerRuntime;
beforeEach(() => {
  clock = new FakeClock(start);
  runtime = new FakeContainerRuntime({ clock });
});

const create = (name = 'app', attempt = 0): Promise<string> =>
  runtime.createContainer({ pod, container: { name, image: 'app:1' }, attempt, hash: 'hash' });

async function run(name = 'app'): Promise<string> {
  const id = await create(name);
  await runtime.startContainer(id);
  return id;
}

describe('containers', () => {
  it('containers are created, run until they are stopped, and show their configuration', async () => {
    const id = await create();
    expect(runtime.container('uid', 'app')).toMatchObject({ id, state: 'created', attempt: 0, hash: 'hash' });
    await runtime.startContainer(id);
    clock.advance(3_600_000);
    expect(runtime.container('uid', 'app')).toMatchObject({ state: 'running', createdAtMs: start, startedAtMs: start });
  });

  it('containers follow their script, run by run', async () => {
    runtime.script('app', { exitAfterMs: 1000, exitCode: 1, message: 'no' }, { exitAfterMs: 2000 });
    await run();
    clock.advance(1000);
    expect(runtime.container('uid', 'app')).toMatchObject({
      state: 'exited',
      exitCode: 1,
      reason: 'Error',
      message: 'no',
      finishedAtMs: start + 1000,
    });
    await run();
    clock.advance(2000);
    expect(runtime.container('uid', 'app')).toMatchObject({ state: 'exited', exitCode: 0, reason: 'Completed' });
  });

  it.each([
    ['that ends when it is asked to', {}, 30, 0, 143],
    ['that takes its time', { stopMs: 5000, stopExitCode: 0 }, 30, 5000, 0],
    ['that ignores the request', { stopMs: Infinity }, 30, 30_000, 137],
    ['without a grace period', { stopExitCode: 0 }, 0, 0, 137],
  ])('stopping a container %s', async (_, script, graceSeconds, tookMs, exitCode) => {
    runtime.script('app', script);
    const id = await run();
    let isStopped = false;
    const stopped = runtime.stopContainer(id, graceSeconds).then(() => (isStopped = true));
    await clock.advanceAsync(Math.max(0, tookMs - 1));
    expect(isStopped).toBe(tookMs === 0);
    await clock.advanceAsync(1);
    await stopped;
    expect(runtime.container('uid', 'app')).toMatchObject({ state: 'exited', exitCode, finishedAtMs: start + tookMs });
    expect(clock.pendingTimers).toBe(0);
  });

  it('a container that exits during its grace period counts as stopped', async () => {
    runtime.script('app', { stopMs: Infinity, exitAfterMs: 2000 });
    const id = await run();
    const stopped = runtime.stopContainer(id, 30);
    await clock.advanceAsync(2000);
    await stopped;
    expect(runtime.container('uid', 'app')).toMatchObject({ state: 'exited', exitCode: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('stopping, removing and exiting a container that is gone does nothing', async () => {
    const id = await run();
    runtime.exit(id, { exitCode: 3 });
    await runtime.stopContainer(id, 30);
    expect(runtime.container('uid', 'app')).toMatchObject({ exitCode: 3 });
    await runtime.removeContainer(id);
    await runtime.removeContainer(id);
    await runtime.stopContainer(id, 30);
    expect(await runtime.listPods()).toEqual([]);
    expect(() => runtime.exit(id)).toThrow('not found');
  });

  it('commands return the scripted result, and time out', async () => {
    const id = await run();
    expect(await runtime.execSync(id, ['true'], 1000)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    runtime.onExec((command) => ({ exitCode: 1, stdout: command.join(' '), stderr: '' }));
    expect(await runtime.execSync(id, ['a', 'b'], 1000)).toMatchObject({ exitCode: 1, stdout: 'a b' });
    runtime.onExec(() => new Promise(() => {}));
    const result = runtime.execSync(id, ['sleep'], 1000).catch(String);
    await clock.advanceAsync(1000);
    expect(await result).toContain('timed out after 1000 ms');
    runtime.exit(id);
    await expect(runtime.execSync(id, ['true'], 1000)).rejects.toThrow('not running');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('sandboxes and images', () => {
  it('stopping a sandbox kills its containers, removing it removes them', async () => {
    const sandboxID = await runtime.runPodSandbox!({ pod, attempt: 0 });
    const id = await runtime.createContainer({
      pod,
      container: pod.spec!.containers![0]!,
      attempt: 0,
      hash: '',
      sandboxID,
    });
    await runtime.startContainer(id);
    await runtime.stopPodSandbox!(sandboxID);
    expect(runtime.pod('uid')).toMatchObject({
      sandboxes: [{ id: sandboxID, ready: false }],
      containers: [{ state: 'exited', exitCode: 137 }],
    });
    await runtime.removePodSandbox!(sandboxID);
    await runtime.removePodSandbox!(sandboxID);
    expect(runtime.pod('uid')).toBeUndefined();
  });

  it('images exist after they are pulled', async () => {
    expect(await runtime.imageRef!('app:1')).toBeUndefined();
    expect(await runtime.pullImage!('app:1', pod)).toBe('sha256:app:1');
    expect(await runtime.imageRef!('app:1')).toBe('sha256:app:1');
  });

  it('a runtime without sandboxes, images and events does not have their methods', () => {
    const bare: ContainerRuntime = new FakeContainerRuntime({ clock, sandboxes: false, images: false, events: false });
    const { runPodSandbox, stopPodSandbox, removePodSandbox, pullImage, imageRef, subscribe } = bare;
    expect([runPodSandbox, stopPodSandbox, removePodSandbox, pullImage, imageRef, subscribe]).toEqual(
      Array.from({ length: 6 }),
    );
  });
});

describe('faults of the runtime', () => {
  it('calls fail as often as planned, without effect', async () => {
    runtime.fail({ method: 'createContainer', container: 'app' }, 'no space left', 2);
    await expect(create()).rejects.toThrow('no space left');
    await create('other');
    await expect(create()).rejects.toThrow('no space left');
    await create();
    expect(runtime.callsOf({ method: 'createContainer' }).map(({ container }) => container)).toEqual([
      'app',
      'other',
      'app',
      'app',
    ]);
    expect(runtime.pod('uid')!.containers).toHaveLength(2);
  });

  it('calls are delayed on the clock, and reject when they are aborted', async () => {
    runtime.delay({ method: 'getPod' }, 500, 2);
    const found = runtime.getPod('uid');
    await clock.advanceAsync(500);
    expect(await found).toBeUndefined();
    const controller = new AbortController();
    const aborted = runtime.getPod('uid', { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toThrow('aborted');
    await expect(runtime.getPod('uid', { signal: controller.signal })).rejects.toThrow('aborted');
    expect(clock.pendingTimers).toBe(0);
  });

  it('states are set without an event, and exits have one', async () => {
    const events: RuntimeEvent[] = [];
    const unsubscribe = runtime.subscribe!((event) => events.push(event));
    const id = await run();
    runtime.setContainer(id, { state: 'unknown' });
    expect(runtime.container('uid', 'app')?.state).toBe('unknown');
    runtime.setContainer(id, { state: 'running' });
    runtime.exit(id);
    unsubscribe();
    await runtime.removeContainer(id);
    expect(events).toEqual([
      { type: 'created', podUID: 'uid', containerID: id },
      { type: 'started', podUID: 'uid', containerID: id },
      { type: 'stopped', podUID: 'uid', containerID: id },
    ]);
  });

  it('pods of an earlier agent exist', async () => {
    runtime.put({
      uid: 'old',
      name: 'old',
      namespace: 'default',
      sandboxes: [{ id: 'sb', ready: true }],
      containers: [{ id: 'fake://c', name: 'app', sandboxID: 'sb', state: 'running', createdAtMs: 1 }],
    });
    runtime.setSandbox('sb', { ready: false });
    expect(await runtime.getPod('old')).toMatchObject({ sandboxes: [{ id: 'sb', ready: false }] });
    await runtime.stopContainer('fake://c', 0);
    expect(runtime.container('old', 'app')).toMatchObject({ state: 'exited', exitCode: 137 });
  });
});

/** Carries out what `computePodActions` decides, as a kit will, without back-off. */
async function syncPod(subject: ValidPod): Promise<void> {
  const uid = subject.metadata.uid;
  const actions = computePodActions(
    subject,
    podStatusFromRuntime(subject, await runtime.getPod(uid), runtime),
    noProbeResults,
  );
  let { sandboxID } = actions;
  if (actions.killPod && sandboxID !== '') await runtime.stopPodSandbox?.(sandboxID);
  for (const { containerID } of actions.containersToKill) await runtime.stopContainer(containerID, 30);
  if (actions.createSandbox) sandboxID = await runtime.runPodSandbox!({ pod: subject, attempt: actions.attempt });
  for (const container of [...actions.initContainersToStart, ...actions.containersToStart]) {
    const attempt = (runtime.container(uid, container.name)?.attempt ?? -1) + 1;
    const hash = hashContainer(container);
    await runtime.startContainer(await runtime.createContainer({ pod: subject, container, attempt, hash, sandboxID }));
  }
}

describe('with the decisions of the kit', () => {
  it('a pod with an init container fails once, is restarted and completes', async () => {
    const subject: ValidPod = { ...pod, spec: { ...pod.spec, initContainers: [{ name: 'init', image: 'init:1' }] } };
    runtime.script('init', { exitAfterMs: 1000 });
    runtime.script('app', { exitAfterMs: 1000, exitCode: 1 }, { exitAfterMs: 1000 });
    const status = () =>
      generatePodStatus(subject, { runtimeStatus: podStatusFromRuntime(subject, runtime.pod('uid'), runtime) });
    const phases: unknown[] = [];
    for (let round = 0; round < 4; round++) {
      await syncPod(subject);
      phases.push(status().phase);
      clock.advance(1000);
    }
    expect(phases).toEqual(['Pending', 'Running', 'Running', 'Succeeded']);
    expect(status()).toMatchObject({
      phase: 'Succeeded',
      initContainerStatuses: [{ ready: true, state: { terminated: { exitCode: 0 } } }],
      containerStatuses: [
        { restartCount: 1, state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 1 } } },
      ],
    });
    expect(runtime.callsOf({ method: 'createContainer' }).map(({ container }) => container)).toEqual([
      'init',
      'app',
      'app',
    ]);
  });

  it('a changed image replaces a running container', async () => {
    await syncPod(pod);
    await syncPod({ ...pod, spec: { ...pod.spec, containers: [{ name: 'app', image: 'app:2' }] } });
    expect(runtime.pod('uid')!.containers.map(({ image, state, attempt }) => [image, state, attempt])).toEqual([
      ['app:2', 'running', 1],
      ['app:1', 'exited', 0],
    ]);
  });
});
