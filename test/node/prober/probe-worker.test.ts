import { beforeEach, describe, expect, it } from 'vitest';
import type { Container, ValidPod, PodStatus, Probe } from 'kubelet-status-manager';
import type { ContainerState } from '../../../src/kube/objects/types.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { ProbeResult } from 'kubelet-status-manager/agent';
import type { ProbeType } from '../../../src/node/probes/probe-results.ts';
import { FakeClock } from 'kubelet-status-manager/testing';
import { ProbeResultsManager } from '../../../src/node/probes/probe-results.ts';
import { ProbeWorker, type ProbeWorkerOptions } from '../../../src/node/prober/probe-worker.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

const probeTypes: readonly ProbeType[] = ['liveness', 'readiness', 'startup'];
const containerID = 'test://test_container_id';
const start = Date.parse('2026-01-02T03:04:05Z');

let clock: FakeClock;
let results: ProbeResultsManager;
/** What the next probes find; an Error: they cannot be made. */
let found: ProbeResult | Error;
let probes: number;
let status: PodStatus | undefined;
let exits: number;
let recorded: string[];
beforeEach(() => {
  clock = new FakeClock(start);
  results = new ProbeResultsManager();
  found = 'success';
  probes = 0;
  exits = 0;
  recorded = [];
  status = undefined;
});

function worker(
  probeType: ProbeType,
  probe: Probe = {},
  overrides: Partial<ProbeWorkerOptions> & { pod?: ValidPod } = {},
) {
  const container: Container = { name: 'test_container', [`${probeType}Probe`]: probe };
  const pod: ValidPod = {
    metadata: { uid: 'test_pod', name: 'test', namespace: 'default' },
    spec: { containers: [container], restartPolicy: 'Never' },
  };
  return new ProbeWorker({
    pod,
    scope: podScope(pod),
    container,
    probeType,
    results,
    clock,
    agentStartedMs: -3_600_000,
    random: () => 0.5,
    recordMetric: (name, value, ...labels) => recorded.push([name, value, ...labels].join(' ')),
    getPodStatus: () => status,
    prober: asBounded({
      probe: (): Promise<ProbeResult> => {
        probes++;
        return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
      },
    }),
    onExit: () => exits++,
    ...overrides,
  });
}

function statusWith(state: ContainerState, rest: { started?: boolean; id?: string; name?: string } = {}): PodStatus {
  const { started = true, id = containerID, name = 'test_container' } = rest;
  return {
    phase: 'Running',
    containerStatuses: [
      { name, state, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '', containerID: id, started },
    ],
  };
}

const running = (startedAtMs = start): ContainerState => ({ running: { startedAt: timeFromEpochMs(startedAtMs) } });
const runningFor = (probeType: ProbeType, id = containerID): PodStatus =>
  statusWith(running(), { started: probeType !== 'startup', id });
const terminated = (exitCode: number): ContainerState => ({
  terminated: { exitCode, startedAt: null, finishedAt: null },
});

