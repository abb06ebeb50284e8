import { describe, expect, it } from 'vitest';
import { generateAPIPodStatus } from '../../../src/status-manager/status/generate.ts';
import { podRequests, podStatusResources } from '../../../src/status-manager/status/pod-resources.ts';
import type { PodSpec, PodStatusInput, ResourceRequirementsInput } from '../../../src/kube/objects/types.ts';

const container = (name: string, resources: ResourceRequirementsInput, restartPolicy?: string) => ({
  name,
  resources,
  restartPolicy,
});

/** Each expectation is what the kubelet v1.37.1 gives for the spec. */
const cases: readonly {
  readonly name: string;
  readonly spec: PodSpec;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}[] = [
  { name: 'nothing asked for', spec: { containers: [container('a', {})] } },
  {
    name: 'the sum over the containers, in the format of the first',
    spec: {
      containers: [
        container('a', { requests: { cpu: '1k', memory: '100M' }, limits: { cpu: '1e3' } }),
        container('b', { requests: { cpu: '500m', memory: '128974848' }, limits: { cpu: '250u' } }),
      ],
    },
    requests: { cpu: '1000500m', memory: '228974848' },
    limits: { cpu: '1000000250e-6' },
  },
  {
    name: 'an init container that takes more than the containers',
    spec: {
      containers: [container('a', { requests: { cpu: '500m', memory: '100M' } })],
      initContainers: [container('i', { requests: { cpu: '250u', memory: '1G' } })],
    },
    requests: { cpu: '500m', memory: '1G' },
  },
  {
    name: 'sidecars beside the containers and beside later init containers',
    spec: {
      containers: [container('a', { requests: { memory: '128Mi' } })],
      initContainers: [
        container('before', { requests: { memory: '300Mi' } }),
        container('sidecar', { requests: { memory: '64Mi' } }, 'Always'),
        container('after', { requests: { memory: '256Mi' } }),
      ],
    },
    requests: { memory: '320Mi' },
  },
  {
    name: 'the pod’s own cpu, memory and huge pages in place of the sums, no other resource',
    spec: {
      containers: [container('a', { requests: { memory: '1Gi', 'example.com/gpu': '2' } })],
      resources: { requests: { cpu: '0', memory: '1k', 'example.com/gpu': '1' } },
    },
    requests: { cpu: '0', memory: '1k', 'example.com/gpu': '2' },
  },
  {
    name: 'the overhead on top of requests, and of limits above zero',
    spec: {
      containers: [container('a', { requests: { cpu: '1k' }, limits: { cpu: '500m', memory: '0' } })],
      overhead: { cpu: '1m', memory: '1e9' },
    },
    requests: { cpu: '1000001m', memory: '1e9' },
    limits: { cpu: '501m', memory: '0' },
  },
  {
    name: 'what is no quantity is left out',
    spec: { containers: [container('a', { requests: { cpu: 'much', memory: '1Gi' } })] },
    requests: { memory: '1Gi' },
  },
];

describe('podStatusResources', () => {
  it.each(cases)('$name', ({ spec, requests, limits }) => {
    expect(podStatusResources(spec)).toStrictEqual({
      ...(requests && { allocatedResources: requests }),
      resources: { ...(limits && { limits }), ...(requests && { requests }) },
    });
  });
});

describe('podRequests', () => {
  it('is what the pod asks of the node, and empty for a pod that asks for nothing', () => {
    const requests = (cpu: string) => ({ requests: { cpu } });
    const containers = [container('a', requests('500m')), container('b', requests('1'))];
    expect(podRequests({ spec: { containers, overhead: { memory: '1Mi' } } })).toEqual({ cpu: '1500m', memory: '1Mi' });
    expect(podRequests({})).toEqual({});
    expect(() => podRequests(null as never)).toThrow('pod');
  });
});

describe('resources of a running pod whose cgroup is known', () => {
  const podLevel = { requests: { cpu: '50m', memory: '50Mi' }, limits: { cpu: '100m', memory: '100Mi' } };
  const before = { requests: { cpu: '3', memory: '3Gi' }, limits: { cpu: '4', memory: '4Gi', 'example.com/gpu': '1' } };
  const cgroup = { requests: { cpu: '1' }, limits: { cpu: '2', memory: '2Gi' } };

  /** Each expectation is what the kubelet v1.37.1 gives. */
  it.each<[string, PodSpec, ResourceRequirementsInput, PodStatusInput, ResourceRequirementsInput]>([
    [
      'are those of the cgroup, and the memory that its containers request',
      { containers: [container('a', podLevel), container('b', podLevel)] },
      cgroup,
      {},
      { requests: { cpu: '1', memory: '100Mi' }, limits: { cpu: '2', memory: '2Gi' } },
    ],
    [
      'have the memory request of the pod, without the overhead',
      { containers: [container('a', {})], resources: podLevel, overhead: { memory: '1Mi' } },
      cgroup,
      {},
      { requests: { cpu: '1', memory: '50Mi' }, limits: { cpu: '2', memory: '2Gi' } },
    ],
    [
      'stay those of the previous status where the cgroup is not known',
      { containers: [container('a', podLevel)] },
      {},
      { phase: 'Running', resources: before },
      { requests: { cpu: '3', memory: '50Mi' }, limits: { cpu: '4', memory: '4Gi' } },
    ],
    [
      'are the pod-level ones where the cgroup is not known and the pod was not running before',
      { containers: [container('a', podLevel)], resources: { limits: { cpu: '1' } } },
      {},
      { phase: 'Succeeded', resources: before },
      { requests: { memory: '50Mi' }, limits: { cpu: '1' } },
    ],
    [
      'are those allocated where the kernel gives its minimum',
      { containers: [], resources: { requests: { cpu: '1m' }, limits: { cpu: '5m' } } },
      { requests: { cpu: '2m' }, limits: { cpu: '10m' } },
      {},
      { requests: { cpu: '1m' }, limits: { cpu: '5m' } },
    ],
    ['are none of a pod that has none', { containers: [] }, { requests: { cpu: '2m' } }, {}, {}],
    ['are no others that the cgroup may have', { containers: [] }, { limits: { 'example.com/gpu': '1' } }, {}, {}],
  ])('%s', (_, spec, resources, previous, expected) => {
    const status = generateAPIPodStatus(
      { spec, status: { phase: 'Running' } },
      { containerStatuses: [], resources, previous },
    );
    expect(status.resources).toEqual(expected);
    expect(status.allocatedResources).toEqual(podStatusResources(spec).allocatedResources);
  });

  it('follow from the spec until the API server shows the pod as Running', () => {
    const spec = { containers: [container('a', podLevel)] };
    for (const status of [{}, { phase: 'Pending' }, { phase: 'Failed' }])
      expect(generateAPIPodStatus({ spec, status }, { containerStatuses: [], resources: cgroup }).resources).toEqual(
        podLevel,
      );
  });
});
