import { describe, expect, it } from 'vitest';
import type { Container, EphemeralContainer, PodSpec, ResourceRequirementsInput } from 'kubelet-status-manager';
import type { ContainerRestartRule } from '../../../src/kube/objects/types.ts';
import type { ProbeResult, RuntimeContainerStatus, RuntimeSandboxStatus } from 'kubelet-status-manager/agent';
import { computePodActions } from '../../../src/agent/actions/compute-pod-actions.ts';
import { hashContainer } from '../../../src/node/runtime/hash-container.ts';
import { noProbeResults, type ProbeResults } from '../../../src/node/probes/probe-results.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../../src/node/runtime/runtime-pod-status.ts';

interface ExpectedActions {
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  readonly sandboxID: string;
  readonly attempt: number;
  readonly start: readonly string[];
  readonly startInit: readonly string[];
  readonly startEphemeral: readonly string[];
  /** Container IDs. */
  readonly kill: readonly string[];
}

/** One case of a table; what it does not say is as in the base pod of its table. */
interface Case {
  readonly spec?: Partial<PodSpec>;
  readonly runs?: readonly RuntimeContainerStatus[];
  readonly sandbox?: Partial<RuntimeSandboxStatus> | null;
  readonly probes?: Partial<ProbeResults>;
  readonly actions?: Partial<ExpectedActions>;
}

const noAction: ExpectedActions = {
  killPod: false,
  createSandbox: false,
  sandboxID: 'sandbox',
  attempt: 0,
  start: [],
  startInit: [],
  startEphemeral: [],
  kill: [],
};
const newSandbox: Partial<ExpectedActions> = { killPod: true, createSandbox: true, attempt: 1 };
const notReady = { ready: false };

const containers: Container[] = ['foo1', 'foo2', 'foo3'].map((name) => ({ name, image: 'busybox' }));
const withPolicies = (...policies: (string | undefined)[]): Container[] =>
  containers.map((container, i) => ({ ...container, restartPolicy: policies[i] }));

function run(
  { name, image }: Pick<Container, 'name' | 'image'>,
  state: RuntimeContainerState,
  rest: Partial<RuntimeContainerStatus> = {},
): RuntimeContainerStatus {
  return {
    id: `${name}-0`,
    name,
    sandboxID: 'sandbox',
    state,
    createdAtMs: 0,
    hash: hashContainer({ name, image }),
    ...rest,
  };
}

const running = containers.map((container) => run(container, 'running'));
const exited = (exitCode: number) => ({ state: 'exited', exitCode }) as const;
const unknown = { state: 'unknown' } as const;
const created = { state: 'created' } as const;
/** The runs with those at the given places changed. */
function changed(
  runs: readonly RuntimeContainerStatus[],
  changes: Readonly<Record<number, Partial<RuntimeContainerStatus>>>,
): RuntimeContainerStatus[] {
  return runs.map((status, i) => ({ ...status, ...changes[i] }));
}
const results = (result: ProbeResult, ...ids: string[]): Map<string, ProbeResult> =>
  new Map(ids.map((id) => [id, result]));

function actionsOf(base: Required<Pick<Case, 'spec' | 'runs'>>, test: Case, restartAllContainers = false) {
  const spec = { ...base.spec, ...test.spec };
  const sandbox: RuntimeSandboxStatus = { id: 'sandbox', ready: true, network: { ip: '10.0.0.1' } };
  const runtimeStatus: RuntimePodStatus = {
    sandboxes: test.sandbox === null ? [] : [{ ...sandbox, ...test.sandbox }],
    containers: test.runs ?? base.runs,
  };
  const pod = { metadata: { name: 'foo', namespace: 'new', uid: '12345678' }, spec };
  return computePodActions(pod, runtimeStatus, { ...noProbeResults, ...test.probes }, restartAllContainers);
}

function expectActions(base: Required<Pick<Case, 'spec' | 'runs'>>, test: Case): void {
  const actions = actionsOf(base, test);
  const names = (list: readonly (Container | EphemeralContainer)[]): string[] => list.map(({ name }) => name);
  expect(actions.containersToReset).toEqual([]);
  expect({
    killPod: actions.killPod,
    createSandbox: actions.createSandbox,
    sandboxID: actions.sandboxID,
    attempt: actions.attempt,
    start: names(actions.containersToStart),
    startInit: names(actions.initContainersToStart),
    startEphemeral: names(actions.ephemeralContainersToStart),
    kill: actions.containersToKill.map(({ containerID }) => containerID),
  }).toEqual({ ...noAction, ...test.actions });
}

const all = ['foo1', 'foo2', 'foo3'];

