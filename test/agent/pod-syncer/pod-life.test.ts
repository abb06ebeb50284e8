import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Container, PodSpec, PodStatus, PodStatusInput, ValidPod } from 'kubelet-status-manager';
import { quantityValue } from '../../../src/kube/objects/quantity.ts';
import { podRequests } from '../../../src/status-manager/status/pod-resources.ts';
import { ContainerConfigError } from 'kubelet-status-manager/agent';
import { createHandlerRunner } from '../../../src/agent/pod-syncer/handler-runner.ts';
import { killPodNow } from '../../../src/node/pod-workers/kill-pod-now.ts';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import type { PodAdmitHandler } from '../../../src/node/allocation/pod-admit-handler.ts';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { TestAgent } from './test-agent.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

const app: Container = { name: 'app', image: 'app:1' };
const podOf = (spec: PodSpec = {}, uid = 'uid-1', name = 'web'): ValidPod => ({
  metadata: { uid, name, namespace: 'ns' },
  spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [app], ...spec },
});
const sidecar = (name: string): Container => ({ name, image: 'sidecar:1', restartPolicy: 'Always' });

const noEvents = { event: () => {} };

let agent: TestAgent;
beforeEach(() => {
  agent = new TestAgent();
});

async function evict(podStatusFn: (status: PodStatusInput) => PodStatusInput): Promise<void> {
  const { workers: podWorkers, clock } = agent;
  const { signal } = new AbortController();
  const killed = killPodNow(agent.pod('ns', 'web'), {
    ...{ signal, podWorkers, clock, eventRecorder: noEvents, evict: true, podStatusFn },
  });
  await agent.advance(3000);
  await killed;
}

const isFinished = (uid = 'uid-1'): boolean => agent.workers.statuses.shouldPodBeFinished(uid);
const waiting = (name = 'web') => agent.status(name)?.containerStatuses?.[0]?.state?.waiting;
const stops = () =>
  agent.runtime.callsOf({ method: 'stopContainer' }).map((call) => [call.container, call.gracePeriodSeconds]);

describe('the life of a plain pod', () => {
  it('runs to completion: Pending, Running, Succeeded; then it is done', async () => {
    agent.runtime.script('app', { exitAfterMs: 5000, message: 'bye' });
    await agent.create(podOf({ restartPolicy: 'Never' }));
    await agent.advance(10_000);
    expect(agent.history('uid-1')).toEqual([
      'new: ',
      'Pending: app ContainerCreating',
      'Running: app running',
      // The phase waits until no container can run: podDeletionSafety.
      'Running: app exit 0',
      'Succeeded: app exit 0',
    ]);
    expect(agent.status('web')?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      reason: 'Completed',
      message: 'bye',
    });
    expect(agent.runtime.calls.map(({ method }) => method).filter((method) => method !== 'getPod')).toEqual([
      'runPodSandbox',
      'imageRef',
      'pullImage',
      'createContainer',
      'startContainer',
      'stopPodSandbox',
    ]);
    expect(isFinished()).toBe(true);
    expect(agent.workers.statuses.couldHaveRunningContainers('uid-1')).toBe(false);
    expect(agent.eventReasons('app')).toEqual(['Pulling', 'Pulled', 'Created', 'Started']);
  });

  it('the order of the conditions stays the same when the sandbox becomes ready', async () => {
    const orders = new Set<string>();
    agent.client.subscribe(({ pod }) => {
      const { conditions } = (pod.status ?? {}) as { conditions?: { type: string }[] };
      if (conditions !== undefined) orders.add(conditions.map(({ type }) => type).join(' '));
    });
    await agent.create(podOf());
    await agent.advance(5_000);
    expect([...orders]).toEqual(['PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled']);
  });

  it('is ready to start containers as soon as its sandbox is, while its images are still pulled', async () => {
    agent.runtime.delay({ method: 'pullImage' }, 60_000);
    const { metadata, spec } = podOf();
    await agent.create({ metadata: { ...metadata, generation: 3 }, spec });
    const condition = (type: string) => agent.status('web')?.conditions?.filter((each) => each.type === type);
    expect(agent.status('web')?.phase).toBe('Pending');
    expect(condition('PodReadyToStartContainers')).toMatchObject([{ status: 'True', observedGeneration: 3 }]);
    expect(condition('PodScheduled')).toMatchObject([{ status: 'True' }]);
    expect(condition('Ready')).toMatchObject([{ status: 'False' }]);
    expect(agent.status('web')?.conditions).toHaveLength(5);
  });

  it('runs to completion in a runtime without sandboxes, images and events', async () => {
    agent = new TestAgent({ runtimeOptions: { sandboxes: false, images: false, events: false } });
    agent.runtime.script('app', { exitAfterMs: 5000, exitCode: 3 });
    await agent.create(podOf({ restartPolicy: 'Never' }));
    // Without events the pod is looked at again because its sync has started something.
    expect(agent.status('web')?.phase).toBe('Running');
    await agent.advance(70_000);
    expect(agent.history('uid-1').at(-1)).toBe('Failed: app exit 3');
    expect(isFinished()).toBe(true);
  });

  it('a lost sandbox is replaced, and the containers start in the new one', async () => {
    await agent.create(podOf());
    const [sandbox] = agent.runtime.pod('uid-1')!.sandboxes!;
    agent.runtime.setSandbox(sandbox!.id, { ready: false });
    await agent.advance(60_000);
    expect(agent.runtime.pod('uid-1')?.sandboxes).toMatchObject([{ ready: true, attempt: 1 }, { ready: false }]);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'running', attempt: 1 });
    expect(agent.eventReasons()).toEqual(['SandboxChanged']);
  });
});

describe('a runtime that has lost its containers, as after a reboot', () => {
  const loseAll = () => agent.runtime.put({ uid: 'uid-1', name: 'web', namespace: 'ns', containers: [] });
  const restartCount = () => agent.status('web')?.containerStatuses?.[0]?.restartCount;
  const attempt = () => agent.runtime.container('uid-1', 'app')?.attempt;

  it('the restart count continues from the one in the pod status', async () => {
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 }, { exitAfterMs: 1000, exitCode: 1 }, {});
    await agent.create(podOf());
    await agent.advance(60_000);
    expect([restartCount(), attempt()]).toEqual([2, 2]);
    for (const count of [3, 4]) {
      loseAll();
      await agent.advance(120_000);
      expect([restartCount(), attempt()]).toEqual([count, count]);
    }
    agent.runtime.exit(agent.runtime.container('uid-1', 'app')!.id);
    await agent.advance(120_000);
    expect([restartCount(), attempt()]).toEqual([5, 5]);
  });

  it('each container continues from its own', async () => {
    const containers = ['app', 'other'].map((name) => ({ name, image: 'app:1' }));
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 }, {});
    await agent.create(podOf({ containers }));
    await agent.advance(60_000);
    loseAll();
    await agent.advance(120_000);
    expect(agent.status('web')?.containerStatuses).toMatchObject([{ restartCount: 2 }, { restartCount: 1 }]);
  });

  it('the restart count continues from the one that the API server shows when the agent has restarted, too', async () => {
    const containerStatuses = [{ name: 'app', containerID: 'fake://old', restartCount: 4, state: { running: {} } }];
    await agent.create({ ...podOf(), status: { phase: 'Running', containerStatuses } });
    await agent.advance(60_000);
    expect([restartCount(), attempt()]).toEqual([5, 5]);
  });

  it('a lost run is counted once, however often the pull of its image fails', async () => {
    await agent.create(podOf());
    agent.runtime.images.clear();
    agent.runtime.fail({ method: 'pullImage' }, 'no route to host', 3);
    loseAll();
    await agent.advance(600_000);
    expect([restartCount(), attempt()]).toEqual([1, 1]);
  });

  it('the restart count of a container that has never run is 0', async () => {
    agent.runtime.fail({ method: 'pullImage' }, 'no route to host', 3);
    await agent.create(podOf());
    await agent.advance(600_000);
    expect([restartCount(), attempt()]).toEqual([0, 0]);
  });
});

