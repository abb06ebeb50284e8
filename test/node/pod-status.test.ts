import { describe, expect, it } from 'vitest';
import type { Container, ContainerStatusInput, ValidPod } from 'kubelet-status-manager';
import { canonicalPodStatus } from '../../src/status-manager/status/canonical.ts';
import { timeFromEpochMs } from '../../src/shared/time.ts';
import type { ProbeResult, RuntimeContainerStatus } from 'kubelet-status-manager/agent';
import { convertToAPIContainerStatuses } from '../../src/node/status/convert-container-statuses.ts';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import { updatePodStatus } from '../../src/node/status/probed-statuses.ts';

const start = Date.parse('2026-01-02T03:04:05Z');
const run = (rest: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus => ({
  id: 'test://app-1',
  name: 'app',
  state: 'running',
  createdAtMs: start,
  startedAtMs: start,
  ...rest,
});
const resources = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', 'example.com/gpu': '1' } };
const pod: ValidPod = {
  metadata: { uid: 'uid', name: 'web', namespace: 'ns' },
  spec: { containers: [{ name: 'app', image: 'app:1', resources }], restartPolicy: 'Never' },
};

const lookup = (results: Record<string, ProbeResult>) => new Map(Object.entries(results));
const none = { startup: lookup({}), readiness: lookup({}), liveness: lookup({}) };

function statusOf(runs: RuntimeContainerStatus[], previous: ContainerStatusInput[] = []): ContainerStatusInput {
  const [status] = convertToAPIContainerStatuses(
    {
      pod,
      runtimeStatus: { sandboxes: [], containers: runs },
      previous,
      startFailures: new Map(),
      isRestartingAllContainers: false,
    },
    pod.spec!.containers!,
  );
  return status!;
}

it('imageID is the reference of the image; of a runtime that has none, the ID', () => {
  expect(statusOf([run({ imageID: 'sha256:1', imageRef: 'app@sha256:2' })]).imageID).toBe('app@sha256:2');
  expect(statusOf([run({ imageID: 'sha256:1' })]).imageID).toBe('sha256:1');
});

it('a mount is shown as recursively read-only if the runtime has made it so', () => {
  const mount = { name: 'v', readOnly: true, recursiveReadOnly: 'Disabled' };
  const volumeMounts = [
    { ...mount, mountPath: '/a' },
    { ...mount, mountPath: 'b' },
    { name: 'w', mountPath: '/w' },
  ];
  const previous = [{ name: 'app', volumeMounts }];
  expect(statusOf([run()], previous).volumeMounts).toEqual(volumeMounts);
  const shown = statusOf([run({ recursiveReadOnlyMounts: ['/b', '/w'] })], previous).volumeMounts;
  expect(shown?.map(({ recursiveReadOnly }) => recursiveReadOnly)).toEqual(['Disabled', 'Enabled', undefined]);
});

describe('resources of a container', () => {
  it('of a running one are those that the runtime reports, where they can be resized', () => {
    const reported = { limits: { cpu: '2' }, requests: { cpu: '250m', 'example.com/gpu': '9' } };
    expect(statusOf([run({ resources: reported })])).toMatchObject({
      allocatedResources: resources.requests,
      resources: { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '250m', 'example.com/gpu': '1' } },
    });
  });

  it.each([
    ['stay those of the same run while none are reported', 'test://app-1', '4'],
    ['of another run are forgotten', 'test://app-0', '1'],
  ])('%s', (_, containerID, cpu) => {
    const previous = { name: 'app', state: { running: {} }, containerID, resources: { limits: { cpu: '4' } } };
    expect(statusOf([run()], [previous]).resources?.limits).toEqual({ cpu, memory: '1Gi' });
  });

  it.each<[string, 'limits' | 'requests', string, string, string]>([
    ['a limit that the kernel cannot give', 'limits', '1m', '10m', '1m'],
    ['a request that the kernel cannot give', 'requests', '1m', '2m', '1m'],
    ['a limit above what it can give', 'limits', '1m', '11m', '11m'],
    ['a limit that is being lowered to it', 'limits', '20m', '10m', '10m'],
  ])('cpu: %s', (_, kind, allocated, reported, shown) => {
    const [status] = convertToAPIContainerStatuses(
      {
        pod,
        runtimeStatus: { sandboxes: [], containers: [run({ resources: { [kind]: { cpu: reported } } })] },
        previous: [],
        startFailures: new Map(),
        isRestartingAllContainers: false,
      },
      [{ name: 'app', resources: { [kind]: { cpu: allocated } } }],
    );
    expect(status!.resources).toEqual({ [kind]: { cpu: shown } });
  });

  it('of one that has exited are those of its spec', () => {
    const exited = run({ state: 'exited', resources: { limits: { cpu: '2' } } });
    expect(statusOf([exited]).resources).toEqual(resources);
  });
});