describe('TestComputePodActions', () => {
  it.each<[string, Case]>([
    ['everything is good; do nothing', {}],
    [
      'start pod sandbox and all containers for a new pod',
      {
        sandbox: null,
        runs: [],
        actions: { killPod: true, createSandbox: true, sandboxID: '', attempt: 0, start: all },
      },
    ],
    [
      'restart exited containers if RestartPolicy == Always',
      {
        spec: { restartPolicy: 'Always' },
        runs: changed(running, { 0: exited(0), 1: exited(111) }),
        actions: { start: ['foo1', 'foo2'] },
      },
    ],
    [
      'restart failed containers if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        runs: changed(running, { 0: exited(0), 1: exited(111) }),
        actions: { start: ['foo2'] },
      },
    ],
    [
      'restart created but not started containers if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        runs: changed(running, { 0: exited(0), 1: created }),
        actions: { start: ['foo2'] },
      },
    ],
    [
      "don't restart containers if RestartPolicy == Never",
      { spec: { restartPolicy: 'Never' }, runs: changed(running, { 0: exited(0), 1: exited(111) }) },
    ],
    [
      'Kill pod and recreate everything if the pod sandbox is dead, and RestartPolicy == Always',
      { spec: { restartPolicy: 'Always' }, sandbox: notReady, actions: { ...newSandbox, start: all } },
    ],
    [
      'Kill pod and recreate all containers (except for the succeeded one) if the pod sandbox is dead, and RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        sandbox: notReady,
        runs: changed(running, { 1: exited(0) }),
        actions: { ...newSandbox, start: ['foo1', 'foo3'] },
      },
    ],
    [
      'Kill pod and recreate all containers if the PodSandbox does not have an IP',
      { sandbox: { network: { ip: '' } }, actions: { ...newSandbox, start: all } },
    ],
    [
      "Kill and recreate the container if the container's spec changed",
      {
        spec: { restartPolicy: 'Always' },
        runs: changed(running, { 1: { hash: '19c64c08' } }),
        actions: { kill: ['foo2-0'], start: ['foo2'] },
      },
    ],
    [
      'Kill and recreate the container if the liveness check has failed',
      {
        spec: { restartPolicy: 'Always' },
        probes: { liveness: results('failure', 'foo2-0') },
        actions: { kill: ['foo2-0'], start: ['foo2'] },
      },
    ],
    [
      'Kill and recreate the container if the startup check has failed',
      {
        spec: { restartPolicy: 'Always' },
        probes: { startup: results('failure', 'foo2-0') },
        actions: { kill: ['foo2-0'], start: ['foo2'] },
      },
    ],
    [
      'Verify we do not create a pod sandbox if no ready sandbox for pod with RestartPolicy=Never and all containers exited',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: { ...notReady, attempt: 1 },
        runs: changed(running, { 0: exited(0), 1: exited(0), 2: exited(0) }),
        actions: { killPod: true, attempt: 2 },
      },
    ],
    [
      'Verify we do not create a pod sandbox if no ready sandbox for pod with RestartPolicy=OnFailure and all containers succeeded',
      {
        spec: { restartPolicy: 'OnFailure' },
        sandbox: { ...notReady, attempt: 1 },
        runs: changed(running, { 0: exited(0), 1: exited(0), 2: exited(0) }),
        actions: { killPod: true, attempt: 2 },
      },
    ],
    [
      'Verify we create a pod sandbox if no ready sandbox for pod with RestartPolicy=Never and no containers have ever been created',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: { ...notReady, attempt: 2 },
        runs: [],
        actions: { ...newSandbox, attempt: 3, start: all },
      },
    ],
    [
      'a pod whose sandbox is gone is created again, even with RestartPolicy=Never and containers that exited',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: null,
        runs: changed(running, { 0: exited(0) }),
        actions: { ...newSandbox, sandboxID: '', attempt: 0, start: all },
      },
    ],
    [
      'Kill and recreate the container if the container is in unknown state',
      {
        spec: { restartPolicy: 'Never' },
        runs: changed(running, { 1: unknown }),
        actions: { kill: ['foo2-0'], start: ['foo2'] },
      },
    ],
    [
      'Restart the container if the container is in created state',
      { spec: { restartPolicy: 'Never' }, runs: changed(running, { 1: created }), actions: { start: ['foo2'] } },
    ],
  ])('%s', (_, test) => expectActions({ spec: { containers }, runs: running }, test));
});

const initContainers: Container[] = ['init1', 'init2', 'init3'].map((name) => ({ name, image: 'bar-image' }));
const completed = initContainers.map((container) => run(container, 'exited'));