it('a pod with many containers is stopped without a warning about listeners of its signal', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  await agent.create(podOf({ containers: Array.from({ length: 20 }, (_, i) => ({ name: `c${i}`, image: 'app:1' })) }));
  await agent.delete('web');
  await agent.advance(60_000);
  expect(isFinished()).toBe(true);
  expect(warnings).toEqual([]);
});

describe('init containers and sidecars', () => {
  it('init containers start in order before the regular ones; sidecars stop last, in the reverse order', async () => {
    agent.runtime.script('init', { exitAfterMs: 3000 });
    for (const name of ['app', 'log', 'proxy']) agent.runtime.script(name, { stopMs: 4000, stopExitCode: 0 });
    await agent.create(
      podOf({ initContainers: [sidecar('log'), { name: 'init', image: 'init:1' }, sidecar('proxy')] }),
    );
    await agent.advance(10_000);
    expect(['log', 'init', 'proxy', 'app'].map((name) => agent.startTimes(name))).toEqual([[0], [0], [3], [3]]);
    expect(agent.status('web')?.phase).toBe('Running');

    await agent.delete('web');
    await agent.advance(11_000);
    // What is left of the grace period when it is their turn.
    expect(stops()).toEqual([
      ['app', 30],
      ['proxy', 26],
      ['log', 22],
    ]);
    await agent.advance(5000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('the regular containers start even if a sidecar cannot be restarted', async () => {
    agent.runtime.script('log', { exitAfterMs: 5000 }, {});
    agent.runtime.script('app', { exitAfterMs: 5000 }, {});
    await agent.create(podOf({ initContainers: [sidecar('log')] }));
    agent.runtime.fail({ method: 'createContainer', container: 'log' }, 'no', Number.POSITIVE_INFINITY);
    await agent.advance(6000);
    expect(agent.startTimes('app')).toEqual([0, 5]);
    expect(agent.runtime.container('uid-1', 'log')).toMatchObject({ state: 'exited' });
  });

  it('only the last run of a restarted init container is kept, and none of the previous sandbox', async () => {
    const crash = { exitAfterMs: 1000, exitCode: 1 };
    agent.runtime.script('init', crash, crash, crash, { exitAfterMs: 1000 });
    await agent.create(podOf({ initContainers: [{ name: 'init', image: 'init:1' }] }));
    await agent.advance(60_000);
    const initRuns = () => agent.runtime.pod('uid-1')!.containers.filter(({ name }) => name === 'init');
    expect(initRuns()).toMatchObject([{ attempt: 3, exitCode: 0 }]);

    const { id } = agent.runtime.pod('uid-1')!.sandboxes![0]!;
    agent.runtime.setSandbox(id, { ready: false });
    agent.runtime.script('init', {});
    await agent.advance(62_000);
    expect(initRuns()).toMatchObject([{ state: 'running' }]);
  });

  it('an init container that fails with restartPolicy Never fails the pod', async () => {
    agent.runtime.script('init', { exitAfterMs: 1000, exitCode: 2 });
    await agent.create(podOf({ restartPolicy: 'Never', initContainers: [{ name: 'init', image: 'init:1' }] }));
    await agent.advance(5000);
    expect(agent.history('uid-1').at(-1)).toBe('Failed: init exit 2, app PodInitializing');
    expect(agent.startTimes('app')).toEqual([]);
    expect(isFinished()).toBe(true);
  });
});

describe('crash loop', () => {
  it('restarts immediately, then 10, 20, 40, … 300 s after each exit', async () => {
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 });
    await agent.create(podOf());
    await agent.advance(1_800_000);
    const starts = agent.startTimes('app');
    const delays = starts.slice(1).map((start, i) => start - starts[i]! - 1);
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
    expect(waiting()).toMatchObject({
      reason: 'CrashLoopBackOff',
      message: 'back-off 5m0s restarting failed container=app pod=web_ns(uid-1)',
    });
    expect(agent.status('web')?.containerStatuses?.[0]).toMatchObject({ restartCount: 10 });
    expect(agent.eventReasons('app')).toContain('BackOff');
  });

  it('the delay starts over after a run of more than ten minutes', async () => {
    const crash = { exitAfterMs: 1000, exitCode: 1 };
    agent.runtime.script('app', crash, crash, crash, { exitAfterMs: 700_000, exitCode: 1 }, crash);
    await agent.create(podOf());
    await agent.advance(800_000);
    const starts = agent.startTimes('app');
    expect(starts.slice(0, 4)).toEqual([0, 1, 12, 33]);
    expect(starts.slice(4, 6)).toEqual([733, 744]);
  });
});

describe('a container whose spec cannot be met', () => {
  it('waits with CreateContainerConfigError until the spec can be satisfied', async () => {
    agent.runtime.fail({ method: 'createContainer' }, new ContainerConfigError('configmap "settings" not found'), 3);
    await agent.create(podOf());
    await agent.advance(60_000);
    expect(agent.history('uid-1')).toContain('Pending: app CreateContainerConfigError');
    expect(agent.status('web')?.phase).toBe('Running');
  });
});

describe('images', () => {
  it('a failed pull is backed off for 10, 20, 40 s, and the container waits with ErrImagePull or ImagePullBackOff', async () => {
    agent.runtime.fail({ method: 'pullImage' }, 'registry is down', 3);
    await agent.create(podOf());
    await agent.advance(12_000);
    expect(waiting()).toMatchObject({ reason: expect.stringMatching(/^(ErrImagePull|ImagePullBackOff)$/) });
    await agent.advance(58_000);
    expect(agent.status('web')?.phase).toBe('Running');
    // Retried at 10, 30 and 70 s, although the pod is synced every 10 s.
    expect(agent.startTimes('app')).toEqual([70]);
    expect(agent.runtime.callsOf({ method: 'pullImage' })).toHaveLength(4);
    expect(agent.events.map(({ reason, message }) => `${reason}: ${message}`)).toContain(
      'Failed: Failed to pull image "app:1": registry is down',
    );
  });

  it('TestReasonCache: each container shows why its own last start failed, until one succeeds', async () => {
    agent.runtime.fail({ method: 'pullImage', image: 'app:1' }, 'no route', 2);
    agent.runtime.fail({ method: 'pullImage', image: 'other:1' }, 'no such image', Number.POSITIVE_INFINITY);
    const pod = podOf({ containers: [app, { name: 'other', image: 'other:1' }] });
    await agent.create(pod);
    await agent.create({
      ...pod,
      metadata: { ...pod.metadata, uid: 'uid-2', name: 'fine' },
      spec: { containers: [{ ...app, image: 'fine:1' }] },
    });
    const states = (name: string) => agent.status(name)?.containerStatuses?.map(({ state }) => state);
    await agent.advance(12_000);
    const [first, second] = states('web')!;
    expect([first?.waiting?.message, second?.waiting?.message]).toEqual([
      expect.stringContaining('no route'),
      expect.stringContaining('no such image'),
    ]);
    expect(states('fine')).toMatchObject([{ running: {} }]);
    await agent.advance(40_000);
    expect(states('web')).toMatchObject([{ running: {} }, { waiting: { reason: 'ImagePullBackOff' } }]);
    // Nothing is left of the failure when the container has ended and waits for its next start.
    agent.runtime.exit(agent.runtime.container('uid-1', 'app')!.id);
    await agent.advance(1000);
    expect(JSON.stringify(states('web')![0])).not.toContain('no route');
  });

  it.each([
    ['Never', false, []],
    ['Never', true, ['imageRef']],
    ['IfNotPresent', true, ['imageRef']],
    ['Always', true, ['pullImage']],
  ])('policy %s, present: %s', async (imagePullPolicy, isPresent, expected) => {
    if (isPresent) agent.runtime.images.add('app:1');
    await agent.create(podOf({ containers: [{ ...app, imagePullPolicy }] }));
    if (expected.length === 0) {
      await agent.advance(20_000);
      expect(waiting()?.reason).toBe('ErrImageNeverPull');
    } else {
      const calls = agent.runtime.calls.map(({ method }) => method);
      expect(calls.filter((method) => method === 'imageRef' || method === 'pullImage')).toEqual(expected);
      expect(agent.status('web')?.phase).toBe('Running');
    }
  });
});

describe('events', () => {
  const messages = () => agent.events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

  it('Pulling, Pulled, Created, Started and Killing are recorded for a container', async () => {
    agent.runtime.delay({ method: 'pullImage' }, 65_350);
    await agent.create(podOf());
    await agent.advance(66_000);
    await agent.delete('web');
    expect(messages()).toEqual([
      'Normal Pulling: Pulling image "app:1"',
      'Normal Pulled: Successfully pulled image "app:1" in 1m5.35s (1m5.35s including waiting).',
      'Normal Created: Container created',
      'Normal Started: Container started',
      'Normal Killing: Stopping container app',
    ]);
  });

  it('the event of a failure names the container instead of its ID, so that repeated events are aggregated', async () => {
    agent.runtime.images.add('app:1');
    agent.runtime.fail({ method: 'createContainer' }, 'no space');
    agent.runtime.fail({ method: 'startContainer' }, 'failed to start container-2 for good');
    await agent.create(podOf());
    await agent.advance(11_000);
    agent.runtime.fail({ method: 'stopPodSandbox' }, 'busy');
    await agent.delete('web', 1);
    expect(messages().filter((message) => message.startsWith('Warning'))).toEqual([
      'Warning Failed: Error: no space',
      'Warning Failed: Error: failed to start app for good',
      expect.stringMatching(
        /^Warning FailedKillPod: error killing pod: failed to "KillPodSandbox" for ".*" with KillPodSandboxError: "busy"$/,
      ),
    ]);
    expect(agent.logger.lines.map(({ fields }) => fields['reason'])).toContainEqual(
      expect.stringMatching(/^error killing terminating pod: failed to "KillPodSandbox" for .*: "busy"$/),
    );
  });

  it('BackOff is recorded for a crash loop', async () => {
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 });
    await agent.create(podOf());
    await agent.advance(5000);
    expect(messages().at(-1)).toBe('Warning BackOff: Back-off restarting failed container app in pod web_ns(uid-1)');
  });
});

