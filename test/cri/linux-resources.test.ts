import { describe, expect, it } from 'vitest';
import {
  containerLinuxResources,
  containerOOMScoreAdjust,
  milliCPUToQuota,
  milliCPUToShares,
  overheadLinuxResources,
  resourcesFromStatus,
  sandboxLinuxResources,
} from '../../src/cri/linux-resources.ts';
import { appOf, machine as anyMachine, podWith } from './pods.ts';

const gibibyte = 2 ** 30;
const machine = { ...anyMachine, memoryBytes: 10 * gibibyte, cpus: 4 };

describe('milliCPUToShares', () => {
  it.each([
    [0, 2],
    [1, 2],
    [100, 102],
    [1000, 1024],
    [1_000_000, 262_144],
  ])('%d thousandths of a CPU are %d shares', (milliCPU, shares) => {
    expect(milliCPUToShares(milliCPU)).toBe(shares);
  });
});

describe('milliCPUToQuota', () => {
  it.each([
    [0, 0],
    [1, 1000],
    [100, 10_000],
    [1500, 150_000],
  ])('%d thousandths of a CPU are %d µs of 100 ms', (milliCPU, quota) => {
    expect(milliCPUToQuota(milliCPU)).toBe(quota);
  });
});

describe('containerLinuxResources', () => {
  const of = (resources: object, spec: object = {}) => {
    const pod = podWith(spec, { resources });
    return containerLinuxResources(pod, appOf(pod), machine);
  };

  it('are unlimited, with the least shares, without requests and limits', () => {
    expect(of({})).toMatchObject({ cpu_shares: 2, cpu_quota: 0, cpu_period: 100_000, memory_limit_in_bytes: 0 });
  });

  it('have the shares of the CPU limit when there is no request', () => {
    expect(of({ limits: { cpu: '500m', memory: '64Mi' } })).toMatchObject({
      cpu_shares: 512,
      cpu_quota: 50_000,
      memory_limit_in_bytes: 64 * 2 ** 20,
    });
  });

  it('are bounded by the limits of the pod when the container has none', () => {
    expect(of({ requests: { cpu: '1' } }, { resources: { limits: { cpu: '2', memory: '1Gi' } } })).toMatchObject({
      cpu_shares: 1024,
      cpu_quota: 200_000,
      memory_limit_in_bytes: gibibyte,
    });
  });

  it('have the shares of the CPU limit of the pod when the container has neither request nor limit', () => {
    expect(of({}, { resources: { limits: { cpu: '2' } } })).toMatchObject({ cpu_shares: 2048, cpu_quota: 200_000 });
  });

  it.each([
    ['are killed as a whole when out of memory, and not throttled: cgroup v2', { hasCgroup2: true }, {}],
    ['have no swap: cgroup v2', { hasCgroup2: true, hasSwapController: true }, { 'memory.swap.max': '0' }],
  ])('%s', (_title, features, more) => {
    const pod = podWith();
    const { unified } = containerLinuxResources(pod, appOf(pod), { ...machine, ...features });
    expect(unified).toEqual({ 'memory.oom.group': '1', 'memory.min': '0', 'memory.low': '0', ...more });
  });

  it('have nothing of cgroup v2 where there is cgroup v1', () => {
    expect(of({})).not.toHaveProperty('unified');
  });
});