describe('TestComputePodActionsWithInitContainers', () => {
  it.each<[string, Case]>([
    ['initialization completed; start all containers', { actions: { start: all } }],
    ['no init containers have been started; start the first one', { runs: [], actions: { startInit: ['init1'] } }],
    [
      'initialization in progress; do nothing',
      { spec: { restartPolicy: 'Always' }, runs: changed(completed, { 2: { state: 'running' } }) },
    ],
    [
      'Kill pod and restart the first init container if the pod sandbox is dead',
      { spec: { restartPolicy: 'Always' }, sandbox: notReady, actions: { ...newSandbox, startInit: ['init1'] } },
    ],
    [
      'initialization failed; restart the last init container if RestartPolicy == Always',
      {
        spec: { restartPolicy: 'Always' },
        runs: changed(completed, { 2: exited(137) }),
        actions: { startInit: ['init3'] },
      },
    ],
    [
      'initialization failed; restart the last init container if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        runs: changed(completed, { 2: exited(137) }),
        actions: { startInit: ['init3'] },
      },
    ],
    [
      'initialization failed; kill pod if RestartPolicy == Never',
      { spec: { restartPolicy: 'Never' }, runs: changed(completed, { 2: exited(137) }), actions: { killPod: true } },
    ],
    [
      'init container state unknown; kill and recreate the last init container if RestartPolicy == Always',
      {
        spec: { restartPolicy: 'Always' },
        runs: changed(completed, { 2: unknown }),
        actions: { startInit: ['init3'], kill: ['init3-0'] },
      },
    ],
    [
      'init container state unknown; kill and recreate the last init container if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        runs: changed(completed, { 2: unknown }),
        actions: { startInit: ['init3'], kill: ['init3-0'] },
      },
    ],
    [
      'init container state unknown; kill pod if RestartPolicy == Never',
      { spec: { restartPolicy: 'Never' }, runs: changed(completed, { 2: unknown }), actions: { killPod: true } },
    ],
    [
      'Pod sandbox not ready, init container failed, but RestartPolicy == Never; kill pod only',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: { ready: false, attempt: 1 },
        actions: { killPod: true, attempt: 2 },
      },
    ],
    [
      'Pod sandbox not ready, and RestartPolicy == Never, but no visible init containers; create a new pod sandbox',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: notReady,
        runs: [],
        actions: { ...newSandbox, startInit: ['init1'] },
      },
    ],
    [
      'Pod sandbox not ready, init container failed, and RestartPolicy == OnFailure; create a new pod sandbox',
      {
        spec: { restartPolicy: 'OnFailure' },
        sandbox: notReady,
        runs: changed(completed, { 2: exited(137) }),
        actions: { ...newSandbox, startInit: ['init1'] },
      },
    ],
    [
      "some of the init container statuses are missing but the last init container is running, don't restart preceding ones",
      { spec: { restartPolicy: 'Always' }, runs: changed(completed, { 2: { state: 'running' } }).slice(2) },
    ],
    [
      'an init container is in the created state due to an unknown error when starting container; restart it',
      {
        spec: { restartPolicy: 'Always' },
        runs: changed(completed, { 2: created }),
        actions: { startInit: ['init3'] },
      },
    ],
  ])('%s', (_, test) => expectActions({ spec: { containers, initContainers }, runs: completed }, test));

  it('an init container whose process was killed for memory has failed, even with exit code 0', () => {
    expectActions(
      { spec: { containers, initContainers, restartPolicy: 'Never' }, runs: completed },
      { runs: changed(completed, { 2: { reason: 'OOMKilled' } }), actions: { killPod: true } },
    );
  });

  it('the containers of an earlier sandbox do not count as initialized, running or not', () => {
    const earlier = [...running, ...completed].map((status) => ({ ...status, sandboxID: 'an earlier one' }));
    expectActions({ spec: { containers, initContainers }, runs: earlier }, { actions: { startInit: ['init1'] } });
  });
});

const sidecars: Container[] = [1, 2, 3].map((n) => ({
  name: `restartable-init-${n}`,
  image: 'bar-image',
  restartPolicy: 'Always',
  ...(n > 1 && { livenessProbe: {}, startupProbe: {} }),
}));
const sidecarsRunning = sidecars.map((container) => run(container, 'running'));
const [first, second, third] = sidecarsRunning.map(({ name }) => name) as [string, string, string];
const secondID = `${second}-0`;
const thirdID = `${third}-0`;