describe('a pod whose sync fails', () => {
  const lines = () =>
    agent.logger.lines
      .filter(({ level }) => level !== 'debug' && level !== 'trace')
      .map(({ level, message, fields }) => `${level} ${message}: ${(fields as { reason?: string }).reason ?? ''}`);
  const failed = 'Failed to sync pod; it will be retried';

  it('is logged once, when the reason changes, every 10 minutes, and when a sync succeeds', async () => {
    agent.runtime.images.add('app:1');
    agent.runtime.fail({ method: 'createContainer' }, 'no space', 70);
    agent.runtime.fail({ method: 'startContainer' }, 'no memory');
    await agent.create(podOf());
    await agent.advance(590_000);
    const line = (reason: string): string => `error ${failed}: failed to "StartContainer" for "app" with ${reason}`;
    const noSpace = line('CreateContainerError: "no space"');
    expect(lines()).toEqual([noSpace]);
    await agent.advance(20_000);
    expect(lines()).toEqual([noSpace, noSpace]);
    await agent.advance(300_000);
    expect(lines().slice(2)).toEqual([line('RunContainerError: "no memory"'), 'info The pod can be synced again: ']);
  });

  it('in a crash loop is logged at info, once per run of its container', async () => {
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 });
    await agent.create(podOf());
    await agent.advance(300_000);
    const starts = agent.startTimes('app').length;
    expect(agent.logger.warnings).toEqual([]);
    expect(agent.logger.errors).toEqual([]);
    expect(lines().filter((line) => line.includes(failed)).length).toBeLessThanOrEqual(starts);
  });
});

