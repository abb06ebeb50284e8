import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, ContainerStatus, Pod, PodSpec } from 'kubelet-status-manager';
import { fault } from 'kubelet-status-manager/testing';
import { TestCluster } from './test-cluster.ts';

const app: Container = { name: 'app', image: 'app:1' };
const podOf = (spec: Partial<PodSpec> = {}, name = 'web'): Pod => ({
  metadata: { name },
  spec: { containers: [app], ...spec },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const containerOf = (name = 'web'): ContainerStatus | undefined => cluster.status(name)?.containerStatuses?.[0];
const conditionOf = (type: string, name = 'web'): string | undefined =>
  cluster.status(name)?.conditions?.find((condition) => condition.type === type)?.status;
describe('the life of a plain pod', () => {
  it('runs, and is deleted gracefully', async () => {
    const agent = await cluster.startAgent();
    await agent.whenReady();
    const uid = await cluster.create(podOf());
    await cluster.advance(1000);
    expect(cluster.status('web')).toMatchObject({ phase: 'Running', hostIP: '10.1.2.3' });
    expect(cluster.starts(uid, 'app')).toBe(1);

    cluster.server.pods.delete('default', 'web');
    await cluster.advance(1000);
    expect(cluster.pod('web')).toBeUndefined();
    expect(cluster.runtime.callsOf({ method: 'stopContainer', podUID: uid })).toHaveLength(1);
    await cluster.advance(4000);
    expect(agent.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
    expect(cluster.podEvents()).toEqual([
      'web: Pulling',
      'web: Pulled',
      'web: Created',
      'web: Started',
      'web: Killing',
    ]);
    expect(cluster.logger.warnings).toEqual([]);
    expect(cluster.logger.errors).toEqual([]);
  });

  it('a job completes, and its pod is deleted later', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', { exitAfterMs: 5000 });
    const uid = await cluster.create(podOf({ restartPolicy: 'Never' }));
    await cluster.advance(10_000);
    expect(cluster.status('web')?.phase).toBe('Succeeded');
    cluster.server.pods.delete('default', 'web');
    await cluster.advance(4000);
    expect(cluster.pod('web')).toBeUndefined();
    expect(cluster.starts(uid, 'app')).toBe(1);
  });

  it('a pod that is deleted by force, and created again under its name, is another pod', async () => {
    const agent = await cluster.startAgent();
    const first = await cluster.create(podOf());
    await cluster.advance(1000);
    cluster.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    const second = await cluster.create(podOf());
    await cluster.advance(6000);
    expect(cluster.runtime.container(first, 'app')?.state).not.toBe('running');
    expect(cluster.runtime.container(second, 'app')).toMatchObject({ state: 'running' });
    expect(cluster.status('web')?.phase).toBe('Running');
    expect(agent.inspect().statusManager.pods.map(({ podUID }) => podUID)).toEqual([second]);
  });

  it('activeDeadlineSeconds: the pod fails with DeadlineExceeded', async () => {
    await cluster.startAgent();
    await cluster.create(podOf({ activeDeadlineSeconds: 30 }));
    await cluster.advance(28_000);
    expect(cluster.status('web')?.phase).toBe('Running');
    await cluster.advance(7000);
    expect(cluster.status('web')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  it('canAdmitPod: a pod that is refused fails with the reason and is never started, and is deleted when it should be', async () => {
    const asked: string[] = [];
    const agent = await cluster.startAgent({
      canAdmitPod: ({ pod, otherPods, operation }) => {
        asked.push(`${operation} ${pod.metadata?.name}: ${otherPods.map(({ metadata }) => metadata?.name).join()}`);
        return pod.metadata?.name === 'big'
          ? { admit: false, reason: 'OutOfcpu', message: 'there is not that much' }
          : { admit: true };
      },
    });
    // Until the first housekeeping, containers of an earlier run could be running.
    await cluster.advance(2000);
    await cluster.create(podOf());
    const uid = await cluster.create(podOf({}, 'big'));
    await cluster.advance(3000);
    expect(asked).toEqual(['add web: ', 'add big: web']);
    expect(cluster.status('big')).toMatchObject({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'Pod was rejected: there is not that much',
    });
    expect(cluster.podEvents()).toContain('big: OutOfcpu');
    expect(cluster.runtime.pod(uid)).toBeUndefined();
    expect(agent.inspect().podWorkers).toHaveLength(1);

    cluster.server.pods.delete('default', 'big');
    await cluster.advance(5000);
    expect(cluster.pod('big')).toBeUndefined();
    expect(cluster.starts(uid, 'app')).toBe(0);
  });

  it('canAdmitPod that returns a promise refuses the pod, and an event recorder that throws affects nothing', async () => {
    const recorded: string[] = [];
    await cluster.startAgent({
      canAdmitPod: ({ pod }) =>
        pod.metadata?.name === 'late' ? (Promise.resolve({ admit: true }) as never) : { admit: true },
      eventRecorder: {
        event: ({ reason }) => {
          recorded.push(reason);
          throw new Error('full');
        },
      },
    });
    await cluster.advance(2000);
    await cluster.create(podOf());
    await cluster.create(podOf({}, 'late'));
    await cluster.advance(2000);
    expect(cluster.status('late')).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(cluster.status('web')?.phase).toBe('Running');
    expect(recorded).toContain('Started');
    expect(cluster.logger.errors).toContainEqual({
      level: 'error',
      message: 'User callback threw',
      fields: expect.objectContaining({ method: 'eventRecorder.event', reason: 'full' }),
    });
  });

  it('canAdmitPod that throws refuses the pod with UnexpectedAdmissionError', async () => {
    await cluster.startAgent({
      canAdmitPod: () => {
        throw new Error('the device is gone');
      },
    });
    await cluster.create(podOf());
    await cluster.advance(12_000);
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message: 'Pod was rejected: the device is gone',
    });
  });
});

describe('probes', () => {
  it('readiness: a result becomes the condition Ready', async () => {
    await cluster.startAgent();
    let isReady = false;
    cluster.runtime.onExec(() => ({ exitCode: isReady ? 0 : 1, stdout: '', stderr: '' }));
    const readinessProbe = { exec: { command: ['ready'] }, periodSeconds: 5, failureThreshold: 2 };
    await cluster.create(podOf({ containers: [{ ...app, readinessProbe }] }));
    await cluster.advance(6000);
    expect(containerOf()).toMatchObject({ ready: false, started: true });
    expect(conditionOf('Ready')).toBe('False');

    isReady = true;
    await cluster.advance(5000);
    expect(conditionOf('Ready')).toBe('True');
    isReady = false;
    await cluster.advance(5000);
    expect(conditionOf('Ready')).toBe('True');
    await cluster.advance(5000);
    expect(conditionOf('Ready')).toBe('False');
    expect(cluster.podEvents()).toContain('web: Unhealthy');
  });

  it('startup: the container has started when its probe says so, and readiness follows', async () => {
    await cluster.startAgent();
    let hasStarted = false;
    cluster.runtime.onExec(() => ({ exitCode: hasStarted ? 0 : 1, stdout: '', stderr: '' }));
    const startupProbe = { exec: { command: ['started'] }, periodSeconds: 2, failureThreshold: 30 };
    await cluster.create(podOf({ containers: [{ ...app, startupProbe }] }));
    await cluster.advance(5000);
    expect(containerOf()).toMatchObject({ started: false, ready: false });
    hasStarted = true;
    await cluster.advance(3000);
    expect(containerOf()).toMatchObject({ started: true, ready: true });
    expect(conditionOf('Ready')).toBe('True');
  });

  it('liveness: a container that fails is killed and started again, later each time', async () => {
    await cluster.startAgent();
    cluster.runtime.onExec(() => ({ exitCode: 1, stdout: '', stderr: 'broken' }));
    const livenessProbe = {
      exec: { command: ['live'] },
      periodSeconds: 1,
      failureThreshold: 1,
      initialDelaySeconds: 5,
    };
    const uid = await cluster.create(
      podOf({ terminationGracePeriodSeconds: 1, containers: [{ ...app, livenessProbe }] }),
    );
    await cluster.advance(60_000);
    const starts = cluster.startTimes(uid, 'app');
    const gaps = starts.slice(1).map((time, i) => Math.round(time - starts[i]!));
    // A kill and the start after it are one sync, which knows only of the exits before the kill: the first
    // two restarts are immediate, the third one comes 10 s after the exit. As in the kubelet.
    expect(gaps.slice(0, 3)).toEqual([5, 5, 16]);
    expect(containerOf()).toMatchObject({ restartCount: starts.length - 1 });
    expect(cluster.podEvents()).toContain('web: Unhealthy');
    expect(cluster.podEvents()).toContain('web: BackOff');
  });
});

describe('the API server does not respond for a minute', () => {
  it('changes in the meantime are written afterwards, and containers keep running', async () => {
    const agent = await cluster.startAgent();
    cluster.runtime.script('app', { exitAfterMs: 20_000, exitCode: 3 }, {});
    const uid = await cluster.create(podOf());
    await cluster.advance(1000);
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    cluster.server.faults.now({ verb: 'watch' }, fault.cut());
    await cluster.advance(60_000);
    expect(cluster.starts(uid, 'app')).toBe(2);
    expect(cluster.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
    expect(agent.inspect()).toMatchObject({
      node: { leaseFailingSince: expect.any(String) },
      statusManager: { outage: expect.any(Object) },
    });
    expect(cluster.logger.warnings.map(({ message }) => message)).toContain('Renewing the node Lease failed');

    outage.cancel();
    await cluster.advance(40_000);
    expect(cluster.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 1 }] });
    expect(agent.inspect().node?.leaseFailingSince).toBeUndefined();
  });

  it('from the start: static state waits, and the agent registers when the API server is there', async () => {
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    const agent = await cluster.startAgent();
    cluster.server.pods.create({
      ...podOf(),
      metadata: { name: 'web', namespace: 'default' },
      spec: { nodeName: 'node-a', containers: [app] },
    });
    await cluster.advance(60_000);
    expect(agent.inspect()).toMatchObject({
      syncLoop: { waitingForSources: ['api'] },
      node: { registered: false, statusFailingSince: expect.any(String) },
    });
    expect(cluster.logger.warnings.map(({ message }) => message)).toContain('Registering the Node failed');
    outage.cancel();
    await cluster.advance(10_000);
    await agent.whenReady();
    await cluster.advance(2000);
    expect(cluster.status('web')?.phase).toBe('Running');
  });
});

describe('the wall clock is set back by a day', () => {
  it('a container that restarts after that is not started twice', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    cluster.clock.setWallTime(cluster.clock.now() - 86_400_000);
    cluster.runtime.exit(cluster.runtime.container(uid, 'app')!.id, { exitCode: 1 });
    await cluster.advance(60_000);
    expect(cluster.starts(uid, 'app')).toBe(2);
    expect(containerOf()).toMatchObject({ restartCount: 1, state: { running: {} } });
  });
});

describe('the runtime does not respond', () => {
  it('no pod is synced, a warning is logged, and the Node is not ready until the runtime recovers', async () => {
    const agent = await cluster.startAgent();
    await cluster.create(podOf());
    await cluster.advance(1000);
    cluster.runtime.fail({ method: 'listPods' }, 'connection refused', Number.POSITIVE_INFINITY);
    await cluster.advance(200_000);
    expect(agent.inspect().syncLoop).toMatchObject({
      runtimeErrors: [expect.stringMatching(/^PLEG is not healthy: pleg was last seen active/)],
      failingSince: expect.any(String),
    });
    expect(cluster.logger.warnings.map(({ message }) => message)).toContain('Syncing pods failed');
    expect(cluster.nodeCondition('Ready')).toMatchObject({ status: 'False', reason: 'KubeletNotReady' });
  });
});