describe('TestComputePodActionsWithRestartableInitContainers', () => {
  const succeeded = results('success', secondID, thirdID);
  const only = (count: number): RuntimeContainerStatus[] => sidecarsRunning.slice(0, count);
  const without = (id: string): Map<string, ProbeResult> => new Map([...succeeded].filter(([key]) => key !== id));
  const withResult = (id: string, result: ProbeResult): Map<string, ProbeResult> =>
    new Map([...succeeded, [id, result]]);

  it.each<[string, Case]>([
    ['initialization completed; start all containers', { actions: { start: all } }],
    ['no init containers have been started; start the first one', { runs: [], actions: { startInit: [first] } }],
    [
      'an init container is stuck in the created state; restart it',
      { runs: changed(sidecarsRunning, { 2: created }), actions: { startInit: [third] } },
    ],
    ['restartable init container has started; start the next', { runs: only(1), actions: { startInit: [second] } }],
    [
      'livenessProbe has not been run; start the nothing',
      { runs: only(2), probes: { liveness: without(secondID) }, actions: { startInit: [third] } },
    ],
    [
      'livenessProbe in progress; start the next',
      { runs: only(2), probes: { liveness: withResult(secondID, 'unknown') }, actions: { startInit: [third] } },
    ],
    ['livenessProbe has completed; start the next', { runs: only(2), actions: { startInit: [third] } }],
    [
      'kill and recreate the restartable init container if the liveness check has failed',
      {
        probes: { liveness: withResult(thirdID, 'failure') },
        actions: { startInit: [third], kill: [thirdID], start: all },
      },
    ],
    ['startupProbe has not been run; do nothing', { runs: only(2), probes: { startup: without(secondID) } }],
    ['startupProbe in progress; do nothing', { runs: only(2), probes: { startup: withResult(secondID, 'unknown') } }],
    ['startupProbe has completed; start the next', { runs: only(2), actions: { startInit: [third] } }],
    [
      'kill and recreate the restartable init container if the startup check has failed',
      { probes: { startup: withResult(thirdID, 'failure') }, actions: { startInit: [third], kill: [thirdID] } },
    ],
    [
      'kill and recreate the restartable init container if the container definition changes',
      {
        spec: { initContainers: [sidecars[0]!, sidecars[1]!, { ...sidecars[2]!, image: 'foo-image' }] },
        actions: { startInit: [third], kill: [thirdID], start: all },
      },
    ],
    [
      'restart terminated restartable init container and next init container',
      { runs: changed(sidecarsRunning, { 0: exited(0), 2: exited(0) }), actions: { startInit: [first, third] } },
    ],
    [
      'restart terminated restartable init container and regular containers',
      { runs: changed(sidecarsRunning, { 0: exited(0) }), actions: { startInit: [first], start: all } },
    ],
    [
      'Pod sandbox not ready, restartable init container failed, but RestartPolicy == Never; kill pod only',
      {
        spec: { restartPolicy: 'Never' },
        sandbox: notReady,
        runs: changed(sidecarsRunning, { 2: exited(137) }),
        actions: { killPod: true, attempt: 1 },
      },
    ],
    [
      'Pod sandbox not ready, and RestartPolicy == Never, but no visible restartable init containers; create a new pod sandbox',
      { spec: { restartPolicy: 'Never' }, sandbox: notReady, runs: [], actions: { ...newSandbox, startInit: [first] } },
    ],
    [
      'Pod sandbox not ready, restartable init container failed, and RestartPolicy == OnFailure; create a new pod sandbox',
      {
        spec: { restartPolicy: 'OnFailure' },
        sandbox: notReady,
        runs: changed(sidecarsRunning, { 2: exited(137) }),
        actions: { ...newSandbox, startInit: [first] },
      },
    ],
    [
      'Pod sandbox not ready, restartable init container failed, and RestartPolicy == Always; create a new pod sandbox',
      {
        spec: { restartPolicy: 'Always' },
        sandbox: notReady,
        runs: changed(sidecarsRunning, { 2: exited(137) }),
        actions: { ...newSandbox, startInit: [first] },
      },
    ],
    [
      "initialization failed; restart the last restartable init container even if pod's RestartPolicy == Never",
      {
        spec: { restartPolicy: 'Never' },
        runs: changed(sidecarsRunning, { 2: exited(137) }),
        actions: { startInit: [third] },
      },
    ],
    [
      "restartable init container state unknown; kill and recreate the last restartable init container even if pod's RestartPolicy == Never",
      {
        spec: { restartPolicy: 'Never' },
        runs: changed(sidecarsRunning, { 2: unknown }),
        actions: { startInit: [third], kill: [thirdID] },
      },
    ],
    [
      "restart restartable init container if regular containers are running even if pod's RestartPolicy == Never",
      {
        spec: { restartPolicy: 'Never' },
        runs: [...changed(sidecarsRunning, { 2: exited(137) }), ...running],
        actions: { startInit: [third] },
      },
    ],
    [
      "kill the pod if all main containers succeeded if pod's RestartPolicy == Never",
      {
        spec: { restartPolicy: 'Never' },
        runs: [...sidecarsRunning, ...containers.map((container) => run(container, 'exited'))],
        actions: { killPod: true },
      },
    ],
    [
      'some of the init container statuses are missing but the last init container is running, restart restartable init and regular containers',
      { runs: sidecarsRunning.slice(2), actions: { startInit: [first, second], start: all } },
    ],
  ])('%s', (_, { probes, ...test }) =>
    expectActions(
      { spec: { containers, initContainers: sidecars, restartPolicy: 'Always' }, runs: sidecarsRunning },
      { ...test, probes: { liveness: succeeded, startup: succeeded, ...probes } },
    ),
  );
});

describe('TestComputePodActionsWithInitAndEphemeralContainers', () => {
  const init: Container = { name: 'init1', image: 'bar-image' };
  const debug: EphemeralContainer = { name: 'debug', image: 'busybox' };
  const steady = [...running, run(init, 'exited'), run(debug, 'running')];

  it.each<[string, Case]>([
    ['steady state; do nothing; ignore ephemeral container', {}],
    [
      'No ephemeral containers running; start one',
      { runs: steady.slice(0, 4), actions: { startEphemeral: ['debug'] } },
    ],
    [
      'Start second ephemeral container',
      {
        spec: { ephemeralContainers: [debug, { name: 'debug2', image: 'busybox' }] },
        actions: { startEphemeral: ['debug2'] },
      },
    ],
    [
      'Ephemeral container exited; do not restart',
      { spec: { restartPolicy: 'Always' }, runs: changed(steady, { 4: exited(0) }) },
    ],
    [
      'initialization in progress; start ephemeral container',
      {
        runs: changed(steady, { 3: { state: 'running' } }).slice(0, 4),
        actions: { startEphemeral: ['debug'] },
      },
    ],
    [
      'Create a new pod sandbox if the pod sandbox is dead, init container failed and RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'OnFailure' },
        sandbox: notReady,
        runs: changed(steady, { 3: exited(137) }).slice(3),
        actions: { ...newSandbox, startInit: ['init1'] },
      },
    ],
    [
      'Kill pod and do not restart ephemeral container if the pod sandbox is dead',
      { spec: { restartPolicy: 'Always' }, sandbox: notReady, actions: { ...newSandbox, startInit: ['init1'] } },
    ],
    [
      'Kill pod if all containers exited except ephemeral container',
      {
        spec: { restartPolicy: 'Never' },
        runs: changed(steady, { 0: exited(0), 1: exited(0), 2: exited(0) }),
        actions: { killPod: true },
      },
    ],
    [
      'Ephemeral container is in unknown state; leave it alone',
      { spec: { restartPolicy: 'Never' }, runs: changed(steady, { 4: unknown }) },
    ],
  ])('%s', (_, test) =>
    expectActions({ spec: { containers, initContainers: [init], ephemeralContainers: [debug] }, runs: steady }, test),
  );
});