describe.each(probeTypes)('TestDoProbe %s', (probeType) => {
  it.each<[string, () => PodStatus | undefined, Probe, { continues: boolean; result: ProbeResult | undefined }]>([
    ['No status.', () => undefined, {}, { continues: true, result: undefined }],
    ['Pod failed', () => ({ ...runningFor(probeType), phase: 'Failed' }), {}, { continues: false, result: undefined }],
    [
      'No container status',
      () => statusWith(running(), { name: 'otherContainer' }),
      {},
      { continues: true, result: undefined },
    ],
    ['Container waiting', () => statusWith({ waiting: {} }), {}, { continues: true, result: 'failure' }],
    ['Container terminated', () => statusWith(terminated(0)), {}, { continues: false, result: 'failure' }],
    ['Probe successful.', () => runningFor(probeType), {}, { continues: true, result: 'success' }],
    [
      'Initial delay passed',
      () => runningFor(probeType),
      { initialDelaySeconds: -100 },
      { continues: true, result: 'success' },
    ],
  ])('%s', async (_, makeStatus, probe, { continues, result }) => {
    status = makeStatus();
    expect(await worker(probeType, probe).doProbe()).toBe(continues);
    expect(results.get(containerID)).toBe(result);
  });

  it('the pod is being deleted: only readiness is still probed', async () => {
    status = runningFor(probeType);
    const pod = {
      metadata: { uid: 'test_pod', name: 'web', namespace: 'ns', deletionTimestamp: '2026-01-02T03:04:05Z' },
    };
    expect(await worker(probeType, {}, { pod }).doProbe()).toBe(probeType === 'readiness');
    expect(results.get(containerID)).toBe('success');
    expect(probes).toBe(probeType === 'readiness' ? 1 : 0);
  });

  it.each([
    ['by its policy', 'Always', undefined, true],
    ['not by its policy', 'OnFailure', undefined, false],
    ['by a rule', 'Never', [{ action: 'Restart', exitCodes: { operator: 'In', values: [0] } }], true],
    [
      'with all others',
      'Never',
      [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [0] } }],
      true,
    ],
  ])('a terminated container that is restarted %s', async (_, restartPolicy, restartPolicyRules, continues) => {
    status = statusWith(terminated(0));
    const container: Container = {
      name: 'test_container',
      restartPolicy,
      ...(restartPolicyRules && { restartPolicyRules }),
    };
    const pod: ValidPod = {
      metadata: { uid: 'test_pod', name: 'web', namespace: 'ns' },
      spec: { containers: [container], restartPolicy: 'Never' },
    };
    expect(await worker(probeType, {}, { pod, container }).doProbe()).toBe(continues);
  });
});

describe.each(probeTypes)('TestDoProbeWithContainerRestartRules %s', (probeType) => {
  const rule = (value: number) => [{ action: 'Restart', exitCodes: { operator: 'In', values: [value] } }];
  it.each<[string, Partial<Container>, number, boolean]>([
    ['container failed with container restartPolicy=OnFailure', { restartPolicy: 'OnFailure' }, 1, true],
    ['container succeeded with containerRestartPolicy=OnFailure', { restartPolicy: 'OnFailure' }, 0, false],
    ['container failed with containerRestartPolicy=Always', { restartPolicy: 'Always' }, 1, true],
    ['container succeeded with containerRestartPolicy=Always', { restartPolicy: 'Always' }, 0, true],
    ['container failed with containerRestartPolicy=Never', { restartPolicy: 'Never' }, 1, false],
    ['container succeeded with containerRestartPolicy=Never', { restartPolicy: 'Never' }, 0, false],
    [
      'container terminated with matching restartPolicyRules',
      ...([{ restartPolicy: 'Never', restartPolicyRules: rule(1) }, 1, true] as const),
    ],
    [
      'container terminated with non-matching restartPolicyRules',
      ...([{ restartPolicy: 'Never', restartPolicyRules: rule(99) }, 1, false] as const),
    ],
  ])('%s', async (_, policies, exitCode, continues) => {
    status = statusWith(terminated(exitCode));
    const container: Container = { name: 'test_container', ...policies };
    const pod: ValidPod = {
      metadata: { uid: 'test_pod', name: 'web', namespace: 'ns' },
      spec: { containers: [container], restartPolicy: 'Never' },
    };
    expect(await worker(probeType, {}, { pod, container }).doProbe()).toBe(continues);
  });
});