describe('hooks', () => {
  const withLifecycle = (lifecycle: NonNullable<Container['lifecycle']>): PodSpec => ({
    containers: [{ ...app, lifecycle }],
  });

  it('the time of preStop counts towards the grace period', async () => {
    agent.runtime.script('app', { stopMs: Number.POSITIVE_INFINITY });
    await agent.create(podOf(withLifecycle({ preStop: { sleep: { seconds: 10 } } })));
    await agent.delete('web');
    await agent.advance(9999);
    expect(stops()).toEqual([]);
    await agent.advance(1);
    expect(stops()).toEqual([['app', 20]]);
    await agent.advance(20_000);
    expect(agent.history('uid-1').at(-1)).toBe('Failed (deleted): app exit 137');
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('after a preStop hook that hangs, the container gets 2 s to stop, and the hook counts as failed', async () => {
    agent.runtime.onExec(() => new Promise(() => {}));
    await agent.create(podOf(withLifecycle({ preStop: { exec: { command: ['drain'] } } })));
    await agent.delete('web');
    await agent.advance(30_000);
    expect(stops()).toEqual([['app', 2]]);
    expect(agent.eventReasons('app').slice(-2)).toEqual(['Killing', 'FailedPreStopHook']);
    await agent.advance(2000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('a sandbox that cannot be created because its pod is deleted is no event', async () => {
    let fail = (): void => {};
    const runPodSandbox = () => new Promise<string>((_, reject) => (fail = () => reject(new Error('no network'))));
    agent = new TestAgent({ runtimeMethods: { runPodSandbox } });
    await agent.create(podOf());
    await agent.delete('web');
    fail();
    await agent.advance(5000);
    expect(agent.eventReasons()).toEqual([]);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('a preStop hook that sleeps longer than the grace period has not failed', async () => {
    await agent.create(podOf(withLifecycle({ preStop: { sleep: { seconds: 60 } } })));
    await agent.delete('web');
    await agent.advance(30_000);
    expect(stops()).toEqual([['app', 2]]);
    expect(agent.eventReasons('app')).not.toContain('FailedPreStopHook');
  });

  it('a preStop hook that a second deletion with a shorter grace period cuts has not failed', async () => {
    agent.runtime.onExec(() => new Promise(() => {}));
    await agent.create(podOf(withLifecycle({ preStop: { exec: { command: ['drain'] } } })));
    await agent.delete('web');
    await agent.advance(3000);
    await agent.delete('web', 2);
    await agent.advance(10_000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
    expect(agent.eventReasons('app')).not.toContain('FailedPreStopHook');
  });

  it('a preStop hook that fails is recorded as an event, and the container is stopped', async () => {
    agent.runtime.onExec(() => ({ exitCode: 1, stdout: '', stderr: 'no' }));
    await agent.create(podOf(withLifecycle({ preStop: { exec: { command: ['drain'] } } })));
    await agent.delete('web');
    await agent.advance(1000);
    expect(agent.eventReasons('app')).toContain('FailedPreStopHook');
    expect(stops()).toEqual([['app', 30]]);
  });

  it('a postStart hook that fails kills the container, which is restarted with back-off', async () => {
    agent.runtime.onExec(() => ({ exitCode: 1, stdout: 'out', stderr: 'no' }));
    await agent.create(podOf(withLifecycle({ postStart: { exec: { command: ['warm', 'up'] } } })));
    await agent.advance(25_000);
    expect(waiting()?.reason).toMatch(/^(PostStartHookError|CrashLoopBackOff)$/);
    expect(agent.eventReasons('app')).toContain('FailedPostStartHook');
    expect(agent.startTimes('app').length).toBeGreaterThan(1);
  });

  it('an HTTP hook is sent to the address of the pod and to a named port', async () => {
    const urls: string[] = [];
    const { runtime, clock } = agent;
    const runner = createHandlerRunner({
      runtime,
      clock,
      eventRecorder: noEvents,
      httpGet: ({ url, headers }) => {
        urls.push(`${url} ${JSON.stringify([...headers])}`);
        return Promise.resolve();
      },
    });
    agent = new TestAgent({ handlerRunner: runner });
    const preStop = { httpGet: { path: '/quit', port: 'admin', httpHeaders: [{ name: 'X-A', value: 'b' }] } };
    await agent.create(
      podOf({ containers: [{ ...app, ports: [{ name: 'admin', containerPort: 8081 }], lifecycle: { preStop } }] }),
    );
    await agent.delete('web');
    const ip = agent.status('web')?.podIP ?? '10.0.0.1';
    expect(urls).toEqual([expect.stringContaining(`http://${ip}:8081/quit [["X-A",["b"]],["User-Agent"`)]);
  });
});

describe('deletion', () => {
  it('a graceful deletion stops the containers, reports how they ended, and deletes the pod', async () => {
    agent.runtime.script('app', { stopMs: 5000, stopExitCode: 0 });
    await agent.create(podOf());
    await agent.delete('web');
    expect(agent.workers.statuses.isPodTerminationRequested('uid-1')).toBe(true);
    expect(agent.client.pod('ns', 'web')).toBeDefined();
    await agent.advance(10_000);
    expect(agent.history('uid-1').slice(-1)).toEqual(['Succeeded (deleted): app exit 0']);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
    await agent.advance(5000);
    expect(agent.workers.statuses.inspect()).toEqual([]);
    expect(agent.manager.getPodStatus('uid-1')).toBeUndefined();
  });

  it('a shorter grace period takes effect while the container is being stopped', async () => {
    agent.runtime.script('app', { stopMs: Number.POSITIVE_INFINITY });
    await agent.create(podOf());
    await agent.delete('web', 600);
    await agent.advance(10_000);
    await agent.delete('web', 5);
    await agent.advance(6000);
    expect(stops()).toEqual([
      ['app', 600],
      ['app', 5],
    ]);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('the containers of a force-deleted pod are stopped with the grace period of the pod', async () => {
    agent.runtime.script('app', { stopMs: 5000 });
    await agent.create(podOf());
    await agent.forceDelete('web');
    await agent.advance(10_000);
    expect(stops()).toEqual([['app', 30]]);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'exited' });
    expect(agent.workers.statuses.inspect()).toEqual([]);
  });

  it('a deletion aborts an image pull that hangs, and nothing is started', async () => {
    agent.runtime.delay({ method: 'pullImage' }, 3_600_000);
    await agent.create(podOf());
    await agent.delete('web');
    await agent.advance(5000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
    expect(agent.runtime.callsOf({ method: 'createContainer' })).toEqual([]);
  });

  it('a pod can be deleted while its postStart hook hangs', async () => {
    agent.runtime.onExec(() => new Promise(() => {}));
    await agent.create(podOf({ containers: [{ ...app, lifecycle: { postStart: { exec: { command: ['x'] } } } }] }));
    await agent.delete('web');
    await agent.advance(5000);
    expect(stops()).toEqual([['app', 30]]);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it('a pod that is recreated with the same name has its own lifecycle', async () => {
    agent.runtime.script('app', { stopMs: 5000, stopExitCode: 0 });
    await agent.create(podOf());
    await agent.forceDelete('web');
    await agent.create(podOf({}, 'uid-2'));
    expect(agent.runtime.container('uid-2', 'app')).toMatchObject({ state: 'running' });
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'running' });
    await agent.advance(10_000);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'exited' });
    expect(agent.status('web')?.phase).toBe('Running');
    expect(agent.workers.statuses.inspect().map(({ uid }) => uid)).toEqual(['uid-2']);
  });
});

describe('eviction', () => {
  it('the eviction is reported with its reason, and resolves when the containers have ended', async () => {
    agent.runtime.script('app', { stopMs: 3000 });
    await agent.create(podOf());
    const killed = killPodNow(agent.pod('ns', 'web'), {
      signal: new AbortController().signal,
      podWorkers: agent.workers,
      clock: agent.clock,
      eventRecorder: noEvents,
      evict: true,
      podTerminationGracePeriodSecondsOverride: 4,
      podStatusFn: (status) => ({ ...status, phase: 'Failed', reason: 'Evicted', message: 'low on memory' }),
    });
    await agent.settle();
    expect(stops()).toEqual([['app', 4]]);
    await agent.advance(3000);
    await killed;
    expect(agent.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' });
    expect(agent.workers.statuses.shouldPodContentBeRemoved('uid-1')).toBe(true);
    // The pod was not deleted.
    expect(agent.client.pod('ns', 'web')).toBeDefined();
  });

  it('a container that could not start keeps its reason until the others have stopped', async () => {
    agent.runtime.script('app', { stopMs: 5000 });
    agent.runtime.fail({ method: 'pullImage', image: 'other:1' }, 'no route', Number.POSITIVE_INFINITY);
    await agent.create(podOf({ containers: [app, { name: 'other', image: 'other:1' }] }));
    await agent.advance(12_000);
    const { workers: podWorkers, clock } = agent;
    const killed = killPodNow(agent.pod('ns', 'web'), {
      ...{ podWorkers, clock, eventRecorder: noEvents, evict: true, signal: new AbortController().signal },
    });
    await agent.advance(1000);
    const [, other] = agent.status('web')!.containerStatuses!;
    expect(other).toMatchObject({ name: 'other', state: { waiting: { reason: 'ErrImagePull' } } });
    await agent.advance(10_000);
    await killed;
  });

  it.each([
    ['ErrImageNeverPull', { image: 'missing:1', imagePullPolicy: 'Never' }],
    ['ImagePullBackOff', { image: 'other:1' }],
  ])('a container that never started still waits with %s when its pod fails', async (reason, { image, ...policy }) => {
    agent.runtime.fail({ method: 'pullImage', image: 'other:1' }, 'no route', Number.POSITIVE_INFINITY);
    agent.runtime.script('first', { exitAfterMs: 1000, exitCode: 0 });
    const initContainers = [
      { name: 'first', image: 'app:1' },
      { name: 'second', image, ...policy },
    ];
    await agent.create(podOf({ initContainers, containers: [app], activeDeadlineSeconds: 60 }));
    await agent.advance(90_000);
    const message = expect.stringContaining(`image "${image}"`) as string;
    expect(agent.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      initContainerStatuses: [{ state: { terminated: { exitCode: 0 } } }, { state: { waiting: { reason, message } } }],
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    });
  });

  it('an evicted container in CrashLoopBackOff keeps its exit code', async () => {
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 3 });
    await agent.create(podOf());
    await agent.advance(140_000);
    expect(waiting()).toMatchObject({ reason: 'CrashLoopBackOff' });
    await evict((status) => ({ ...status, phase: 'Failed', reason: 'Evicted' }));
    await agent.advance(10_000);
    const exit = { terminated: { exitCode: 3, reason: 'Error' } };
    expect(agent.status('web')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ restartCount: 4, state: exit, lastState: exit }],
    });
  });

  it('keeps it when its containers are removed before the pod is cleaned up', async () => {
    let fails = true;
    const waitForUnmount = async () => {
      if (fails) throw new Error('busy');
    };
    agent = new TestAgent({ volumeManager: { waitForAttachAndMount: async () => {}, waitForUnmount } });
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 0 });
    await agent.create(podOf());
    await agent.advance(140_000);
    expect(waiting()).toMatchObject({ reason: 'CrashLoopBackOff' });
    await evict((status) => ({ ...status, reason: 'Evicted' }));
    for (const { id } of agent.runtime.pod('uid-1')!.containers) await agent.runtime.removeContainer(id);
    fails = false;
    await agent.advance(60_000);
    expect(agent.history('uid-1').filter((shown) => shown.startsWith('Failed'))).toEqual([]);
    expect(agent.status('web')).toMatchObject({
      phase: 'Succeeded',
      reason: 'Evicted',
      containerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
    });
  });
});

