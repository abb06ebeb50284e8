import type { Container, Pod } from 'kubelet-status-manager';
import { FakeClock } from 'kubelet-status-manager/testing';
import { describe, expect, it } from 'vitest';
import { ContainerConfigError } from '../../../examples/node-agent/container-command.ts';
import { PodWorker } from '../../../examples/node-agent/pod-worker.ts';
import { FakeRuntime } from './fake-runtime.ts';

interface Given {
  readonly restartPolicy?: string;
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
  readonly status?: Pod['status'];
}

function makePod({ status, ...spec }: Given = {}): Pod {
  return {
    metadata: { namespace: 'default', name: 'web', uid: 'uid-1' },
    spec: { containers: [{ name: 'a' }], ...spec },
    ...(status && { status }),
  };
}

/** A worker that has been given its pod, with everything that is due now already done. */
async function startWorker(given: Given = {}) {
  const clock = new FakeClock();
  const runtime = new FakeRuntime();
  const pod = makePod(given);
  let changes = 0;
  const worker = new PodWorker(pod, {
    runtime,
    clock,
    crashLoopLimits: { baseMs: 10_000, maxMs: 300_000 },
    onChange: () => void changes++,
  });
  worker.update(pod);
  await clock.yieldToEventLoop();
  const settle = (): Promise<void> => clock.yieldToEventLoop();
  return {
    clock,
    runtime,
    pod,
    worker,
    settle,
    changes: () => changes,
    exit: async (name: string, exitCode: number) => {
      runtime.exit(name, exitCode);
      await settle();
    },
    requestDeletion: (gracePeriodSeconds: number) =>
      worker.update({
        ...pod,
        metadata: {
          ...pod.metadata,
          deletionTimestamp: '2000-01-01T00:00:30Z',
          deletionGracePeriodSeconds: gracePeriodSeconds,
        },
      }),
    status: (name: string) =>
      [...worker.initContainerStatuses, ...worker.containerStatuses].find((status) => status.name === name)!,
  };
}

describe('starting', () => {
  it('starts all regular containers together, running, started and ready', async () => {
    const { runtime, status } = await startWorker({ containers: [{ name: 'a', image: 'img' }, { name: 'b' }] });
    expect(runtime.takeActions()).toEqual(['start a#0', 'start b#0']);
    expect(status('a')).toEqual({
      name: 'a',
      image: 'img',
      imageID: '',
      containerID: 'fake://1',
      state: { running: { startedAt: '2000-01-01T00:00:00.000Z' } },
      lastState: {},
      ready: true,
      started: true,
      restartCount: 0,
    });
  });

  it('runs init containers one after the other, then the regular ones', async () => {
    const { runtime, exit, status } = await startWorker({ initContainers: [{ name: 'i1' }, { name: 'i2' }] });
    expect(runtime.takeActions()).toEqual(['start i1#0']);
    expect(status('a').state).toEqual({ waiting: { reason: 'PodInitializing' } });
    await exit('i1', 0);
    expect(status('i1').ready).toBe(true);
    await exit('i2', 0);
    expect(runtime.takeActions()).toEqual(['exit i1', 'start i2#0', 'exit i2', 'start a#0']);
  });

  it('keeps a sidecar running while later containers start', async () => {
    const { runtime, status } = await startWorker({
      initContainers: [{ name: 'side', restartPolicy: 'Always' }],
    });
    expect(runtime.takeActions()).toEqual(['start side#0', 'start a#0']);
    expect(status('side')).toMatchObject({ ready: true, started: true });
  });

  it('leaves a container that can never be started in waiting, and runs the others', async () => {
    const clock = new FakeClock();
    const runtime = new FakeRuntime();
    runtime.startErrors.set('a', new ContainerConfigError('no command'));
    const pod = makePod({ containers: [{ name: 'a' }, { name: 'b' }] });
    const worker = new PodWorker(pod, {
      runtime,
      clock,
      crashLoopLimits: { baseMs: 10_000, maxMs: 300_000 },
      onChange: () => {},
    });
    worker.update(pod);
    await clock.advanceAsync(600_000);
    expect(runtime.takeActions()).toEqual(['start a#0', 'start b#0']);
    expect(worker.containerStatuses.map(({ state }) => state)).toEqual([
      { waiting: { reason: 'CreateContainerConfigError', message: 'no command' } },
      { running: { startedAt: '2000-01-01T00:00:00.000Z' } },
    ]);
  });

  it('treats a failed start as a failed run', async () => {
    const { clock, runtime, exit, status } = await startWorker();
    runtime.startErrors.set('a', new Error('spawn nothing ENOENT'));
    await exit('a', 1);
    // The restart was immediate and has failed, so the next one has to wait.
    expect(runtime.takeActions()).toEqual(['start a#0', 'exit a', 'start a#1']);
    expect(status('a')).toMatchObject({
      restartCount: 1,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 128, reason: 'StartError', message: 'spawn nothing ENOENT' } },
    });
    expect(status('a').lastState.terminated).not.toHaveProperty('containerID');
    await clock.advanceAsync(10_000);
    expect(runtime.takeActions()).toEqual(['start a#2']);
  });
});