describe('container statuses', () => {
  it('show the user and the health of devices that the runtime reports', () => {
    const user = { linux: { uid: 1000, gid: 1000 } };
    const allocatedResourcesStatus = [
      { name: 'example.com/gpu', resources: [{ resourceID: 'gpu-1', health: 'Unhealthy' }] },
    ];
    const shown = { user, allocatedResourcesStatus };
    expect(statusOf([run(shown)])).toMatchObject(shown);
  });

  it('show the stop signal that the runtime reports of a container that asks for one', () => {
    const runtimeStatus = { sandboxes: [], containers: [run({ stopSignal: 'SIGINT' })] };
    const stopSignalOf = (lifecycle?: Container['lifecycle']) => {
      const containers = [{ name: 'app', image: 'app:1', lifecycle }];
      const asking = { ...pod, spec: { containers } };
      const input = { pod: asking, runtimeStatus, startFailures: new Map(), isRestartingAllContainers: false };
      return convertToAPIContainerStatuses({ ...input, previous: [] }, containers)[0]!.stopSignal;
    };
    expect(stopSignalOf({ stopSignal: 'SIGINT' })).toBe('SIGINT');
    expect(stopSignalOf()).toBeUndefined();
  });

  it('never have two states in lastState, which the manager would refuse', () => {
    const previous = {
      name: 'app',
      state: { running: { startedAt: timeFromEpochMs(start) } },
      lastState: { running: { startedAt: timeFromEpochMs(start) } },
    };
    const status = generatePodStatus(pod, {
      runtimeStatus: { sandboxes: [], containers: [] },
      previous: { containerStatuses: [previous] },
    });
    expect(canonicalPodStatus(status, { strict: true }).containerStatuses?.[0]?.lastState).toEqual({
      terminated: expect.objectContaining({ exitCode: 137, reason: 'ContainerStatusUnknown' }),
    });
  });

  it('the phase does not reflect a startup probe result of the same sync', () => {
    const sidecar = { name: 'sidecar', restartPolicy: 'Always', startupProbe: {} };
    const observation = {
      runtimeStatus: {
        sandboxes: [{ id: 'sb', ready: false }],
        containers: [run(), run({ id: 'test://sidecar-1', name: 'sidecar' })],
      },
      probeResults: { ...none, startup: lookup({ 'test://sidecar-1': 'success' }) },
    };
    const withSidecar = { ...pod, spec: { ...pod.spec, initContainers: [sidecar] } };
    const status = generatePodStatus(withSidecar, observation);
    expect(status).toMatchObject({ phase: 'Pending', initContainerStatuses: [{ started: true }] });
    expect(generatePodStatus(withSidecar, { ...observation, previous: status })).toMatchObject({ phase: 'Running' });
  });

  it('generatePodStatus does not mutate its arguments', () => {
    const frozen = JSON.stringify(pod);
    const previous = { containerStatuses: [Object.freeze({ name: 'app', state: { terminated: { exitCode: 1 } } })] };
    generatePodStatus(pod, { runtimeStatus: { sandboxes: [], containers: [run()] }, previous });
    expect(JSON.stringify(pod)).toBe(frozen);
  });
});

describe('TestUpdatePodStatus', () => {
  const probe = {};
  const probed: ValidPod = {
    metadata: { uid: 'uid', name: 'web', namespace: 'ns' },
    spec: {
      initContainers: [
        { name: 'init', startupProbe: probe },
        { name: 'sidecar', restartPolicy: 'Always', readinessProbe: probe },
      ],
      containers: [
        { name: 'no_probe' },
        { name: 'readiness', readinessProbe: probe },
        { name: 'startup', startupProbe: probe },
      ],
    },
  };
  const running = (name: string, startedAtMs = start): ContainerStatusInput => ({
    name,
    containerID: `test://${name}`,
    state: { running: { startedAt: timeFromEpochMs(startedAtMs) } },
    ready: false,
  });
  const flagsOf = (statuses: readonly ContainerStatusInput[]) =>
    Object.fromEntries(statuses.map(({ name, started, ready }) => [name, [started, ready]]));

  it('a running container without probes is ready, one with a probe when that has succeeded', () => {
    const statuses = {
      containerStatuses: [running('no_probe'), running('readiness'), running('startup')],
      initContainerStatuses: [],
    };
    expect(flagsOf(updatePodStatus(probed, statuses, { results: none }).containerStatuses)).toEqual({
      no_probe: [true, true],
      readiness: [true, false],
      startup: [false, false],
    });
    const results = {
      ...none,
      startup: lookup({ 'test://startup': 'success' }),
      readiness: lookup({ 'test://readiness': 'success' }),
    };
    expect(flagsOf(updatePodStatus(probed, statuses, { results }).containerStatuses)).toEqual({
      no_probe: [true, true],
      readiness: [true, true],
      startup: [true, true],
    });
  });

  it('an init container is ready when it has completed, a sidecar when it is probed', () => {
    const exited = (exitCode: number) => ({ name: 'init', state: { terminated: { exitCode } }, ready: false });
    const flags = (initContainerStatuses: ContainerStatusInput[], readiness = lookup({})) =>
      flagsOf(
        updatePodStatus(probed, { containerStatuses: [], initContainerStatuses }, { results: { ...none, readiness } })
          .initContainerStatuses,
      );
    expect(flags([exited(1), running('sidecar')])).toEqual({ init: [false, false], sidecar: [true, false] });
    expect(flags([exited(0), running('sidecar')], lookup({ 'test://sidecar': 'success' }))).toEqual({
      init: [false, true],
      sidecar: [true, true],
    });
    // No startup probe is made of an init container.
    expect(flags([running('init')])).toEqual({ init: [true, false] });
  });

  it.each<[string, number, string, ProbeResult | undefined, boolean]>([
    ['stays ready', 10_001, 'True', undefined, true],
    ['is not ready when its pod was not', 10_001, 'False', undefined, false],
    ['is not ready when a probe failed', 10_001, 'True', 'failure', false],
    ['that is younger is not ready', 10_000, 'True', undefined, false],
  ])('a container older than the agent %s', (_, ageMs, podReady, result, ready) => {
    const status = { conditions: [{ type: 'Ready', status: podReady }] };
    const statuses = { containerStatuses: [running('readiness', start - ageMs)], initContainerStatuses: [] };
    const results = { ...none, ...(result && { readiness: lookup({ 'test://readiness': result }) }) };
    const updated = updatePodStatus({ ...probed, status }, statuses, { results, agentStartedAtMs: start });
    expect(updated.containerStatuses[0]).toMatchObject({ started: true, ready });
  });
});
