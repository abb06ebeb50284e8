import { describe, expect, it } from 'vitest';
import { computePodQOS } from '../../../src/status-manager/status/qos.ts';
import type { PodSpec, ResourceRequirementsInput } from '../../../src/kube/objects/types.ts';

const both = { cpu: '100m', memory: '64Mi' };
const equal: ResourceRequirementsInput = { requests: both, limits: both };

function specOf(...resources: readonly (ResourceRequirementsInput | undefined)[]): PodSpec {
  return { containers: resources.map((of, i) => ({ name: `c${i}`, resources: of })) };
}

const cases: readonly (readonly [name: string, spec: PodSpec | undefined, qosClass: string])[] = [
  ['no spec', undefined, 'BestEffort'],
  ['no resources', specOf(undefined, {}), 'BestEffort'],
  ['amounts of zero', specOf({ requests: { cpu: '0' }, limits: { memory: '0Mi' } }), 'BestEffort'],
  [
    'resources that do not count',
    specOf({ requests: { 'example.com/gpu': '1' }, limits: { 'ephemeral-storage': '1Gi' } }),
    'BestEffort',
  ],
  ['what is not a quantity', specOf({ requests: { cpu: 'lots' } }), 'BestEffort'],
  ['limits and requests equal', specOf(equal), 'Guaranteed'],
  [
    'equal by value',
    specOf({ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1000m', memory: '1024Mi' } }),
    'Guaranteed',
  ],
  ['several containers, each equal', specOf(equal, equal), 'Guaranteed'],
  ['one container without limits', specOf(equal, { requests: both }), 'Burstable'],
  ['one container without anything', specOf(equal, undefined), 'Burstable'],
  ['only requests', specOf({ requests: both }), 'Burstable'],
  ['only limits', specOf({ limits: both }), 'Burstable'],
  ['requests below limits', specOf({ requests: { ...both, cpu: '50m' }, limits: both }), 'Burstable'],
  ['a limit of one resource only', specOf({ requests: { cpu: '1' }, limits: { cpu: '1' } }), 'Burstable'],
  ['an init container without limits', { ...specOf(equal), initContainers: [{ name: 'i' }] }, 'Burstable'],
  [
    'an init container with equal ones',
    { ...specOf(equal), initContainers: [{ name: 'i', resources: equal }] },
    'Guaranteed',
  ],
  [
    'sums that are equal while the parts are not',
    specOf(
      { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } },
      { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
    ),
    'Guaranteed',
  ],
  ['resources of the pod go before those of containers', { ...specOf(undefined), resources: equal }, 'Guaranteed'],
  ['requests of the pod', { ...specOf(equal), resources: { requests: both } }, 'Burstable'],
  ['empty resources of the pod are none', { ...specOf(equal), resources: {} }, 'Guaranteed'],
  [
    'nor are others than cpu, memory and huge pages',
    { ...specOf(equal), resources: { limits: { 'a.b/c': '1' } } },
    'Guaranteed',
  ],
  ['huge pages of the pod', { ...specOf(equal), resources: { limits: { 'hugepages-2Mi': '2Mi' } } }, 'BestEffort'],
];

describe('computePodQOS', () => {
  it.each(cases)('%s', (_name, spec, qosClass) => {
    expect(computePodQOS({ spec })).toBe(qosClass);
  });
});