describe('restarting', () => {
  it('restarts immediately the first time, then after 10, 20, 40 … at most 300 seconds', async () => {
    const { clock, runtime, exit, status } = await startWorker();
    const waits: number[] = [];
    for (let restart = 1; restart <= 8; restart++) {
      await exit('a', 1);
      const startedBefore = clock.monotonicMs();
      while (status('a').state.waiting) await clock.advanceAsync(1_000);
      waits.push((clock.monotonicMs() - startedBefore) / 1000);
    }
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    expect(runtime.takeActions().filter((action) => action.startsWith('start')).length).toBe(9);
    expect(status('a').restartCount).toBe(8);
  });

  it('reports CrashLoopBackOff while it waits, with the end of the last run', async () => {
    const { exit, status } = await startWorker();
    await exit('a', 1);
    await exit('a', 3);
    expect(status('a')).toMatchObject({
      ready: false,
      restartCount: 1,
      state: {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: 'back-off 10s restarting failed container=a pod=default/web',
        },
      },
      lastState: { terminated: { exitCode: 3, reason: 'Error', containerID: 'fake://2' } },
    });
  });

  it('publishes the next restart count only when that run has started', async () => {
    const clock = new FakeClock();
    const runtime = new FakeRuntime();
    const pod = makePod();
    const published: string[] = [];
    const worker: PodWorker = new PodWorker(pod, {
      runtime,
      clock,
      crashLoopLimits: { baseMs: 10_000, maxMs: 300_000 },
      onChange: ({ containerStatuses: [status] }) =>
        void published.push(`${Object.keys(status!.state)[0]} ${status!.restartCount}`),
    });
    worker.update(pod);
    await clock.yieldToEventLoop();
    runtime.exit('a', 1);
    await clock.yieldToEventLoop();
    expect(published).toEqual(['waiting 0', 'running 0', 'terminated 0', 'running 1']);
  });

  it('resets the back-off after a run of more than twice its longest delay', async () => {
    const { clock, exit, status } = await startWorker();
    await exit('a', 1);
    await exit('a', 1);
    await clock.advanceAsync(10_000);
    await clock.advanceAsync(600_001);
    await exit('a', 1);
    expect(status('a')).toMatchObject({ restartCount: 3, state: { running: {} } });
    await exit('a', 1);
    expect(status('a').state.waiting?.message).toContain('back-off 10s ');
  });

  it.each([
    { restartPolicy: 'Always', exitCode: 0, restarts: true },
    { restartPolicy: 'Always', exitCode: 1, restarts: true },
    { restartPolicy: 'OnFailure', exitCode: 0, restarts: false },
    { restartPolicy: 'OnFailure', exitCode: 1, restarts: true },
    { restartPolicy: 'Never', exitCode: 0, restarts: false },
    { restartPolicy: 'Never', exitCode: 1, restarts: false },
  ])('$restartPolicy after exit code $exitCode: $restarts', async ({ restartPolicy, exitCode, restarts }) => {
    const { worker, exit, status } = await startWorker({ restartPolicy });
    await exit('a', exitCode);
    expect(status('a').restartCount).toBe(restarts ? 1 : 0);
    expect(worker.isTerminated).toBe(!restarts);
  });

  it('fails the pod when an init container has failed and is not restarted', async () => {
    const { runtime, worker, exit } = await startWorker({ restartPolicy: 'Never', initContainers: [{ name: 'i' }] });
    await exit('i', 1);
    expect(runtime.takeActions()).toEqual(['start i#0', 'exit i']);
    expect(worker.isTerminated).toBe(true);
  });

  it('does not run init containers again when a regular one is restarted', async () => {
    const { runtime, exit } = await startWorker({ initContainers: [{ name: 'i' }] });
    await exit('i', 0);
    await exit('a', 1);
    expect(runtime.takeActions()).toEqual(['start i#0', 'exit i', 'start a#0', 'exit a', 'start a#1']);
  });

  it('restarts a sidecar that ends while the others run', async () => {
    const { runtime, exit } = await startWorker({
      restartPolicy: 'Never',
      initContainers: [{ name: 'side', restartPolicy: 'Always' }],
    });
    await exit('side', 0);
    expect(runtime.takeActions()).toEqual(['start side#0', 'start a#0', 'exit side', 'start side#1']);
  });
});