describe('TestComputePodActionsWithContainerRestartRules', () => {
  it.each<[string, Case]>([
    [
      'restart exited containers if RestartPolicy == Always',
      {
        spec: { restartPolicy: 'Never', containers: withPolicies('Always', 'Always') },
        runs: changed(running, { 0: exited(0), 1: exited(111) }),
        actions: { start: ['foo1', 'foo2'] },
      },
    ],
    [
      'restart failed containers if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'Never', containers: withPolicies('OnFailure', 'OnFailure') },
        runs: changed(running, { 0: exited(0), 1: exited(111) }),
        actions: { start: ['foo2'] },
      },
    ],
    [
      'restart created but not started containers if RestartPolicy == OnFailure',
      {
        spec: { restartPolicy: 'Never', containers: withPolicies('OnFailure', 'OnFailure') },
        runs: changed(running, { 0: exited(0), 1: created }),
        actions: { start: ['foo2'] },
      },
    ],
    [
      "don't restart containers if RestartPolicy == Never",
      {
        spec: { restartPolicy: 'Always', containers: withPolicies('Never', 'Never') },
        runs: changed(running, { 0: exited(0), 1: exited(111) }),
      },
    ],
    [
      'Kill pod and recreate all containers (except for the succeeded one) if the pod sandbox is dead',
      {
        spec: { restartPolicy: 'Always', containers: withPolicies(undefined, 'OnFailure') },
        sandbox: notReady,
        runs: changed(running, { 1: exited(0) }),
        actions: { ...newSandbox, start: ['foo1', 'foo3'] },
      },
    ],
  ])('%s', (_, test) => expectActions({ spec: { containers }, runs: running }, test));

  it.each([
    [42, ['foo1']],
    [1, []],
  ])('a rule of the container decides before its policy: exit code %d', (exitCode, start) => {
    const rules: ContainerRestartRule[] = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
    const [container, ...others] = containers as [Container, ...Container[]];
    expectActions(
      {
        spec: { containers: [{ ...container, restartPolicy: 'Never', restartPolicyRules: rules }, ...others] },
        runs: changed(running, { 0: exited(exitCode) }),
      },
      { actions: { start } },
    );
  });
});

describe('TestComputePodActionsForRestartAllContainers', () => {
  const restartAll: ContainerRestartRule[] = [
    { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } },
  ];
  const source: Container = { ...containers[2]!, restartPolicy: 'Always', restartPolicyRules: restartAll };
  const spec = { containers: [...containers.slice(0, 2), source], initContainers, restartPolicy: 'Always' };
  const resetOf = (runs: readonly RuntimeContainerStatus[], restartAllContainers = true) =>
    actionsOf({ spec, runs }, {}, restartAllContainers).containersToReset.map(
      ({ containerID, container: { name }, kill }) => [containerID, name, kill],
    );

  it('pod not marked for RestartAllContainers', () => {
    expect(resetOf(running, false)).toEqual([]);
    expectActions({ spec: { containers }, runs: running }, {});
  });

  it('pod marked for RestartAllContainers', () => {
    expect(resetOf(running)).toEqual(containers.map(({ name }) => [`${name}-0`, name, true]));
  });

  it('nothing else is done while containers are removed, even without a sandbox', () => {
    const { containersToReset, ...actions } = actionsOf({ spec, runs: running }, { sandbox: notReady }, true);
    expect(containersToReset).toHaveLength(3);
    expect(actions).toMatchObject({ containersToStart: [], initContainersToStart: [], containersToKill: [] });
  });

  it('removes past terminated statuses', () => {
    const past = containers.map((container) =>
      run(container, 'exited', { id: `${container.name}-past`, exitCode: 99 }),
    );
    expect(resetOf([...changed(running, { 2: exited(1) }), ...past])).toEqual([
      ['foo1-0', 'foo1', true],
      ['foo1-past', 'foo1', false],
      ['foo2-0', 'foo2', true],
      ['foo2-past', 'foo2', false],
      ['foo3-past', 'foo3', false],
      // The one whose exit called for the restart goes last.
      ['foo3-0', 'foo3', false],
    ]);
  });

  it('init containers are removed after the regular ones', () => {
    expect(resetOf([...changed(running, { 2: exited(1) }), completed[0]!]).map(([id]) => id)).toEqual([
      'foo1-0',
      'foo2-0',
      'init1-0',
      'foo3-0',
    ]);
  });

  it('all containers removed, start regular container', () => {
    expectActions({ spec: { containers }, runs: [] }, { actions: { start: all } });
  });

  it('all containers removed, start the first init container', () => {
    expectActions({ spec, runs: [] }, { actions: { startInit: ['init1'] } });
  });
});

