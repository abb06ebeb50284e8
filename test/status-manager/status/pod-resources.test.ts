import { describe, expect, it } from 'vitest';
import { podRequests, podStatusResources } from '../../../src/status-manager/status/pod-resources.ts';
import type { PodSpec, ResourceRequirementsInput } from '../../../src/kube/types.ts';

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