describe('volumes', () => {
  it('a pod starts when its volumes are mounted, and is deleted when they are unmounted', async () => {
    const calls: string[] = [];
    let fails = true;
    agent = new TestAgent({
      volumeManager: {
        waitForAttachAndMount: async () => {
          calls.push('mount');
          if (fails) throw new Error('not there yet');
        },
        waitForUnmount: async () => {
          calls.push(`unmount, pod ${agent.client.pod('ns', 'web') === undefined ? 'gone' : 'there'}`);
        },
      },
    });
    await agent.create(podOf());
    expect(agent.runtime.calls.map(({ method }) => method)).toEqual(['getPod']);
    expect(agent.events).toMatchObject([
      { type: 'Warning', reason: 'FailedMount', message: 'Unable to attach or mount volumes: not there yet' },
    ]);
    fails = false;
    await agent.advance(11_000);
    expect(agent.status('web')?.phase).toBe('Running');
    await agent.delete('web');
    await agent.advance(2000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
    expect(calls.at(-1)).toBe('unmount, pod there');
  });

  it('a wait for volumes that hangs ends with the deletion of the pod, which waits 10 s for it', async () => {
    const waitForAttachAndMount = () => new Promise<void>(() => {});
    agent = new TestAgent({ volumeManager: { waitForAttachAndMount, waitForUnmount: () => Promise.resolve() } });
    await agent.create(podOf());
    await agent.delete('web');
    await agent.advance(9000);
    expect(agent.client.pod('ns', 'web')).toBeDefined();
    await agent.advance(3000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
    expect(agent.eventReasons()).toEqual([]);
  });

  it('a wait for volumes that hangs times out, which is no event of the pod beside those of its volumes', async () => {
    const waitForAttachAndMount = () => new Promise<void>(() => {});
    agent = new TestAgent({ volumeManager: { waitForAttachAndMount, waitForUnmount: () => Promise.resolve() } });
    await agent.create(podOf());
    await agent.advance(600_000);
    expect(agent.events).toEqual([]);
    expect(agent.logger.errors.concat(agent.logger.warnings)[0]).toMatchObject({
      fields: { reason: expect.stringContaining('waitForAttachAndMount of the volume manager') },
    });
  });
});

it('pods run, restart and end in a runtime that cannot resize', async () => {
  agent = new TestAgent({ runtimeOptions: { resizes: false } });
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
  agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 88 }, {});
  const containers = [{ ...app, restartPolicy: 'Never', restartPolicyRules: [rule] }];
  const { metadata, spec } = podOf({ containers }, 'uid-2', 'static');
  await agent.create(podOf({ containers }));
  await agent.create({ metadata: { ...metadata, annotations: { 'kubernetes.io/config.source': 'file' } }, spec });
  await agent.advance(120_000);
  for (const uid of ['uid-1', 'uid-2']) expect(agent.runtime.container(uid, 'app')?.state).toBe('running');
  expect(agent.runtime.callsOf({ method: 'removeContainer' })).toHaveLength(1);
  await agent.delete('web');
  await agent.advance(60_000);
  expect(agent.client.pod('ns', 'web')).toBeUndefined();
});

it('a static pod, and no other, has its mirror pod reconciled at each sync', async () => {
  const reconciled: string[] = [];
  agent = new TestAgent({ reconcileMirrorPod: ({ metadata }) => void reconciled.push(metadata.name) });
  const { metadata, spec } = podOf({}, 'uid-2', 'static');
  await agent.create(podOf());
  await agent.create({ metadata: { ...metadata, annotations: { 'kubernetes.io/config.source': 'file' } }, spec });
  expect(agent.status('web')?.phase).toBe('Running');
  expect(new Set(reconciled)).toEqual(new Set(['static']));
});

it('removeOrphanedPods removes the recorded resources of all other pods', async () => {
  const actuatedState = new MemoryState();
  agent = new TestAgent({ actuatedState });
  const resources = { requests: { memory: '1Gi' } };
  const containers = [{ ...app, resources }];
  await agent.create(podOf({ containers }));
  await agent.create(podOf({ containers }, 'uid-2', 'other'));
  const recorded = () => ['uid-1', 'uid-2'].map((uid) => actuatedState.getContainerResourceAllocation(uid, 'app'));
  expect(recorded()).toEqual([resources, resources]);
  agent.syncer.removeOrphanedPods(new Set(['uid-2']));
  expect(recorded()).toEqual([undefined, resources]);
});

it('inspect() of the workers shows the state of each pod, since when, and what it does now', async () => {
  agent.runtime.script('app', { stopMs: 5000, stopExitCode: 0 });
  agent.runtime.delay({ method: 'pullImage' }, 3000);
  await agent.create(podOf());
  const inspection = () => agent.workers.statuses.inspect()[0];
  const syncing = { state: 'syncing', since: undefined, gracePeriodSeconds: undefined, isFinished: false };
  expect(inspection()).toMatchObject({ ...syncing, syncStartedAt: '2026-01-02T03:04:05Z' });
  await agent.advance(10_000);
  expect(inspection()).toMatchObject({ ...syncing, syncStartedAt: undefined });
  await agent.delete('web', 20);
  await agent.advance(1000);
  const since = '2026-01-02T03:04:15Z';
  expect(inspection()).toMatchObject({ state: 'terminating', since, gracePeriodSeconds: 20, isFinished: false });
});

describe('a network that is not ready', () => {
  it('is an event of a pod, which starts within a second after it is ready', async () => {
    const errors = ['no CNI plugin', 'no route'];
    agent = new TestAgent({ networkErrors: () => errors });
    await agent.create(podOf());
    expect(agent.events).toMatchObject([
      { type: 'Warning', reason: 'NetworkNotReady', message: 'network is not ready: no CNI plugin, no route' },
    ]);
    expect(agent.runtime.callsOf({ method: 'runPodSandbox' })).toEqual([]);
    errors.splice(0);
    await agent.advance(2000);
    expect(agent.startTimes('app')).toEqual([1]);
  });

  it('does not keep a pod with hostNetwork, whose containers get the addresses of the node', async () => {
    const hostIPs = ['192.168.0.1', 'fd00::1'];
    agent = new TestAgent({ networkErrors: () => ['no CNI plugin'], hostIPs });
    const seen: unknown[] = [];
    const createContainer = agent.runtime.createContainer.bind(agent.runtime);
    agent.runtime.createContainer = (config, options) => {
      seen.push(config.podIPs);
      return createContainer(config, options);
    };
    await agent.create(podOf({ hostNetwork: true }));
    expect(agent.status('web')?.phase).toBe('Running');
    expect(seen).toEqual([hostIPs]);
    expect(agent.eventReasons()).toEqual([]);
  });
});

describe('RestartAllContainers', () => {
  it('the containers start as soon as all are removed, without waiting for the next resync', async () => {
    const again: number[] = [];
    const { syncer } = agent;
    const syncPod = syncer.syncPod.bind(syncer);
    syncer.syncPod = async (...call) => {
      const result = await syncPod(...call);
      if (result.mustSyncAgain === true) again.push(agent.runtime.pod(call[1].metadata.uid)!.containers.length);
      return result;
    };
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 88 }, {});
    await agent.create(podOf({ containers: [{ ...app, restartPolicy: 'Never', restartPolicyRules: [rule] }] }));
    await agent.advance(1000);
    expect(again).toEqual([0]);
  });

  it('all containers are removed, and the pod starts again with its init containers', async () => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
    agent.runtime.script('init', { exitAfterMs: 1000 });
    agent.runtime.script('app', { exitAfterMs: 1000, exitCode: 88 }, {});
    const init = { name: 'init', image: 'init:1' };
    const restarting = { ...app, restartPolicy: 'Never', restartPolicyRules: [rule] };
    const other = { name: 'other', image: 'other:1' };
    await agent.create(podOf({ initContainers: [init], containers: [restarting, other] }));
    await agent.advance(30_000);
    expect(agent.startTimes('init')).toHaveLength(2);
    expect(agent.startTimes('other')).toHaveLength(2);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'running' });
    expect(agent.runtime.pod('uid-1')?.containers).toHaveLength(3);
    expect(agent.status('web')?.phase).toBe('Running');
  });
});

