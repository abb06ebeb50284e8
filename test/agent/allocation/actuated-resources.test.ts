import { expect, describe, it } from 'vitest';
import type { ValidPod, ResourceRequirementsInput } from 'kubelet-status-manager';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import type { RuntimeContainerState } from '../../../src/node/runtime/runtime-pod-status.ts';
import { recordingLogger, settle, FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { ActuatedResources } from '../../../src/agent/allocation/actuated-resources.ts';

/** cpu request, cpu limit, memory request, memory limit; 0: none. */
type Amounts = readonly [cpuRequest: number, cpuLimit: number, memoryRequest: number, memoryLimit: number];
interface TestContainer {
  readonly allocated: Amounts;
  readonly actuated?: Amounts;
  readonly kind?: 'init' | 'sidecar';
  /** Default: not in the runtime. */
  readonly state?: RuntimeContainerState;
}

function requirements([cpuRequest, cpuLimit, memoryRequest, memoryLimit]: Amounts): ResourceRequirementsInput {
  const list = (cpu: number, memory: number) => ({
    ...(cpu > 0 && { cpu: `${cpu}m` }),
    ...(memory > 0 && { memory: `${memory}` }),
  });
  return { requests: list(cpuRequest, memoryRequest), limits: list(cpuLimit, memoryLimit) };
}

const steady: Amounts = [100, 200, 100, 200];
const running = (allocated: Amounts, actuated?: Amounts, kind?: TestContainer['kind']): TestContainer => ({
  ...{ allocated, state: 'running' },
  ...(actuated && { actuated }),
  ...(kind && { kind }),
});

describe('TestIsPodResizeInProgress', () => {
  it.each<[string, readonly TestContainer[], boolean]>([
    ['simple running container', [running([100, 100, 100, 100], [100, 100, 100, 100])], false],
    ['simple unstarted container', [{ allocated: steady }], false],
    ['simple resized container/cpu req', [running(steady, [150, 200, 100, 200])], true],
    ['simple resized container/cpu limit', [running(steady, [100, 300, 100, 200])], true],
    ['simple resized container/mem req', [running(steady, [100, 200, 150, 200])], true],
    ['simple resized container/cpu+mem req', [running(steady, [150, 200, 150, 200])], true],
    ['simple resized container/mem limit', [running(steady, [100, 200, 100, 300])], true],
    ['terminated resized container', [{ allocated: steady, actuated: [200, 200, 100, 200], state: 'exited' }], false],
    ['non-sidecar init container', [running(steady, undefined, 'init'), running(steady, steady)], false],
    ['non-resized sidecar', [running(steady, steady, 'sidecar'), running(steady, steady)], false],
    ['resized sidecar', [running(steady, [200, 200, 100, 200], 'sidecar'), running(steady, steady)], true],
    [
      'several containers and a resize',
      [
        running(steady, undefined, 'init'),
        running(steady, steady),
        { allocated: steady },
        running(steady, [200, 200, 100, 200]),
      ],
      true,
    ],
    [
      'several containers',
      [
        running([100, 200, 0, 0], [100, 200, 0, 0], 'sidecar'),
        running([0, 0, 100, 200], [0, 0, 100, 200]),
        running([200, 0, 100, 0], [200, 0, 100, 0]),
      ],
      false,
    ],
    ['best-effort pod', [running([0, 0, 0, 0], [0, 0, 0, 0])], false],
    ['burstable pod/not resizing', [running([100, 0, 0, 0], [100, 0, 0, 0])], false],
    ['burstable pod/resized', [running([100, 0, 0, 0], [500, 0, 0, 0])], true],
  ])('%s', (_, containers, expected) => {
    const actuated = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
    const named = containers.map((container, i) => ({ ...container, name: `c${i}` }));
    const specOf = ({ name, allocated, kind }: (typeof named)[number]) => ({
      ...{ name, resources: requirements(allocated) },
      ...(kind === 'sidecar' && { restartPolicy: 'Always' }),
    });
    const pod: ValidPod = {
      metadata: { uid: '12345', name: 'web', namespace: 'ns' },
      spec: {
        initContainers: named.filter(({ kind }) => kind !== undefined).map(specOf),
        containers: named.filter(({ kind }) => kind === undefined).map(specOf),
      },
    };
    for (const { name, actuated: amounts } of named) {
      if (amounts !== undefined) actuated.set(pod, name, requirements(amounts));
    }
    const runs = named.flatMap(({ name, state }) =>
      state === undefined ? [] : [{ id: name, name, state, createdAtMs: 0 }],
    );
    expect(actuated.isPodResizeInProgress(pod, { sandboxes: [], containers: runs })).toBe(expected);
  });
});

describe('what is recorded', () => {
  const pod: ValidPod = {
    metadata: { uid: 'a', name: 'web', namespace: 'ns' },
    spec: {
      resources: { limits: { memory: '1Gi' } },
      containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }],
    },
  };

  it('records the resources of the spec, then those that a container was last given, until the pod is gone', () => {
    const actuated = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
    actuated.initialize(pod, undefined);
    expect(actuated.get('a', 'app')).toEqual({ limits: { memory: '1Gi' }, requests: { cpu: '1' } });
    actuated.set(pod, 'app', { requests: { cpu: '2' } });
    actuated.initialize(pod, undefined);
    expect(actuated.get('a', 'app')).toEqual({ requests: { cpu: '2' } });
    actuated.removeOrphanedPods(new Set(['b']));
    expect(actuated.get('a', 'app')).toBeUndefined();
  });

  it('without a record of an earlier agent, a container that is being resized has what the status shows', () => {
    const spec = {
      resources: { requests: { cpu: '4' } },
      initContainers: [{ name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu: '3' } } }],
      containers: [{ name: 'app', resources: { requests: { cpu: '2' } } }, { name: 'other' }],
    };
    const showing = (name: string, cpu: string) => ({
      ...{ name, state: { running: {} }, resources: { requests: { cpu } } },
    });
    const status = {
      phase: 'Running',
      conditions: [{ type: 'PodResizeInProgress', status: 'True' }],
      resources: { requests: { cpu: '3' } },
      initContainerStatuses: [showing('sidecar', '2')],
      containerStatuses: [showing('app', '1')],
    };
    const actuated = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
    actuated.initialize({ ...pod, spec }, status);
    expect(actuated.pod('a').resources).toEqual({ requests: { cpu: '3' } });
    expect(actuated.pod('a').ofContainer('sidecar')).toEqual({ requests: { cpu: '2' } });
    expect(actuated.get('a', 'app')).toEqual({ requests: { cpu: '1' } });
    expect(actuated.get('a', 'other')).toEqual({});
    actuated.remove('a');
    expect(actuated.pod('a').resources).toBeUndefined();
  });

  it('nothing is written when the pod itself is given what it has', () => {
    const state = new MemoryState();
    const actuated = new ActuatedResources(state, { clock: new FakeClock(), logger: silentLogger });
    actuated.initialize(pod, undefined);
    state.setPodAllocation = async () => expect.unreachable();
    actuated.setPod({ ...pod, spec: { ...pod.spec, resources: { limits: { memory: '1024Mi' } } } });
  });

  it('what is recorded of one container is kept when the pod starts again', () => {
    const state = new MemoryState();
    const actuated = new ActuatedResources(state, { clock: new FakeClock(), logger: silentLogger });
    const both = {
      ...pod,
      spec: { containers: [{ name: 'app' }, { name: 'other', resources: { limits: { cpu: '1' } } }] },
    };
    actuated.set({ ...pod, spec: { containers: [{ name: 'app' }] } }, 'app', { requests: { cpu: '2' } });
    actuated.initialize(both, undefined);
    expect([actuated.get('a', 'app'), actuated.get('a', 'other')]).toEqual([{ requests: { cpu: '2' } }, undefined]);
  });

  it('a resize of pod-level resources is in progress until they are recorded; what containers were given stays', () => {
    const actuated = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
    const runtimeStatus = { sandboxes: [], containers: [] };
    const resized = { ...pod, spec: { ...pod.spec, resources: { limits: { memory: '2Gi' } } } };
    expect(actuated.isPodResizeInProgress(resized, runtimeStatus)).toBe(false);
    actuated.initialize(pod, undefined);
    expect(actuated.isPodResizeInProgress(pod, runtimeStatus)).toBe(false);
    expect(actuated.isPodResizeInProgress(resized, runtimeStatus)).toBe(true);
    actuated.set(resized, 'app', { requests: { cpu: '2' } });
    expect(actuated.pod('a').resources).toEqual({ limits: { memory: '1Gi' } });
    actuated.setPod(resized);
    expect(actuated.isPodResizeInProgress(resized, runtimeStatus)).toBe(false);
    expect(actuated.pod('a')).toMatchObject({ resources: { limits: { memory: '2Gi' } } });
    expect(actuated.get('a', 'app')).toEqual({ requests: { cpu: '2' } });
  });

  it('a checkpoint that cannot be written is logged once, with the time since when, and its recovery', async () => {
    const logger = recordingLogger();
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const state = new MemoryState();
    let isFull = true;
    state.setPodAllocation = async () => {
      if (isFull) throw new Error('disk full');
    };
    const actuated = new ActuatedResources(state, { clock, logger });
    const record = async (): Promise<void> => {
      actuated.initialize(pod, undefined);
      await settle(clock);
    };
    await record();
    clock.advance(5000);
    await record();
    isFull = false;
    await record();
    await record();
    const what = 'Saving the actuated resources of pods';
    const failingSince = '2026-01-02T03:04:05Z';
    expect(logger.lines).toMatchObject([
      { level: 'error', message: `${what} failed`, fields: { podUID: 'a', reason: 'disk full', failingSince } },
      { level: 'info', message: `${what} succeeded again`, fields: { failingSince, outageMs: 5000, failures: 2 } },
    ]);
  });

  it.each<[string, ResourceRequirementsInput | undefined, ResourceRequirementsInput]>([
    ['nothing', undefined, { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '3Gi' } }],
    [
      'no memory request, as every CRI',
      { requests: { cpu: '500m' }, limits: { memory: '4Gi' } },
      { requests: { cpu: '500m', memory: '2Gi' }, limits: { memory: '4Gi' } },
    ],
    ['only limits', { limits: { cpu: '1' } }, { requests: { memory: '2Gi' }, limits: { cpu: '1' } }],
    ['a memory request', { requests: { memory: '5Gi' } }, { requests: { memory: '5Gi' } }],
  ])('completes the resources of a container of which the runtime reports %s', (_, reported, expected) => {
    const actuated = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
    actuated.set(pod, 'app', { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '3Gi' } });
    const app = { id: 'x://1', name: 'app', state: 'running' as const, createdAtMs: 0, resources: reported };
    const { containers } = actuated.complete('a', { sandboxes: [], containers: [app] });
    expect(containers[0]?.resources).toEqual(expected);
  });
});
