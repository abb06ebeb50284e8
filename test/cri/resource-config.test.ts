import { expect, it } from 'vitest';
import { resourceConfigForPod } from '../../src/cri/resource-config.ts';

const list = (cpu: string, memory: string): object => ({ ...(cpu && { cpu }), ...(memory && { memory }) });
const resources = (requests: object, limits: object = {}): object => ({ resources: { requests, limits } });
const none = {};
const small = list('100m', '100Mi');
const large = list('200m', '200Mi');
const Mi = 2 ** 20;
const minShares = { cpuShares: 2 };
const burstable = { cpuShares: 102 };
const burstableLimits = { cpuShares: 102, cpuQuota: 20_000, memory: 200 * Mi };
const guaranteed = { cpuShares: 102, cpuQuota: 10_000, memory: 100 * Mi };

/** The cases of upstream's `TestResourceConfigForPod` with the defaults of its feature gates and configuration. */
it.each<[name: string, spec: object, expected: object]>([
  ['besteffort', { containers: [resources(none)] }, minShares],
  ['burstable-no-limits', { containers: [resources(small)] }, burstable],
  ['burstable-with-limits', { containers: [resources(small, large)] }, burstableLimits],
  ['burstable-partial-limits', { containers: [resources(small, large), resources(small)] }, { cpuShares: 204 }],
  ['guaranteed', { containers: [resources(small, small)] }, guaranteed],
  [
    'burstable-partial-limits-with-init-containers',
    {
      containers: [resources(list('100m', '100m'), small), resources(list('100m', '100m'))],
      initContainers: [resources(list('100m', '100m'), small), resources(list('100m', '100m'))],
    },
    { cpuShares: 204 },
  ],
  ['besteffort-with-pod-level-resources-enabled', { ...resources(none), containers: [resources(none)] }, minShares],
  ['burstable-with-pod-level-requests', { ...resources(small), containers: [{}] }, burstable],
  [
    'burstable-with-pod-and-container-level-requests',
    { ...resources(small), containers: [resources(list('10m', '50Mi'))] },
    burstable,
  ],
  ['burstable-with-pod-level-resources', { ...resources(small, large), containers: [{}] }, burstableLimits],
  [
    'burstable-with-pod-and-container-level-resources',
    { ...resources(small, large), containers: [resources(list('10m', '50Mi'), list('50m', '100Mi'))] },
    burstableLimits,
  ],
  [
    'burstable-with-partial-pod-level-resources-limits',
    { ...resources(list('200m', '300Mi')), containers: [resources(large, large)] },
    { cpuShares: 204, cpuQuota: 20_000, memory: 200 * Mi },
  ],
  ['guaranteed-with-pod-level-resources', { ...resources(small, small), containers: [{}] }, guaranteed],
  [
    'guaranteed-with-pod-and-container-level-resources',
    { ...resources(small, small), containers: [resources(list('10m', '50Mi'), list('50m', '100Mi'))] },
    guaranteed,
  ],
  [
    'guaranteed-pod-level-resources-with-init-containers',
    {
      ...resources(small, small),
      containers: [resources(list('10m', '50Mi'), list('50m', '50Mi'))],
      initContainers: [resources(list('10m', '50Mi'), list('50m', '50Mi'))],
    },
    guaranteed,
  ],
])('the cgroup of a pod has the limits that the kubelet gives it: %s', (_name, spec, expected) => {
  expect(resourceConfigForPod({ metadata: {}, spec })).toEqual(expected);
});
