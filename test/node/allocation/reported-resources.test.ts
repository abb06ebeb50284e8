/** What an agent without records learns from the status that an earlier agent has reported. */
import { describe, expect, it } from 'vitest';
import type {
  Container,
  ContainerStatusInput,
  PodStatusInput,
  ResourceRequirementsInput,
  ValidPod,
} from 'kubelet-status-manager';
import {
  actuatedContainerFromStatus,
  actuatedPodFromStatus,
  allocatedFromStatus,
} from '../../../src/node/allocation/reported-resources.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'u1' };
const running = { running: {} };
const cpu = (request: string, limit?: string): ResourceRequirementsInput => ({
  requests: { cpu: request },
  ...(limit !== undefined && { limits: { cpu: limit } }),
});
const app = (resources?: ResourceRequirementsInput): Container => ({ name: 'app', ...(resources && { resources }) });
const reported = (resources?: ResourceRequirementsInput, fields: Partial<ContainerStatusInput> = {}) => ({
  name: 'app',
  state: running,
  ...(resources && { resources, allocatedResources: resources.requests }),
  ...fields,
});
const pending = { type: 'PodResizePending', status: 'True' };
const inProgress = { type: 'PodResizeInProgress', status: 'True' };

describe('the resources that were allocated', () => {
  const podOf = (resources?: ResourceRequirementsInput): ValidPod => ({
    metadata,
    spec: { containers: [app(resources)] },
  });
  const allocated = (pod: ValidPod, status: PodStatusInput | undefined) =>
    allocatedFromStatus(pod, status).spec?.containers?.[0]?.resources;

  it.each<[string, ValidPod, PodStatusInput | undefined]>([
    ['there is no status', podOf(cpu('2')), undefined],
    ['the status shows no containers', podOf(cpu('2')), {}],
    ['the status shows no resources of the container', podOf(cpu('2')), { containerStatuses: [reported()] }],
    ['the status shows those of the spec', podOf(cpu('2')), { containerStatuses: [reported(cpu('2000m'))] }],
    ['the pod has no spec', { metadata }, { conditions: [pending] }],
    [
      'a resize is no longer pending',
      podOf(cpu('2')),
      { conditions: [{ ...pending, status: 'False' }], containerStatuses: [reported(cpu('2'))] },
    ],
    ['a resize is in progress', podOf(cpu('2')), { conditions: [inProgress], containerStatuses: [reported(cpu('2'))] }],
    [
      'the containers have different amounts of what cannot be resized',
      podOf({ requests: { cpu: '2', 'example.com/gpu': '1' } }),
      { containerStatuses: [reported(cpu('2'))] },
    ],
  ])('are those of the spec, in the same object, if %s', (_, pod, status) => {
    expect(allocatedFromStatus(pod, status)).toBe(pod);
  });

  it('are those that the status shows if the spec requests others', () => {
    const status = { containerStatuses: [reported(cpu('1', '3'))] };
    expect(allocated(podOf(cpu('2', '4')), status)).toEqual({ requests: { cpu: '1' }, limits: { cpu: '3' } });
  });

  it('are those that the status shows if a resize of the limits is pending', () => {
    const status = { conditions: [pending], containerStatuses: [reported(cpu('1', '3'))] };
    expect(allocated(podOf(cpu('1', '4')), status)).toEqual({ requests: { cpu: '1' }, limits: { cpu: '3' } });
  });

  it('lack what the status does not show, and keep what cannot be resized', () => {
    const claims = [{ name: 'gpu' }];
    const wanted = { requests: { cpu: '2', memory: '1Gi', 'example.com/gpu': '1' }, limits: { memory: '1Gi' }, claims };
    const status = { containerStatuses: [reported({ requests: { cpu: '1' } })] };
    expect(allocated(podOf(wanted), status)).toEqual({
      ...{ requests: { cpu: '1', 'example.com/gpu': '1' }, limits: {}, claims },
    });
  });

  it('of a container that the status does not show stay', () => {
    const pod: ValidPod = { metadata, spec: { containers: [app(cpu('2')), { name: 'new', resources: cpu('5') }] } };
    const status = { containerStatuses: [reported(cpu('1')), { name: 'new', state: { waiting: {} } }] };
    expect(allocatedFromStatus(pod, status).spec?.containers?.map(({ resources }) => resources?.requests)).toEqual([
      { cpu: '1' },
      { cpu: '5' },
    ]);
  });

  it('of sidecars are in the statuses of init containers', () => {
    const sidecar = { ...app(cpu('2')), restartPolicy: 'Always' };
    const pod: ValidPod = { metadata, spec: { initContainers: [sidecar], containers: [{ name: 'other' }] } };
    const { spec } = allocatedFromStatus(pod, { initContainerStatuses: [reported(cpu('1'))] });
    expect(spec).toEqual({
      initContainers: [{ ...sidecar, resources: { requests: { cpu: '1' }, limits: {} } }],
      containers: [{ name: 'other' }],
    });
  });

  it('of the pod itself are those that it has of the aggregated ones in the status', () => {
    const pod: ValidPod = { metadata, spec: { resources: cpu('4', '8'), containers: [] } };
    const status = {
      allocatedResources: { cpu: '2', memory: '1Gi' },
      resources: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '6' } },
    };
    expect(allocatedFromStatus(pod, status).spec?.resources).toEqual(cpu('2', '6'));
    expect(allocatedFromStatus(pod, { ...status, allocatedResources: { cpu: '4' } })).toBe(pod);
    // What the status shows of its containers only.
    const without: ValidPod = { metadata, spec: { containers: [app(cpu('4'))] } };
    expect(allocatedFromStatus(without, status)).toBe(without);
  });

  it('of the pod itself stay where the status shows none', () => {
    const pod: ValidPod = { metadata, spec: { resources: cpu('4', '8'), containers: [] } };
    expect(allocatedFromStatus(pod, { conditions: [pending] }).spec?.resources).toEqual(cpu('4', '8'));
    const resources = { requests: { cpu: null }, limits: null } as unknown as ResourceRequirementsInput;
    expect(allocatedFromStatus(pod, { conditions: [pending], resources }).spec?.resources).toEqual(cpu('4', '8'));
  });
});