describe('TestComputePodActionsForPodResize', () => {
  const cpuRestart = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
  const memoryRestart = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  const limits = (cpu: string, memory: string): ResourceRequirementsInput => ({ limits: { cpu, memory } });
  const small = limits('100m', '100Mi');
  const large = limits('200m', '200Mi');
  type Actuated = Readonly<Record<string, ResourceRequirementsInput>>;
  type ResizeCase = Pick<Case, 'spec' | 'runs'> & { readonly actuatedPod?: ResourceRequirementsInput };

  function resizeActions(
    changes: Readonly<Record<number, Partial<Container>>>,
    actuated: Actuated,
    { spec = {}, runs = running, actuatedPod }: ResizeCase = {},
  ) {
    const pod = {
      metadata: { uid: '12345678' },
      spec: { restartPolicy: 'Always', containers: containers.map((base, i) => ({ ...base, ...changes[i] })), ...spec },
    };
    const runtimeStatus = {
      sandboxes: [{ id: 'sandbox', ready: true, network: { ip: '10.0.0.1' } }],
      containers: runs,
    };
    const actions = computePodActions(pod, runtimeStatus, noProbeResults, false, {
      resources: actuatedPod,
      ofContainer: (name) => actuated[name],
    });
    return {
      update: actions.containersToUpdate.map(({ container, containerID, resource }) => [
        ...[container.name, containerID, resource],
      ]),
      kill: actions.containersToKill.map(({ containerID, message, reason }) => [containerID, message, reason]),
      start: [...actions.initContainersToStart, ...actions.containersToStart].map(({ name }) => name),
      killPod: actions.killPod,
      ...(actions.updatePodResources && { updatePodResources: true }),
    };
  }
  const nothing = { update: [], kill: [], start: [], killPod: false };
  const updates = (name: string, ...resources: string[]) => resources.map((resource) => [name, `${name}-0`, resource]);
  const restart = (name: string) => ({
    ...nothing,
    kill: [[`${name}-0`, `Container ${name} resize requires restart`, '']],
    start: [name],
    updatePodResources: true,
  });

  it.each<[string, Readonly<Record<number, Partial<Container>>>, Actuated, object]>([
    [
      'Update container CPU and memory resources',
      { 1: { resources: small } },
      { foo2: large },
      { update: updates('foo2', 'memory', 'cpu') },
    ],
    [
      'Update container CPU resources',
      { 1: { resources: small } },
      { foo2: limits('200m', '100Mi') },
      { update: updates('foo2', 'cpu') },
    ],
    [
      'Update container memory resources',
      { 2: { resources: large } },
      { foo3: limits('200m', '100Mi') },
      { update: updates('foo3', 'memory') },
    ],
    [
      'Nothing when spec.Resources and status.Resources are equal',
      { 1: { resources: { limits: { cpu: '200m' } } } },
      { foo2: { limits: { cpu: '0.2' } } },
      {},
    ],
    ['Nothing when spec.Resources and status.Resources are equal (besteffort)', {}, { foo2: {} }, {}],
    [
      'Update container CPU and memory resources with Restart policy for CPU',
      { 0: { resources: large, resizePolicy: cpuRestart } },
      { foo1: small },
      restart('foo1'),
    ],
    [
      'Update container CPU and memory resources with Restart policy for memory',
      { 2: { resources: large, resizePolicy: memoryRestart } },
      { foo3: small },
      restart('foo3'),
    ],
    [
      'Update container memory resources with Restart policy for CPU',
      { 1: { resources: limits('100m', '200Mi'), resizePolicy: cpuRestart } },
      { foo2: small },
      { update: updates('foo2', 'memory') },
    ],
    [
      'Update container CPU resources with Restart policy for memory',
      { 2: { resources: limits('200m', '100Mi'), resizePolicy: memoryRestart } },
      { foo3: small },
      { update: updates('foo3', 'cpu') },
    ],
    [
      'Update container memory (requests only) with RestartContainer policy for memory',
      { 2: { resources: { ...large, requests: { memory: '100Mi' } }, resizePolicy: memoryRestart } },
      { foo3: { ...large, requests: { memory: '200Mi' } } },
      restart('foo3'),
    ],
    [
      'Update container memory (requests only) with RestartNotRequired policy for memory',
      { 2: { resources: { ...large, requests: { memory: '100Mi' } } } },
      { foo3: { ...large, requests: { memory: '200Mi' } } },
      { update: updates('foo3', 'memory') },
    ],
    [
      'decreases before increases, memory before CPU',
      { 0: { resources: large }, 1: { resources: small }, 2: { resources: small } },
      { foo1: small, foo2: large, foo3: large },
      {
        update: [
          ...updates('foo3', 'memory'),
          ...updates('foo2', 'memory'),
          ...updates('foo1', 'memory'),
          ...updates('foo3', 'cpu'),
          ...updates('foo2', 'cpu'),
          ...updates('foo1', 'cpu'),
        ],
      },
    ],
  ])('%s', (_, changes, actuated, expected) => {
    expect(resizeActions(changes, actuated)).toEqual({ ...nothing, ...expected });
  });

  it('Update pod-level limits does not mutate container resources: they hold for containers without limits', () => {
    const spec = { resources: small, containers: [containers[0]!, containers[1]!] };
    const actuated = { foo1: small, foo2: { limits: { cpu: '100m' } } };
    expect(resizeActions({}, actuated, { spec, actuatedPod: small })).toEqual({
      ...nothing,
      update: updates('foo2', 'memory'),
    });
    expect(spec.containers[1]).toEqual(containers[1]);
  });

  it('a resize of pod-level resources alone updates the pod, and no container', () => {
    const spec = { resources: large, containers: [{ ...containers[0]!, resources: small }] };
    const actuated = { foo1: small };
    const runs = [running[0]!];
    const update = { ...nothing, updatePodResources: true };
    expect(resizeActions({}, actuated, { spec, runs, actuatedPod: small })).toEqual(update);
    expect(resizeActions({}, actuated, { spec, runs })).toEqual(update);
    expect(resizeActions({}, actuated, { spec, runs, actuatedPod: large })).toEqual(nothing);
  });

  it('nothing is resized without `actuated`', () => {
    const spec = { containers: [{ ...containers[0]!, resources: large }] };
    expect(actionsOf({ spec, runs: running }, {}).containersToUpdate).toEqual([]);
  });

  it('TestComputePodResizeActionForOOMKilledContainer: a container that is not running gets its resources when it is started', () => {
    const runs = changed(running, { 0: { ...exited(137), reason: 'OOMKilled' } });
    expect(resizeActions({ 0: { resources: large } }, { foo1: small }, { runs })).toEqual({
      ...nothing,
      start: ['foo1'],
      updatePodResources: true,
    });
  });

  const init: Container = { name: 'init1', image: 'bar', resources: large };
  const sidecar: Container = { ...init, restartPolicy: 'Always' };

  it('TestComputePodResizeActionForOOMKilledInitContainer', () => {
    const runs = [run(init, 'exited', { exitCode: 137, reason: 'OOMKilled' })];
    expect(resizeActions({}, { init1: small }, { spec: { initContainers: [init] }, runs })).toEqual({
      ...nothing,
      start: ['init1'],
      updatePodResources: true,
    });
  });

  it('TestComputePodResizeActionForOOMKilledSidecarContainer', () => {
    const runs = [...running, run(sidecar, 'exited', { exitCode: 137 })];
    expect(resizeActions({}, { init1: small }, { spec: { initContainers: [sidecar] }, runs })).toEqual({
      ...nothing,
      start: ['init1'],
      updatePodResources: true,
    });
  });

  it('a running init container and a running sidecar are resized; a sidecar is restarted if its policy says so', () => {
    const runs = [run(init, 'running')];
    const update = { ...nothing, update: updates('init1', 'memory', 'cpu') };
    expect(resizeActions({}, { init1: small }, { spec: { initContainers: [init] }, runs })).toEqual(update);
    const withApp = { runs: [...running, ...runs] };
    expect(resizeActions({}, { init1: small }, { spec: { initContainers: [sidecar] }, ...withApp })).toEqual(update);
    const initContainers = [{ ...sidecar, resizePolicy: cpuRestart }];
    expect(resizeActions({}, { init1: small }, { spec: { initContainers }, ...withApp })).toEqual(restart('init1'));
  });
});