describe('activeDeadlineSeconds', () => {
  it('a pod past its deadline fails with DeadlineExceeded, and its containers are stopped', async () => {
    await agent.create(podOf({ activeDeadlineSeconds: 60 }));
    await agent.advance(59_000);
    expect(agent.status('web')?.phase).toBe('Running');
    await agent.advance(3000);
    expect(agent.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'exited' });
    expect(isFinished()).toBe(true);
  });
});

describe('a runtime that fails or hangs', () => {
  it.each(['getPod', 'runPodSandbox', 'createContainer', 'startContainer'] as const)(
    'the pod runs although %s fails',
    async (method) => {
      agent.runtime.fail({ method, podUID: 'uid-1' }, 'runtime is down', 2);
      await agent.create(podOf());
      await agent.advance(60_000);
      expect(agent.status('web')?.phase).toBe('Running');
    },
  );

  it.each([
    ['getPod', 2],
    ['runPodSandbox', 4],
    ['createContainer', 2],
    ['startContainer', 2],
  ] as const)(
    'a %s that hangs times out after %i minutes and is retried, and the pod runs',
    async (method, minutes) => {
      agent.runtime.delay({ method, podUID: 'uid-1' }, 86_400_000);
      await agent.create(podOf());
      await agent.advance(minutes * 60_000 + 80_000);
      expect(agent.status('web')?.phase).toBe('Running');
    },
  );

  it.each(['getPod', 'stopContainer', 'stopPodSandbox'] as const)(
    'the pod is deleted although %s fails',
    async (method) => {
      await agent.create(podOf());
      agent.runtime.fail({ method, podUID: 'uid-1' }, 'runtime is down', 2);
      await agent.delete('web');
      await agent.advance(40_000);
      expect(agent.client.pod('ns', 'web')).toBeUndefined();
    },
  );

  it.each(['getPod', 'stopContainer', 'stopPodSandbox'] as const)(
    'the pod is deleted although %s hangs',
    async (method) => {
      await agent.create(podOf());
      agent.runtime.delay({ method, podUID: 'uid-1' }, 86_400_000);
      await agent.delete('web');
      await agent.advance(200_000);
      expect(agent.client.pod('ns', 'web')).toBeUndefined();
    },
  );

  it('a lost sandbox is stopped before it is replaced', async () => {
    await agent.create(podOf());
    const { id } = agent.runtime.pod('uid-1')!.sandboxes![0]!;
    agent.runtime.setSandbox(id, { ready: false });
    agent.runtime.fail({ method: 'stopPodSandbox' }, 'runtime is down', 2);
    await agent.advance(65_000);
    expect(agent.runtime.callsOf({ method: 'stopPodSandbox' })).toHaveLength(2);
    expect(agent.runtime.callsOf({ method: 'runPodSandbox' })).toHaveLength(1);
    await agent.advance(10_000);
    expect(agent.runtime.callsOf({ method: 'runPodSandbox' })).toHaveLength(2);
    expect(agent.status('web')?.phase).toBe('Running');
  });

  it('a pod does not terminate while a container is running, even if the runtime reported it as stopped', async () => {
    await agent.create(podOf());
    const { id } = agent.runtime.container('uid-1', 'app')!;
    agent.runtime.stopContainer = () => Promise.resolve();
    const stopPodSandbox = agent.runtime.stopPodSandbox!;
    Object.assign(agent.runtime, { stopPodSandbox: () => Promise.resolve() });
    await agent.delete('web');
    await agent.advance(40_000);
    expect(agent.client.pod('ns', 'web')).toBeDefined();
    expect(agent.workers.statuses.couldHaveRunningContainers('uid-1')).toBe(true);
    expect(agent.logger.lines.map(({ fields }) => fields['reason'])).toContain(
      `detected running containers after a successful KillPod, CRI violation: ${id}`,
    );
    Object.assign(agent.runtime, { stopPodSandbox });
    agent.runtime.exit(id);
    await agent.advance(40_000);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });
});

describe('after a restart of the agent', () => {
  it('a pod with a terminal phase and a running container is stopped, and not restarted', async () => {
    agent.runtime.put({
      ...{ uid: 'uid-1', name: 'web', namespace: 'ns', sandboxes: [{ id: 's', ready: true }] },
      containers: [{ id: 'fake://old', name: 'app', sandboxID: 's', state: 'running', createdAtMs: 0, startedAtMs: 0 }],
    });
    await agent.create({ ...podOf(), status: { phase: 'Failed' } });
    await agent.advance(5000);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ id: 'fake://old', state: 'exited' });
    expect(isFinished()).toBe(true);
    expect(agent.runtime.callsOf({ method: 'createContainer' })).toEqual([]);
  });

  it('a pod that only the runtime knows is killed', async () => {
    const containers = [{ id: 'fake://old', name: 'app', state: 'running', createdAtMs: 0 } as const];
    agent.runtime.put({ uid: 'uid-9', name: 'old', namespace: 'ns', containers });
    agent.workers.updatePod({ updateType: 'kill', runningPod: agent.runtime.pod('uid-9')! });
    await agent.advance(5000);
    expect(agent.runtime.container('uid-9', 'app')).toMatchObject({ state: 'exited' });
    expect(agent.workers.statuses.inspect()).toEqual([]);
  });

  it('a running pod is left running', async () => {
    agent.runtime.put({
      ...{ uid: 'uid-1', name: 'web', namespace: 'ns' },
      sandboxes: [{ id: 's', ready: true, network: { ip: '10.0.0.9' } }],
      containers: [{ id: 'fake://old', name: 'app', sandboxID: 's', state: 'running', createdAtMs: 0, startedAtMs: 0 }],
    });
    await agent.create({ ...podOf(), status: { phase: 'Running' } });
    await agent.advance(100_000);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ id: 'fake://old', state: 'running' });
    expect(agent.runtime.callsOf({ method: 'createContainer' })).toEqual([]);
  });

  /** What the API server sees of `started`, `ready` and the pod's Ready condition when an agent takes the pod over. */
  async function takeOver(flags: { started: boolean; ready: boolean }, probes: Partial<Container>): Promise<string[]> {
    const startedAtMs = Date.parse('2026-01-02T03:04:05Z') - 11_000;
    agent = new TestAgent({ withProbes: true, agentStartedMs: 0 });
    agent.runtime.onExec(([command]) => ({ exitCode: command === 'true' ? 0 : 1, stdout: '', stderr: '' }));
    agent.runtime.put({
      ...{ uid: 'uid-1', name: 'web', namespace: 'ns' },
      sandboxes: [{ id: 's', ready: true, network: { ip: '10.0.0.9' } }],
      containers: [{ id: 'fake://old', name: 'app', sandboxID: 's', state: 'running', createdAtMs: 0, startedAtMs }],
    });
    const seen = new Set<string>();
    agent.client.subscribe(({ pod }) => {
      const { containerStatuses, conditions } = pod.status as PodStatus;
      const { started, ready } = containerStatuses![0]!;
      seen.add(`${started} ${ready} ${conditions!.find(({ type }) => type === 'Ready')?.status}`);
    });
    const state = { running: { startedAt: '2026-01-02T03:03:54Z' } };
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: flags.ready ? 'True' : 'False' }],
      containerStatuses: [{ name: 'app', containerID: 'fake://old', state, ...flags }],
    };
    await agent.create({ ...podOf({ containers: [{ ...app, ...probes }] }), status });
    await agent.advance(30_000);
    return [...seen];
  }
  const exec = (command: string) => ({ exec: { command: [command] }, periodSeconds: 10 });

  it.each([
    ['a readiness probe', { readinessProbe: exec('true') }],
    ['startup and liveness probes', { startupProbe: exec('true'), livenessProbe: exec('true') }],
    // Until enough probes have failed.
    ['a readiness probe that fails now', { readinessProbe: { ...exec('false'), failureThreshold: 30 } }],
  ])('a ready pod with %s stays ready', async (_, probes) => {
    expect(await takeOver({ started: true, ready: true }, probes)).toEqual(['true true True']);
  });

  it('a container whose startup probe has not succeeded stays not started', async () => {
    const startupProbe = { ...exec('false'), failureThreshold: 1000 };
    expect(await takeOver({ started: false, ready: false }, { startupProbe })).toEqual(['false false False']);
  });
});