describe.each(probeTypes)('TestDoProbeWithContainerRestartAllContainers %s', (probeType) => {
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }];
  const container: Container = { name: 'test_container' };
  const trigger: Container = { name: 'trigger', restartPolicy: 'Never', restartPolicyRules };
  const withTrigger: ValidPod = {
    metadata: { uid: 'test_pod', name: 'web', namespace: 'ns' },
    spec: { restartPolicy: 'Never', containers: [container, trigger] },
  };

  it('container terminated with matching restartAllContainers', async () => {
    status = statusWith(terminated(1));
    const source = { ...container, restartPolicy: 'Never', restartPolicyRules };
    const pod = {
      metadata: { uid: 'test_pod', name: 'web', namespace: 'ns' },
      spec: { restartPolicy: 'Never', containers: [source] },
    };
    expect(await worker(probeType, {}, { pod, container: source }).doProbe()).toBe(true);
  });

  it('container terminated by restartAllContainers', async () => {
    const killed = statusWith(terminated(1)).containerStatuses!;
    const source = statusWith(terminated(1), { name: 'trigger', id: 'test://trigger' }).containerStatuses!;
    status = { phase: 'Running', containerStatuses: [...killed, ...source] };
    expect(await worker(probeType, {}, { pod: withTrigger, container }).doProbe()).toBe(true);
  });

  it('container cleaned up by restartAllContainers', async () => {
    status = { ...statusWith({ waiting: { reason: 'ContainerCreating' } }), phase: 'Pending' };
    expect(await worker(probeType, {}, { pod: withTrigger, container }).doProbe()).toBe(true);
  });
});

describe('a container that has terminated in a pod with restartPolicy Never', () => {
  const terminatedAs = (field: 'containerStatuses' | 'initContainerStatuses'): PodStatus => ({
    phase: 'Running',
    [field]: statusWith(terminated(0)).containerStatuses,
  });

  it('TestDoProbe_TerminatedRestartableInitContainerWithRestartPolicyNever', async () => {
    status = terminatedAs('initContainerStatuses');
    const container: Container = { name: 'test_container', restartPolicy: 'Always' };
    const pod: ValidPod = {
      metadata: { uid: 'test_pod', name: 'web', namespace: 'ns' },
      spec: { initContainers: [container], restartPolicy: 'Never' },
    };
    expect(await worker('startup', {}, { pod, container }).doProbe()).toBe(true);
    expect(results.get(containerID)).toBe('failure');
  });

  it('TestDoProbe_TerminatedContainerWithRestartPolicyNever', async () => {
    status = terminatedAs('containerStatuses');
    expect(await worker('startup').doProbe()).toBe(false);
    expect(results.get(containerID)).toBe('failure');
  });
});

describe('TestInitialDelay', () => {
  it.each<[ProbeType, ProbeResult]>([
    ['liveness', 'success'],
    ['readiness', 'failure'],
    ['startup', 'unknown'],
  ])('%s is %s during it', async (probeType, during) => {
    status = runningFor(probeType);
    const tested = worker(probeType, { initialDelaySeconds: 10 });
    clock.advance(9999);
    expect(await tested.doProbe()).toBe(true);
    expect(results.get(containerID)).toBe(during);
    clock.advance(1);
    expect(await tested.doProbe()).toBe(true);
    expect(results.get(containerID)).toBe('success');
  });
});