it('a condition counts beside others', () => {
  const pod: ValidPod = { metadata, spec: { containers: [app(cpu('1', '4'))] } };
  const conditions = [{ type: 'Ready', status: 'True' }, pending];
  const { spec } = allocatedFromStatus(pod, { conditions, containerStatuses: [reported(cpu('1', '3'))] });
  expect(spec?.containers?.[0]?.resources).toEqual(cpu('1', '3'));
});

describe('the resources that a running container still has', () => {
  const of = (container: Container, status: PodStatusInput | undefined) =>
    actuatedContainerFromStatus(container, status);

  it.each<[string, PodStatusInput | undefined]>([
    ['there is no status', undefined],
    ['the status does not show it', {}],
    [
      'it does not run',
      { conditions: [inProgress], containerStatuses: [reported(cpu('1'), { state: { waiting: {} } })] },
    ],
    ['its resources are not shown', { conditions: [inProgress], containerStatuses: [reported()] }],
    ['they are the allocated ones', { containerStatuses: [reported(cpu('2', '4'))] }],
    [
      'a resize is no longer in progress',
      { conditions: [{ ...inProgress, status: 'False' }], containerStatuses: [reported(cpu('2', '4'))] },
    ],
  ])('are not known to differ from the allocated ones if %s', (_, status) => {
    expect(of(app(cpu('2', '4')), status)).toBeUndefined();
  });

  it.each<[string, PodStatusInput]>([
    [
      'a resize is in progress',
      { conditions: [inProgress], containerStatuses: [reported(cpu('1', '4'), { allocatedResources: { cpu: '2' } })] },
    ],
    ['others were allocated then', { containerStatuses: [reported(cpu('1', '4'))] }],
  ])('are those that the status shows if %s', (_, status) => {
    expect(of(app(cpu('2', '4')), status)).toEqual(cpu('1', '4'));
  });

  it('are those that the status shows if the limits differ', () => {
    const status = { containerStatuses: [reported(cpu('2', '3'))] };
    expect(of(app(cpu('2', '4')), status)).toEqual(cpu('2', '3'));
  });
});

describe('the resources that a running pod itself still has', () => {
  const podOf = (resources?: ResourceRequirementsInput): ValidPod => ({
    metadata,
    spec: { ...(resources && { resources }), containers: [] },
  });
  const shown = { phase: 'Running', allocatedResources: { cpu: '4' }, resources: cpu('2', '6') };

  it.each<[string, ValidPod, PodStatusInput | undefined]>([
    ['there is no status', podOf(cpu('4', '8')), undefined],
    ['it does not run', podOf(cpu('4', '8')), { ...shown, conditions: [inProgress], phase: 'Pending' }],
    ['it has none in its spec', podOf(), { ...shown, conditions: [inProgress] }],
    ['the allocated ones are those of the spec', podOf(cpu('4', '8')), shown],
  ])('are not known to differ from the allocated ones if %s', (_, pod, status) => {
    expect(actuatedPodFromStatus(pod, status)).toBeUndefined();
  });

  it('are those that the status shows if a resize is in progress, or if others were allocated then', () => {
    expect(actuatedPodFromStatus(podOf(cpu('4', '8')), { ...shown, conditions: [inProgress] })).toEqual(cpu('2', '6'));
    expect(actuatedPodFromStatus(podOf(cpu('5', '8')), shown)).toEqual(cpu('2', '6'));
  });
});