describe('the message of the Killing event', () => {
  const kills = (test: Case) =>
    actionsOf(
      { spec: { containers: [containers[0]!], restartPolicy: 'Always' }, runs: [running[0]!] },
      test,
    ).containersToKill.map(({ message, reason }) => [message, reason]);

  it.each<[string, string, Case]>([
    ['Container foo1 definition changed, will be restarted', '', { runs: [{ ...running[0]!, hash: '0' }] }],
    [
      'Container foo1 failed liveness probe, will be restarted',
      'LivenessProbe',
      { probes: { liveness: results('failure', 'foo1-0') } },
    ],
    [
      'Container foo1 failed startup probe',
      'StartupProbe',
      { spec: { restartPolicy: 'Never' }, probes: { startup: results('failure', 'foo1-0') } },
    ],
    [
      'Container is in "unknown" state, try killing it before restart',
      'Unknown',
      { runs: [{ ...running[0]!, state: 'unknown' }] },
    ],
  ])('%s', (message, reason, test) => expect(kills(test)).toEqual([[message, reason]]));

  const sidecar: Container = {
    ...{ name: 'sidecar', image: 'bar-image', restartPolicy: 'Always' },
    ...{ livenessProbe: {}, startupProbe: {} },
  };
  const sidecarRun = run(sidecar, 'running');
  const ready = { startup: results('success', 'sidecar-0'), liveness: results('success', 'sidecar-0') };
  it.each<[string, string, Case]>([
    ['Init container sidecar definition changed', '', { runs: [{ ...sidecarRun, hash: '0' }] }],
    [
      'Init container sidecar failed liveness probe',
      'LivenessProbe',
      { probes: { ...ready, liveness: results('failure', 'sidecar-0') } },
    ],
    [
      'Init container sidecar failed startup probe',
      'StartupProbe',
      { probes: { ...ready, startup: results('failure', 'sidecar-0') } },
    ],
    [
      'Init container is in "unknown" state, try killing it before restart',
      'Unknown',
      { runs: [{ ...sidecarRun, state: 'unknown' }] },
    ],
    [
      'Init container is in "unknown" state, try killing it before restart',
      'Unknown',
      {
        spec: { initContainers: [{ name: 'sidecar', image: 'bar-image' }] },
        runs: [{ ...sidecarRun, state: 'unknown' }],
      },
    ],
  ])('of an init container: %s', (message, reason, { spec, runs = [sidecarRun], probes = ready }) => {
    const base = { initContainers: [sidecar], containers: [containers[0]!], ...spec };
    const { containersToKill } = actionsOf({ spec: base, runs }, { probes });
    expect(containersToKill.map((kill) => [kill.container.name, kill.message, kill.reason])).toEqual([
      ['sidecar', message, reason],
    ]);
  });

  it('a sidecar without a hash in the runtime is never restarted because of its spec', () => {
    const { hash: _, ...withoutHash } = sidecarRun;
    const base = { initContainers: [{ ...sidecar, image: 'another' }], containers: [containers[0]!] };
    expect(actionsOf({ spec: base, runs: [withoutHash] }, { probes: ready }).containersToKill).toEqual([]);
  });

  it('a container without a hash in the runtime is never restarted because of its spec', () => {
    const { hash: _, ...withoutHash } = running[0]!;
    expect(kills({ runs: [withoutHash] })).toEqual([]);
  });
});