describe('probes', () => {
  const probe = { exec: { command: ['check'] }, periodSeconds: 10, failureThreshold: 3 };
  /** Which probes fail now, by the command's argument. */
  let failing: Set<string>;
  const execOf = (name: string) => ({ ...probe, exec: { command: ['check', name] } });
  const container = () => agent.status('web')?.containerStatuses?.[0];

  beforeEach(() => {
    failing = new Set();
    agent = new TestAgent({ withProbes: true });
    agent.runtime.onExec(([, name]) => ({ exitCode: failing.has(name!) ? 1 : 0, stdout: 'no', stderr: '' }));
  });

  it('startup, then readiness and liveness; a container that fails three liveness probes is restarted', async () => {
    failing.add('startup');
    const livenessProbe = { ...execOf('liveness'), terminationGracePeriodSeconds: 7 };
    const probes = { startupProbe: execOf('startup'), readinessProbe: execOf('readiness'), livenessProbe };
    await agent.create(podOf({ containers: [{ ...app, ...probes }] }));
    await agent.advance(15_000);
    expect(container()).toMatchObject({ started: false, ready: false });
    failing.clear();
    await agent.advance(10_000);
    expect(container()).toMatchObject({ started: true, ready: true });
    expect(agent.status('web')?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');

    failing.add('readiness');
    await agent.advance(30_000);
    expect(container()).toMatchObject({ ready: false, restartCount: 0 });

    failing = new Set(['liveness']);
    await agent.advance(40_000);
    expect(container()).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 143 } } });
    expect(stops()).toEqual([['app', 7]]);
    expect(agent.events.filter(({ reason }) => reason === 'Unhealthy').map(({ message }) => message)).toContain(
      'Liveness probe failed: no',
    );
  });

  it('a container that fails its startup probe is killed with the grace period of that probe', async () => {
    failing.add('startup');
    const startupProbe = { ...execOf('startup'), terminationGracePeriodSeconds: 3 };
    await agent.create(podOf({ containers: [{ ...app, startupProbe }] }));
    await agent.advance(35_000);
    expect(stops()).toEqual([['app', 3]]);
    expect(agent.events.find(({ reason }) => reason === 'Killing')?.message).toBe(
      'Container app failed startup probe, will be restarted',
    );
  });

  it('a pod that is being terminated is still probed for readiness, and no longer for liveness', async () => {
    agent.runtime.script('app', { stopMs: 25_000 });
    const probes = { readinessProbe: execOf('readiness'), livenessProbe: execOf('liveness') };
    await agent.create(podOf({ containers: [{ ...app, ...probes }] }));
    await agent.advance(1000);
    expect(container()).toMatchObject({ ready: true });
    await agent.delete('web');
    agent.runtime.calls.splice(0);
    await agent.advance(20_000);
    expect(new Set(agent.runtime.callsOf({ method: 'execSync' }).map(({ command }) => command?.[1]))).toEqual(
      new Set(['readiness']),
    );
  });
});

describe('probes', () => {
  it('a container that fails its liveness probe is killed with the grace period of the probe, and restarted', async () => {
    await agent.create(
      podOf({
        containers: [{ ...app, livenessProbe: { exec: { command: ['x'] }, terminationGracePeriodSeconds: 7 } }],
      }),
    );
    agent.probeResults.liveness.set(agent.runtime.container('uid-1', 'app')!.id, 'failure');
    await agent.advance(61_000);
    expect(stops()).toEqual([['app', 7]]);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'running', attempt: 1 });
    expect(agent.events.find(({ reason }) => reason === 'Killing')?.message).toBe(
      'Container app failed liveness probe, will be restarted',
    );
  });
});