describe('ending', () => {
  it('sends SIGTERM to the containers of a deleted pod, and SIGKILL after the grace period', async () => {
    const { clock, runtime, worker, exit, requestDeletion } = await startWorker();
    runtime.takeActions();
    requestDeletion(5);
    await clock.advanceAsync(4_999);
    expect(runtime.takeActions()).toEqual(['SIGTERM a']);
    await clock.advanceAsync(1);
    expect(runtime.takeActions()).toEqual(['SIGKILL a']);
    expect(worker.isTerminated).toBe(false);
    await exit('a', 137);
    expect(worker.isTerminated).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('restarts nothing in a deleted pod', async () => {
    const { runtime, worker, exit, requestDeletion } = await startWorker();
    requestDeletion(5);
    await exit('a', 1);
    expect(runtime.takeActions()).toEqual(['start a#0', 'SIGTERM a', 'exit a']);
    expect(worker.isTerminated).toBe(true);
  });

  it('accepts a shorter grace period that comes later, but not a longer one', async () => {
    const { clock, runtime, requestDeletion } = await startWorker();
    requestDeletion(30);
    requestDeletion(1);
    requestDeletion(60);
    await clock.advanceAsync(1_000);
    expect(runtime.takeActions()).toEqual(['start a#0', 'SIGTERM a', 'SIGKILL a']);
  });

  it('terminates a pod that waits for a restart immediately', async () => {
    const { clock, worker, exit, requestDeletion } = await startWorker();
    await exit('a', 1);
    await exit('a', 1);
    requestDeletion(30);
    expect(worker.isTerminated).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('shows how the last run ended when the pod is terminated in CrashLoopBackOff, which was once reported as lost with 137', async () => {
    const { worker, exit, status } = await startWorker();
    await exit('a', 1);
    await exit('a', 3);
    expect(status('a').state.waiting?.reason).toBe('CrashLoopBackOff');
    worker.terminate();
    expect(status('a')).toMatchObject({ state: { terminated: { exitCode: 3 } }, lastState: {} });
  });

  it('stops a container that was being started when the deletion was requested', async () => {
    const { runtime, worker, exit, requestDeletion, settle } = await startWorker();
    let openGate: () => void = () => {};
    runtime.startGate = new Promise((resolve) => {
      openGate = resolve;
    });
    await exit('a', 1);
    requestDeletion(30);
    expect(runtime.takeActions()).toEqual(['start a#0', 'exit a', 'start a#1']);
    expect(worker.isTerminated).toBe(false);
    openGate();
    await settle();
    expect(runtime.takeActions()).toEqual(['SIGTERM a']);
  });

  it('stops sidecars after the others, the last started first', async () => {
    const { runtime, worker, exit, requestDeletion } = await startWorker({
      initContainers: [
        { name: 's1', restartPolicy: 'Always' },
        { name: 's2', restartPolicy: 'Always' },
      ],
    });
    runtime.takeActions();
    requestDeletion(30);
    await exit('a', 0);
    await exit('s2', 0);
    await exit('s1', 0);
    expect(runtime.takeActions()).toEqual(['SIGTERM a', 'exit a', 'SIGTERM s2', 'exit s2', 'SIGTERM s1', 'exit s1']);
    expect(worker.isTerminated).toBe(true);
  });

  it('stops the sidecars of a pod whose regular containers have completed', async () => {
    const { runtime, exit, worker } = await startWorker({
      restartPolicy: 'OnFailure',
      initContainers: [{ name: 'side', restartPolicy: 'Always' }],
    });
    await exit('a', 0);
    expect(runtime.takeActions()).toEqual(['start side#0', 'start a#0', 'exit a', 'SIGTERM side']);
    await exit('side', 143);
    expect(worker.isTerminated).toBe(true);
  });

  it('keeps the reason of an eviction, but not for a pod that was already terminating', async () => {
    const eviction = { reason: 'Terminated', message: 'the node ends' };
    const evicted = await startWorker();
    evicted.worker.terminate({ eviction, maxGracePeriodSeconds: 2 });
    expect(evicted.worker.eviction).toEqual(eviction);
    await evicted.clock.advanceAsync(2_000);
    expect(evicted.runtime.takeActions()).toEqual(['start a#0', 'SIGTERM a', 'SIGKILL a']);

    const deleted = await startWorker();
    deleted.requestDeletion(30);
    deleted.worker.terminate({ eviction });
    expect(deleted.worker.eviction).toBeUndefined();
  });

  it('reports no change once it is terminated', async () => {
    const { worker, pod, changes, exit, requestDeletion } = await startWorker();
    requestDeletion(1);
    await exit('a', 0);
    const before = changes();
    worker.update(pod);
    worker.terminate();
    expect(changes()).toBe(before);
    await expect(worker.terminated).resolves.toBeUndefined();
  });
});

describe('a pod that an earlier agent ran', () => {
  const startedAt = '1999-12-31T23:00:00Z';

  it('reports containers that ran as lost, and restarts them by their policy', async () => {
    const { runtime, status } = await startWorker({
      status: {
        phase: 'Running',
        containerStatuses: [
          { name: 'a', state: { running: { startedAt } }, restartCount: 2, ready: true, started: true },
        ],
      },
    });
    expect(runtime.takeActions()).toEqual(['start a#3']);
    expect(status('a').lastState).toMatchObject({
      terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', startedAt },
    });
  });

  it('does not restart containers that have completed', async () => {
    const { runtime, worker, status } = await startWorker({
      restartPolicy: 'Never',
      status: {
        phase: 'Running',
        containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
      },
    });
    expect(runtime.takeActions()).toEqual([]);
    expect(status('a').state.terminated).toMatchObject({ exitCode: 0 });
    expect(worker.isTerminated).toBe(true);
  });

  it.each(['Succeeded', 'Failed'])('does not run a pod whose phase is %s', async (phase) => {
    const { runtime, worker } = await startWorker({ status: { phase } });
    expect(runtime.takeActions()).toEqual([]);
    expect(worker.isTerminated).toBe(true);
  });
});