describe('TestPodSandboxChanged', () => {
  type Sandboxes = readonly RuntimeSandboxStatus[];
  const sandbox: RuntimeSandboxStatus = { id: 'a', ready: true, attempt: 1, network: { ip: '10.0.0.1' } };
  const changeOf = (sandboxes: Sandboxes, spec: Partial<PodSpec> = {}) => {
    const pod = { metadata: { uid: '1' }, spec: { containers, ...spec } };
    const { createSandbox, killPod, attempt, sandboxID } = computePodActions(
      pod,
      { sandboxes, containers: running.map((each) => ({ ...each, sandboxID: 'a' })) },
      noProbeResults,
    );
    expect(killPod).toBe(createSandbox);
    return { changed: createSandbox, attempt, sandboxID };
  };

  it.each<[string, Sandboxes, Partial<PodSpec>, ReturnType<typeof changeOf>]>([
    ['none', [], {}, { changed: true, attempt: 0, sandboxID: '' }],
    ['one that is ready', [sandbox], {}, { changed: false, attempt: 1, sandboxID: 'a' }],
    ['one without a number', [{ ...sandbox, attempt: undefined }], {}, { changed: false, attempt: 0, sandboxID: 'a' }],
    ['one that is not ready', [{ ...sandbox, ready: false }], {}, { changed: true, attempt: 2, sandboxID: 'a' }],
    [
      'an older one that is ready, too',
      [sandbox, { ...sandbox, id: 'b', attempt: 0 }],
      {},
      { changed: true, attempt: 2, sandboxID: 'a' },
    ],
    [
      'an older one that is not ready',
      [sandbox, { ...sandbox, id: 'b', ready: false, attempt: 0 }],
      {},
      { changed: false, attempt: 1, sandboxID: 'a' },
    ],
    [
      'a newest one that is not ready, with an older one that is',
      [
        { ...sandbox, ready: false },
        { ...sandbox, id: 'b', attempt: 4 },
      ],
      {},
      { changed: true, attempt: 5, sandboxID: 'a' },
    ],
    [
      'one without the network of the host that the pod wants',
      [sandbox],
      { hostNetwork: true },
      { changed: true, attempt: 2, sandboxID: '' },
    ],
    [
      'one with the network of the host that the pod does not want',
      [{ ...sandbox, hostNetwork: true }],
      {},
      { changed: true, attempt: 2, sandboxID: '' },
    ],
    [
      'one with the network of the host, which needs no address',
      [{ ...sandbox, hostNetwork: true, network: { ip: '' } }],
      { hostNetwork: true },
      { changed: false, attempt: 1, sandboxID: 'a' },
    ],
    ['one without address', [{ ...sandbox, network: {} }], {}, { changed: true, attempt: 2, sandboxID: 'a' }],
    [
      'one of a runtime that does not say its address',
      [{ ...sandbox, network: undefined }],
      {},
      { changed: false, attempt: 1, sandboxID: 'a' },
    ],
  ])('%s', (_, sandboxes, spec, expected) => expect(changeOf(sandboxes, spec)).toEqual(expected));
});

describe('a run that the runtime has lost', () => {
  const lost = [run(containers[0]!, 'exited', { exitCode: 0, hash: undefined })];
  const startedWith = (spec: Partial<PodSpec>, sandboxes: RuntimePodStatus['sandboxes']) => {
    const pod = { metadata: { uid: '1' }, spec: { containers, ...spec } };
    const runtimeStatus = { sandboxes, containers: running.slice(1) };
    const actions = computePodActions(pod, runtimeStatus, noProbeResults, false, undefined, lost);
    return actions.containersToStart.map(({ name }) => name);
  };
  const sandbox = { id: 'sandbox', ready: true, network: { ip: '10.0.0.1' } };

  it('is not started again', () => {
    expect(startedWith({ restartPolicy: 'Never' }, [sandbox])).toEqual([]);
  });

  it('is not started in a new sandbox either, unlike the others', () => {
    for (const restartPolicy of ['OnFailure', 'Always'])
      expect(startedWith({ restartPolicy }, [{ ...sandbox, ready: false }])).toEqual(['foo2', 'foo3']);
  });
});