describe('resize', () => {
  const memory = (limit: string) => ({ limits: { memory: limit } });
  const updates = () => agent.runtime.callsOf({ method: 'updateContainerResources' }).map(({ resources }) => resources);
  const resizeConditions = () =>
    agent.status('web')?.conditions?.filter(({ type }) => type.startsWith('PodResize')) ?? [];
  const resizeEvents = () => agent.eventReasons().filter((reason) => reason.startsWith('Resize'));

  it('an accepted resize is applied to the running container and shown in the pod status', async () => {
    await agent.create(podOf({ containers: [{ ...app, resources: memory('1Gi') }] }));
    const { id } = agent.runtime.container('uid-1', 'app')!;
    agent.runtime.delay({ method: 'updateContainerResources' }, 5000);
    await agent.resize('web', { limits: { memory: '2Gi', cpu: '1' } });
    expect(resizeConditions()).toMatchObject([{ type: 'PodResizeInProgress', status: 'True', observedGeneration: 2 }]);
    expect(agent.status('web')?.containerStatuses?.[0]?.resources).toEqual({ limits: { memory: '1Gi', cpu: '1' } });
    await agent.advance(5000);
    expect(updates()).toEqual([
      { limits: { memory: '2Gi' }, requests: {} },
      { limits: { memory: '2Gi', cpu: '1' }, requests: {} },
    ]);
    expect(resizeConditions()).toEqual([]);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ id, state: 'running' });
    expect(agent.status('web')?.containerStatuses?.[0]).toMatchObject({
      restartCount: 0,
      resources: { limits: { memory: '2Gi', cpu: '1' } },
    });
    expect(resizeEvents()).toEqual(['ResizeStarted', 'ResizeCompleted']);
  });

  it('a resize that is allocated during a sync is reported as completed once, after it is applied', async () => {
    await agent.create(podOf({ containers: [{ ...app, resources: memory('1Gi') }] }));
    agent.runtime.delay({ method: 'getPod' }, 500);
    agent.workers.updatePod({ updateType: 'sync', pod: agent.pod('ns', 'web') });
    await agent.settle();
    agent.runtime.delay({ method: 'updateContainerResources' }, 1000);
    await agent.resize('web', memory('2Gi'));
    await agent.advance(600);
    expect(resizeConditions()).toMatchObject([{ type: 'PodResizeInProgress', status: 'True' }]);
    expect(resizeEvents()).toEqual(['ResizeStarted']);
    await agent.advance(5000);
    expect(resizeEvents()).toEqual(['ResizeStarted', 'ResizeCompleted']);
    expect(agent.events.find(({ reason }) => reason === 'ResizeCompleted')?.message).toContain('2Gi');
  });

  it('with the policy RestartContainer, the container is restarted with its new resources', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await agent.create(podOf({ containers: [{ ...app, resources: memory('1Gi'), resizePolicy }] }));
    await agent.resize('web', memory('2Gi'));
    await agent.advance(1000);
    expect(updates()).toEqual([]);
    expect(agent.runtime.container('uid-1', 'app')).toMatchObject({ state: 'running', attempt: 1 });
    expect(resizeConditions()).toEqual([]);
    expect(agent.status('web')?.containerStatuses?.[0]?.resources).toEqual(memory('2Gi'));
    expect(agent.events.find(({ reason }) => reason === 'Killing')?.message).toBe(
      'Container app resize requires restart',
    );
  });

  it('a resize that the runtime refuses has a condition with the reason, and is retried', async () => {
    await agent.create(podOf({ containers: [{ ...app, resources: memory('2Gi') }] }));
    agent.runtime.fail({ method: 'updateContainerResources' }, 'in use', 2);
    await agent.resize('web', memory('1Gi'));
    await agent.advance(11_000);
    expect(resizeConditions()).toMatchObject([{ type: 'PodResizeInProgress', reason: 'Error', message: 'in use' }]);
    await agent.advance(60_000);
    expect(resizeConditions()).toEqual([]);
    expect(updates()).toHaveLength(3);
    expect(resizeEvents()).toEqual(['ResizeStarted', 'ResizeError', 'ResizeCompleted']);
  });

  it('a deferred resize is applied when another pod frees resources', async () => {
    const capacity = '3Gi';
    const admit: PodAdmitHandler['admit'] = ({ pod, otherPods, operation }) => {
      const wanted = [pod, ...otherPods].map((each) => podRequests(each)['memory'] ?? '0');
      const total = wanted.reduce((sum, request) => sum + quantityValue(request)!, 0);
      if (total <= quantityValue(capacity)!) return { admit: true };
      return operation === 'add'
        ? { admit: false, reason: 'OutOfmemory', message: 'Node is full' }
        : { admit: false, reason: 'Deferred', message: 'Node is full' };
    };
    const request = (amount: string) => ({ requests: { memory: amount } });
    agent = new TestAgent({ admitHandlers: [{ admit }] });
    await agent.create(podOf({ containers: [{ ...app, resources: request('1Gi') }] }));
    await agent.create(
      podOf({ restartPolicy: 'Never', containers: [{ ...app, resources: request('1Gi') }] }, 'uid-2', 'job'),
    );
    await agent.resize('web', request('3Gi'));
    await agent.advance(1000);
    expect(resizeConditions()).toMatchObject([
      { type: 'PodResizePending', reason: 'Deferred', message: 'Node is full' },
    ]);
    expect(agent.status('web')).toMatchObject({
      observedGeneration: 2,
      containerStatuses: [{ allocatedResources: { memory: '1Gi' }, resources: request('1Gi') }],
    });
    await agent.delete('job', 1);
    await agent.advance(240_000);
    expect(updates()).toEqual([{ limits: {}, requests: { memory: '3Gi' } }]);
    expect(resizeConditions()).toEqual([]);
    expect(agent.status('web')?.containerStatuses?.[0]?.allocatedResources).toEqual({ memory: '3Gi' });
  });

  it('while pod-level resources are resized, the status shows those that the pod still has', async () => {
    const failures = [new Error('memory is in use')];
    const updatePodResources = async (): Promise<void> => {
      for (const failure of failures.splice(0)) throw failure;
    };
    agent = new TestAgent({ runtimeMethods: { updatePodResources } });
    const resources = (amount: string) => ({ limits: { memory: amount }, requests: { memory: amount } });
    await agent.create(podOf({ resources: resources('2Gi') }));
    const pod = agent.client.pod('ns', 'web')!;
    const metadata = { ...pod.metadata, generation: 2 };
    agent.client.put({ ...pod, metadata, spec: { ...pod.spec, resources: resources('1Gi') } });
    await agent.advance(1000);
    expect(resizeConditions()).toMatchObject([{ type: 'PodResizeInProgress' }]);
    expect(agent.status('web')).toMatchObject({
      ...{ resources: resources('2Gi'), allocatedResources: { memory: '1Gi' } },
    });
    await agent.advance(60_000);
    expect(resizeConditions()).toEqual([]);
    expect(agent.status('web')?.resources).toEqual(resources('1Gi'));
  });

  it('the status of a running pod shows the resources of its cgroup, while the runtime can read them', async () => {
    const shown = () => agent.status('web')?.resources;
    const logger = recordingLogger();
    const asked: unknown[] = [];
    let read = async () => ({ requests: { cpu: '1' }, limits: { memory: '2Gi' } });
    const podResources = (pod: ValidPod) => {
      asked.push(pod.status?.phase);
      return read();
    };
    agent = new TestAgent({ runtimeMethods: { podResources }, logger });
    await agent.create(podOf({ containers: [{ ...app, resources: { requests: { memory: '1Gi' } } }] }));
    const actual = { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } };
    await agent.advance(90_000);
    expect(shown()).toEqual(actual);
    read = () => Promise.reject(new Error('no cgroups'));
    agent.runtime.exit(agent.runtime.container('uid-1', 'app')!.id);
    await agent.advance(90_000);
    expect(agent.status('web')).toMatchObject({ resources: actual, containerStatuses: [{ restartCount: 1 }] });
    expect(logger.warnings.at(-1)).toMatchObject({
      fields: { podUID: 'uid-1', reason: 'no cgroups' },
      message: 'Failed to read the resources of a pod',
    });
    expect(new Set(asked)).toEqual(new Set(['Running']));
  });

  it('resources that cannot be read are logged once, with the time since when, and once when they can', async () => {
    const logger = recordingLogger();
    let podResources = (): Promise<object> => Promise.reject(new Error('no cgroups'));
    agent = new TestAgent({ runtimeMethods: { podResources: () => podResources() }, logger });
    await agent.create(podOf());
    await agent.advance(300_000);
    const logged = () => linesAtInfo(logger).filter(({ message }) => message.includes('resources of'));
    expect(logged()).toMatchObject([{ fields: { reason: 'no cgroups', failingSince: expect.any(String) as string } }]);
    podResources = async () => ({});
    await agent.advance(120_000);
    expect(logged().map(({ message }) => message)).toEqual([
      'Failed to read the resources of a pod',
      'The resources of the pod can be read again',
    ]);
  });

  it('resources of a pod that cannot be read are logged as readable again when they are, and not when the pod has ended', async () => {
    const logger = recordingLogger();
    const unreadable = new Set(['uid-1', 'uid-3']);
    const podResources = async ({ metadata: { uid } }: ValidPod) => {
      if (unreadable.has(uid)) throw new Error(`no cgroup of ${uid}`);
      return {};
    };
    agent = new TestAgent({ runtimeMethods: { podResources }, logger });
    for (const uid of ['uid-1', 'uid-2', 'uid-3']) {
      const pod = podOf();
      await agent.create({ ...pod, metadata: { ...pod.metadata, uid, name: uid } });
    }
    const logged = () =>
      linesAtInfo(logger)
        .filter(({ message }) => message.includes('resources of'))
        .map(({ message, fields: { podUID, reason } }) => [podUID, message, reason]);
    await agent.advance(300_000);
    const failures = ['uid-1', 'uid-3'].map((uid) => [
      ...[uid, 'Failed to read the resources of a pod', `no cgroup of ${uid}`],
    ]);
    expect(new Set(logged())).toEqual(new Set(failures));
    await agent.forceDelete('uid-3');
    await agent.advance(120_000);
    expect(logged()).toHaveLength(2);
    unreadable.clear();
    await agent.advance(120_000);
    expect(logged().slice(2)).toEqual([['uid-1', 'The resources of the pod can be read again', undefined]]);
  });

  it('the pod-level resources of a pod are shown in its status, also by a runtime that cannot resize them', async () => {
    const resources = { limits: { memory: '2Gi' }, requests: { memory: '1Gi' } };
    for (const resizes of [true, false]) {
      agent = new TestAgent({ runtimeOptions: { resizes } });
      await agent.create(podOf({ resources }));
      await agent.advance(1000);
      expect(agent.status('web')).toMatchObject({ phase: 'Running', resources });
    }
  });

  it('a resize is Infeasible in a runtime without updateContainerResources', async () => {
    agent = new TestAgent({ runtimeOptions: { resizes: false } });
    await agent.create(podOf({ containers: [{ ...app, resources: memory('1Gi') }] }));
    await agent.resize('web', memory('2Gi'));
    await agent.advance(1000);
    expect(resizeConditions()).toMatchObject([{ type: 'PodResizePending', reason: 'Infeasible' }]);
    expect(agent.status('web')?.containerStatuses?.[0]?.resources).toEqual(memory('1Gi'));
  });
});