describe('thresholds', () => {
  async function probeTimes(
    tested: ProbeWorker,
    finds: ProbeResult,
    times: number,
  ): Promise<(ProbeResult | undefined)[]> {
    found = finds;
    const seen: (ProbeResult | undefined)[] = [];
    for (let i = 0; i < times; i++) {
      expect(await tested.doProbe()).toBe(true);
      seen.push(results.get(containerID));
    }
    return seen;
  }

  it('TestFailureThreshold', async () => {
    const tested = worker('readiness', { successThreshold: 1, failureThreshold: 3 });
    status = runningFor('readiness');
    for (let round = 0; round < 2; round++) {
      expect(await probeTimes(tested, 'success', 3)).toEqual(['success', 'success', 'success']);
      expect(await probeTimes(tested, 'failure', 5)).toEqual(['success', 'success', 'failure', 'failure', 'failure']);
    }
  });

  it('TestSuccessThreshold', async () => {
    const tested = worker('readiness', { successThreshold: 3, failureThreshold: 1 });
    status = runningFor('readiness');
    for (let round = 0; round < 2; round++) {
      expect(await probeTimes(tested, 'success', 5)).toEqual(['failure', 'failure', 'success', 'success', 'success']);
      expect(await probeTimes(tested, 'failure', 1)).toEqual(['failure']);
    }
  });

  it('TestStartupProbeSuccessThreshold', async () => {
    const tested = worker('startup', { successThreshold: 1, failureThreshold: 3 });
    status = runningFor('startup');
    expect(await probeTimes(tested, 'success', 1)).toEqual(['success']);
    expect([tested.onHold, tested.resultRun]).toEqual([true, 0]);
  });

  it('TestStartupProbeFailureThreshold', async () => {
    const tested = worker('startup', { successThreshold: 1, failureThreshold: 3 });
    status = runningFor('startup');
    expect(await probeTimes(tested, 'failure', 2)).toEqual(['unknown', 'unknown']);
    expect([tested.onHold, tested.resultRun]).toEqual([false, 2]);
    expect(await probeTimes(tested, 'failure', 1)).toEqual(['failure']);
    expect([tested.onHold, tested.resultRun]).toEqual([true, 0]);
  });

  it.each<ProbeType>(['liveness', 'startup'])('TestOnHoldOnLivenessOrStartupCheckFailure %s', async (probeType) => {
    const tested = worker(probeType, { successThreshold: 1, failureThreshold: 1 });
    status = runningFor(probeType);
    await probeTimes(tested, 'failure', 1);
    expect(tested.onHold).toBe(true);
    expect(await probeTimes(tested, 'success', 1)).toEqual(['failure']);
    expect(probes).toBe(1);

    status = runningFor(probeType, 'test://newCont_ID');
    expect(await tested.doProbe()).toBe(true);
    expect(results.get('test://newCont_ID')).toBe('success');
    expect(results.get(containerID)).toBeUndefined();
    // A startup probe that has succeeded is on hold again.
    expect(tested.onHold).toBe(probeType === 'startup');
  });

  it.each<[string, ProbeType]>([
    ['TestResultRunOnLivenessCheckFailure', 'liveness'],
    ['TestResultRunOnStartupCheckFailure', 'startup'],
  ])('%s', async (_, probeType) => {
    const tested = worker(probeType, { successThreshold: 1, failureThreshold: 3 });
    status = runningFor(probeType);
    await probeTimes(tested, 'failure', 2);
    expect(tested.resultRun).toBe(2);
    await probeTimes(tested, 'failure', 1);
    // The run begins again with the container that comes next.
    expect(tested.resultRun).toBe(0);
  });

  it('TestLivenessProbeDisabledByStarted', async () => {
    const tested = worker('liveness', { successThreshold: 1, failureThreshold: 1 });
    status = statusWith(running(), { started: false });
    expect(await probeTimes(tested, 'failure', 1)).toEqual(['success']);
    status = statusWith(running(), { started: true });
    expect(await probeTimes(tested, 'failure', 1)).toEqual(['failure']);
  });

  it('TestStartupProbeDisabledByStarted', async () => {
    const tested = worker('startup', { successThreshold: 1, failureThreshold: 2 });
    status = statusWith(running(), { started: false });
    expect(await probeTimes(tested, 'failure', 1)).toEqual(['unknown']);
    status = statusWith(running(), { started: true });
    expect(await probeTimes(tested, 'failure', 3)).toEqual(['unknown', 'unknown', 'unknown']);
    expect(probes).toBe(1);
  });

  it('TestHandleCrash: a probe that cannot be made changes nothing', async () => {
    const tested = worker('readiness');
    status = runningFor('readiness');
    expect(await probeTimes(tested, 'success', 1)).toEqual(['success']);
    found = new Error('no such host');
    expect(await tested.doProbe()).toBe(true);
    expect(results.get(containerID)).toBe('success');
  });

  it('thresholds that a pod leaves out are those of the API server', async () => {
    const tested = worker('readiness');
    status = runningFor('readiness');
    await probeTimes(tested, 'success', 1);
    expect(await probeTimes(tested, 'failure', 3)).toEqual(['success', 'success', 'failure']);
  });
});