describe('containerOOMScoreAdjust', () => {
  const guaranteed = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
  const memory = (quantity: string) => ({ requests: { memory: quantity } });

  it.each([
    ['Guaranteed', {}, guaranteed, -997],
    ['BestEffort', {}, {}, 1000],
    ['Burstable with a tenth of the memory', {}, memory('1Gi'), 900],
    ['Burstable with nearly nothing', {}, memory('1'), 999],
    ['Burstable with all of the memory', {}, memory('10Gi'), 3],
    ['node critical', { priorityClassName: 'system-node-critical' }, {}, -997],
    ['cluster critical', { priorityClassName: 'system-cluster-critical', priority: 2_000_000_000 }, {}, 1000],
  ])('of a container that is %s', (_, spec, resources, expected) => {
    const pod = podWith(spec, { resources });
    expect(containerOOMScoreAdjust(pod, appOf(pod), machine.memoryBytes)).toBe(expected);
  });

  it('counts an equal share of the pod-level request that no container requests', () => {
    const more = { name: 'more', resources: memory('1Gi') };
    const pod = podWith({ resources: memory('4Gi'), initContainers: [more] }, { resources: memory('1Gi') });
    expect(containerOOMScoreAdjust(pod, appOf(pod), machine.memoryBytes)).toBe(750);
    const sidecar = { name: 'proxy', restartPolicy: 'Always', resources: memory('1Mi') };
    const withSidecar = podWith({ resources: memory('3Gi'), initContainers: [sidecar] }, { resources: memory('1Gi') });
    expect(containerOOMScoreAdjust(withSidecar, sidecar, machine.memoryBytes)).toBe(801);
  });

  it('of a container that is no sidecar depends on no other container', () => {
    const init = { name: 'init', resources: memory('1Mi') };
    const pod = podWith({ initContainers: [init] }, { resources: memory('5Gi') });
    expect(containerOOMScoreAdjust(pod, init, machine.memoryBytes)).toBe(999);
    const named = { name: 'app', restartPolicy: 'Always', resources: memory('1Mi') };
    expect(containerOOMScoreAdjust(pod, named, machine.memoryBytes)).toBe(999);
  });

  it('of a sidecar is that of the smallest of several main containers', () => {
    const sidecar = { name: 'proxy', restartPolicy: 'Always', resources: memory('1Mi') };
    const containers = ['5Gi', '2Gi'].map((size) => ({ name: size, resources: memory(size) }));
    const pod = podWith({ initContainers: [{ name: 'first' }, sidecar], containers });
    expect(containerOOMScoreAdjust(pod, sidecar, machine.memoryBytes)).toBe(800);
    const unlimited = podWith({ initContainers: [sidecar], containers: [{ name: 'a' }, { name: 'b', resources: {} }] });
    expect(containerOOMScoreAdjust(unlimited, sidecar, machine.memoryBytes)).toBe(999);
  });

  it('of a sidecar is at most that of the main container with the least memory', () => {
    const sidecar = { name: 'proxy', restartPolicy: 'Always', resources: memory('1Mi') };
    const pod = podWith({ initContainers: [sidecar] }, { resources: memory('5Gi') });
    expect(containerOOMScoreAdjust(pod, sidecar, machine.memoryBytes)).toBe(500);
  });
});

describe('overheadLinuxResources', () => {
  it('are those of the RuntimeClass, and none without one', () => {
    expect(overheadLinuxResources(podWith({ overhead: { cpu: '250m', memory: '1Gi' } }))).toEqual({
      ...{ cpu_shares: 256, cpu_period: 100_000, cpu_quota: 25_000, memory_limit_in_bytes: gibibyte },
    });
    const none = { cpu_shares: 2, cpu_period: 100_000, cpu_quota: 0, memory_limit_in_bytes: 0 };
    for (const pod of [podWith({ overhead: {} }), podWith(), { metadata: {} }])
      expect(overheadLinuxResources(pod)).toEqual(none);
  });
});

describe('sandboxLinuxResources', () => {
  it('are nothing for containers without resources, and count no init container that ends', () => {
    const resources = { requests: { cpu: '1' }, limits: { memory: '1Gi' } };
    const none = { cpu_shares: 2, cpu_period: 100_000, cpu_quota: 0, memory_limit_in_bytes: 0 };
    const incomplete = ['limits', 'requests'].map((kind) => ({ name: kind, resources: { [kind]: {} } }));
    for (const spec of [{ initContainers: [{ name: 'init', resources }] }, { containers: incomplete }])
      expect(sandboxLinuxResources(podWith(spec))).toEqual(none);
    expect(sandboxLinuxResources({})).toEqual(none);
  });

  it('add up those of the containers and sidecars', () => {
    const resources = { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '1Gi' } };
    const sidecar = { name: 'proxy', restartPolicy: 'Always', resources };
    expect(sandboxLinuxResources(podWith({ initContainers: [sidecar] }, { resources }))).toEqual({
      cpu_shares: 512,
      cpu_period: 100_000,
      cpu_quota: 100_000,
      memory_limit_in_bytes: 2 * gibibyte,
    });
  });
});

describe('resourcesFromStatus', () => {
  const status = { cpu_shares: 512, cpu_quota: 50_000, cpu_period: 100_000, memory_limit_in_bytes: 64 * 2 ** 20 };

  it('are the quantities that the container was created with', () => {
    expect(resourcesFromStatus(status)).toEqual({
      requests: { cpu: '500m' },
      limits: { cpu: '500m', memory: '64Mi' },
    });
  });

  it('have the least request for the least shares, so that an earlier one is not kept', () => {
    const least = { ...status, cpu_shares: 2 };
    expect(resourcesFromStatus(least)).toMatchObject({ requests: { cpu: '2m' } });
  });

  it('have no request and no limit that is not set', () => {
    const none = { cpu_shares: 0, cpu_quota: 0, cpu_period: 100_000, memory_limit_in_bytes: 0 };
    expect(resourcesFromStatus({ ...none, cpu_quota: 1000, cpu_period: 0 }).limits).toEqual({});
    expect(resourcesFromStatus(none)).toEqual({
      requests: {},
      limits: {},
    });
  });
});