describe('after a restart of the agent', () => {
  it.each<[ProbeType, ProbeResult]>([
    ['readiness', 'failure'],
    ['liveness', 'success'],
    ['startup', 'unknown'],
  ])(
    'TestChangeContainerStatusOnKubeletRestart %s: no first result for a container that is older than the agent',
    async (probeType, firstResult) => {
      const probe = { initialDelaySeconds: 3600 };
      const firstResultOf = async (startedAtMs: number): Promise<ProbeResult | undefined> => {
        status = statusWith(running(startedAtMs), { started: probeType !== 'startup' });
        results = new ProbeResultsManager();
        await worker(probeType, probe, { agentStartedMs: 0 }).doProbe();
        return results.get(containerID);
      };
      expect(await firstResultOf(start - 60_000)).toBeUndefined();
      expect(await firstResultOf(start)).toBe(firstResult);
    },
  );

  it.each<[ProbeType, boolean, ProbeResult | undefined]>([
    ['startup', true, 'success'],
    ['liveness', true, undefined],
    ['readiness', true, undefined],
    // It is probed until it has started.
    ['startup', false, undefined],
  ])(
    'TestChangeContainerStatusOnKubeletRestart feature disabled, is restart, %s, sidecar, started %s',
    async (probeType, started, result) => {
      const { containerStatuses, ...rest } = statusWith(running(start - 300_000), { started });
      status = { ...rest, initContainerStatuses: containerStatuses! };
      const probe = { initialDelaySeconds: 1000 };
      const container: Container = {
        name: 'test_container',
        restartPolicy: 'Always',
        [`${probeType}Probe`]: probe,
      };
      await worker(probeType, probe, { container, agentStartedMs: 0 }).doProbe();
      expect(results.get(containerID)).toBe(result);
    },
  );

  it.each<[string, string, Partial<Container>, ProbeResult | undefined]>([
    ['the run that the API server shows as started stays started', containerID, {}, undefined],
    [
      'so does that of a sidecar, for which the next containers wait',
      containerID,
      { restartPolicy: 'Always' },
      'success',
    ],
    ['another run is probed for startup', 'test://earlier', {}, 'unknown'],
  ])('whatever the wall clock says: %s', async (_, shownID, fields, result) => {
    status = statusWith(running(start + 3_600_000));
    const container: Container = { name: 'test_container', startupProbe: {}, ...fields };
    const pod: ValidPod = {
      metadata: { uid: 'test_pod', name: 'test', namespace: 'default' },
      status: statusWith(running(), { id: shownID }),
    };
    await worker('startup', {}, { pod, container, agentStartedMs: 0 }).doProbe();
    expect([results.get(containerID), probes]).toEqual([result, 0]);
  });

  it.each([
    [10_001, undefined],
    [10_000, 'failure'],
  ])('a container that started %d ms before it has the first result %s', async (ageMs, result) => {
    status = statusWith(running(start - ageMs));
    await worker('readiness', { initialDelaySeconds: 60 }, { agentStartedMs: 0 }).doProbe();
    expect(results.get(containerID)).toBe(result);
  });

  it('first probes are spread over their period', async () => {
    status = runningFor('readiness');
    worker('readiness', { periodSeconds: 10 }, { agentStartedMs: 0 }).start();
    await clock.advanceAsync(4999);
    expect(probes).toBe(0);
    await clock.advanceAsync(1);
    expect(probes).toBe(1);
    await clock.advanceAsync(10_000);
    expect(probes).toBe(2);
  });
});

describe('the loop', () => {
  it.each(probeTypes)('TestCleanUp %s', async (probeType) => {
    status = runningFor(probeType);
    const tested = worker(probeType);
    tested.start();
    await clock.advanceAsync(0);
    expect(results.get(containerID)).toBe('success');
    for (let i = 0; i < 10; i++) tested.stop();
    await clock.advanceAsync(60_000);
    expect(results.get(containerID)).toBeUndefined();
    expect({ exits, probes, timers: clock.pendingTimers }).toEqual({ exits: 1, probes: 1, timers: 0 });
  });

  it('ends on its own when no probe remains', async () => {
    status = statusWith(terminated(0));
    worker('liveness').start();
    await clock.advanceAsync(0);
    expect({ exits, timers: clock.pendingTimers }).toEqual({ exits: 1, timers: 0 });
    expect(results.get(containerID)).toBeUndefined();
  });

  it('a trigger probes immediately, and the period begins again', async () => {
    status = runningFor('readiness');
    const tested = worker('readiness', { periodSeconds: 10 });
    tested.start();
    await clock.advanceAsync(6000);
    expect(probes).toBe(1);
    tested.trigger();
    await clock.advanceAsync(0);
    expect(probes).toBe(2);
    await clock.advanceAsync(9999);
    expect(probes).toBe(2);
    await clock.advanceAsync(1);
    expect(probes).toBe(3);
    tested.stop();
  });

  it('runs one probe at a time; ticks and triggers during it are merged into one', async () => {
    status = runningFor('readiness');
    let finish: (() => void) | undefined;
    const prober = {
      probe: () => {
        probes++;
        return new Promise<ProbeResult>((resolve) => (finish = () => resolve('success')));
      },
    };
    const tested = worker('readiness', { periodSeconds: 10 }, { prober: asBounded(prober) });
    tested.start();
    await clock.advanceAsync(0);
    tested.trigger();
    await clock.advanceAsync(35_000);
    expect(probes).toBe(1);
    finish!();
    await clock.advanceAsync(0);
    expect(probes).toBe(2);
    finish!();
    await clock.advanceAsync(9999);
    expect(probes).toBe(2);
    await clock.advanceAsync(1);
    expect(probes).toBe(3);
    tested.stop();
    finish!();
    await clock.advanceAsync(0);
    expect({ exits, timers: clock.pendingTimers }).toEqual({ exits: 1, timers: 0 });
  });

  it('ticks during a probe are merged into one, and later ticks keep their schedule', async () => {
    status = runningFor('readiness');
    const startedMs: number[] = [];
    const prober = {
      probe: async (): Promise<ProbeResult> => {
        startedMs.push(clock.monotonicMs());
        if (startedMs.length === 1) await new Promise<void>((resolve) => clock.afterFunc(35_000, resolve));
        return 'success';
      },
    };
    const tested = worker('readiness', { periodSeconds: 10 }, { prober: asBounded(prober) });
    tested.start();
    await clock.advanceAsync(50_000);
    tested.stop();
    expect(startedMs).toEqual([0, 35_000, 40_000, 50_000]);
  });

  it('a stop during a probe aborts it and drops its result', async () => {
    status = runningFor('readiness');
    let isAborted = false;
    const prober = {
      probe: (_: unknown, signal: AbortSignal) =>
        new Promise<ProbeResult>((resolve) =>
          signal.addEventListener('abort', () => {
            isAborted = true;
            resolve('success');
          }),
        ),
    };
    const updates: ProbeResult[] = [];
    results = new ProbeResultsManager(({ result }) => updates.push(result));
    const tested = worker('readiness', { successThreshold: 1 }, { prober: asBounded(prober) });
    tested.start();
    await clock.advanceAsync(0);
    tested.stop();
    await clock.advanceAsync(0);
    expect({ isAborted, exits, updates, result: results.get(containerID) }).toEqual({
      isAborted: true,
      exits: 1,
      updates: ['failure'],
      result: undefined,
    });
  });
});

it('each probe is counted by its type and result; how often does not depend on which results are shown', async () => {
  const probing = worker('liveness', { failureThreshold: 3 });
  status = statusWith({ running: { startedAt: '2026-01-01T00:00:00Z' } });
  for (found of ['success', 'failure', new Error('no such host')] as const) await probing.doProbe();
  expect(recorded).toEqual(
    ['success', 'failure', 'unknown'].map((each) => `node_agent_probes_total 1 liveness ${each}`),
  );
});
