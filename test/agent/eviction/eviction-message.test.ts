import { describe, expect, it } from 'vitest';
import type { PodSpec } from 'kubelet-status-manager';
import { evictionMessage, reclaimTarget, thresholdQuantity } from '../../../src/agent/eviction/eviction-message.ts';
import type { PodUsage } from '../../../src/agent/eviction/pod-usage.ts';
import type { EvictionSignal, Threshold } from '../../../src/agent/eviction/thresholds.ts';
import type { ContainerStats } from '../../../src/node/runtime/pod-stats.ts';

const mebi = 2 ** 20;
const observed = { available: 50 * mebi, capacity: 1000 * mebi };
const thresholdOf = (signal: EvictionSignal, value = '100Mi', minimumReclaim = '0'): Threshold => ({
  ...{ signal, value, minimumReclaim, gracePeriodMs: 0 },
});

type Used = { readonly memory?: number; readonly rootfs?: number; readonly logs?: number };
function usageOf(containers: Readonly<Record<string, Used>>, podMemory?: number): PodUsage {
  const bytes = (used: number | undefined, key: 'usedBytes' | 'workingSetBytes') =>
    used === undefined ? undefined : { time: '', [key]: used * mebi };
  const stats = Object.entries(containers).map(([name, { memory, rootfs, logs }]): ContainerStats => ({
    ...{ name, startTime: '' },
    memory: bytes(memory, 'workingSetBytes'),
    rootfs: bytes(rootfs, 'usedBytes'),
    logs: bytes(logs, 'usedBytes'),
  }));
  return {
    volumeStats: undefined,
    stats: {
      podRef: { name: 'web', namespace: 'default', uid: 'u1' },
      startTime: '',
      memory: bytes(podMemory, 'workingSetBytes'),
      containers: stats,
    },
  };
}
const message = (signal: EvictionSignal, spec: PodSpec, usage: PodUsage | undefined) =>
  evictionMessage(
    thresholdOf(signal),
    { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec },
    usage,
    observed,
  );
const requesting = (name: string, requests: Readonly<Record<string, string>> = {}) => ({
  name,
  resources: { requests },
});

describe('why a pod is evicted', () => {
  it('names each container that uses more memory than it requests, init containers included', () => {
    const spec = {
      initContainers: [requesting('sidecar', { memory: '10Mi' })],
      containers: [requesting('app', { memory: '20Mi' }), requesting('small', { memory: '30Mi' }), { name: 'bare' }],
    };
    const usage = usageOf({ app: { memory: 21 }, small: { memory: 30 }, sidecar: { memory: 11 }, bare: { memory: 1 } });
    expect(message('memory.available', spec, usage)).toEqual({
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container app was using 21Mi, request is 20Mi, has larger consumption of memory. ' +
        'Container sidecar was using 11Mi, request is 10Mi, has larger consumption of memory. ' +
        'Container bare was using 1Mi, request is 0, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'app,sidecar,bare',
        offending_containers_usage: '21Mi,11Mi,1Mi',
        starved_resource: 'memory',
      },
    });
  });

  it('counts the writable layer and the log of a container on the disk together', () => {
    const spec = {
      containers: [requesting('app', { 'ephemeral-storage': '5Mi' }), { name: 'layer' }, { name: 'log' }],
    };
    const usage = usageOf({ app: { rootfs: 3, logs: 4 }, layer: { rootfs: 1 }, log: { logs: 2 } });
    expect(message('nodefs.available', spec, usage).annotations).toEqual({
      offending_containers: 'app,layer,log',
      offending_containers_usage: '7Mi,1Mi,2Mi',
      starved_resource: 'ephemeral-storage',
    });
  });

  it.each<[string, EvictionSignal, PodSpec, PodUsage]>([
    ['that the pod no longer has', 'memory.available', { containers: [] }, usageOf({ gone: { memory: 9 } })],
    ['in a pod without spec', 'memory.available', {}, usageOf({ app: { memory: 9 } })],
    ['whose memory is not known', 'memory.available', { containers: [{ name: 'app' }] }, usageOf({ app: {} })],
    [
      'that uses the disk when memory is low',
      'memory.available',
      { containers: [{ name: 'app' }] },
      usageOf({ app: { logs: 9 } }),
    ],
  ])('names no container %s', (_, signal, spec, usage) => {
    const explained = message(signal, spec, usage);
    expect(explained.message).toMatch(/available: 50Mi\. $/);
    expect(explained.annotations).toMatchObject({ offending_containers: '', offending_containers_usage: '' });
  });

  it.each<[EvictionSignal, string]>([
    ['nodefs.inodesFree', 'inodes'],
    ['pid.available', 'pids'],
  ])('%s: amounts are numbers, and no container is named, as its usage is not known', (signal, resource) => {
    const usage = usageOf({ app: { memory: 9, rootfs: 9 } });
    const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [{ name: 'app' }] } };
    expect(evictionMessage(thresholdOf(signal, '10%'), pod, usage, { available: 1024, capacity: 20_480 })).toEqual({
      message: `The node was low on resource: ${resource}. Threshold quantity: 2048, available: 1024. `,
      annotations: { offending_containers: '', offending_containers_usage: '', starved_resource: resource },
    });
  });

  it.each<[string, EvictionSignal, PodSpec, number | undefined]>([
    ['requests no memory itself', 'memory.available', { resources: { limits: { memory: '1Gi' } } }, 90],
    ['has an unknown usage of memory', 'memory.available', { resources: { requests: { memory: '10Mi' } } }, undefined],
    ['starves the disk', 'nodefs.available', { resources: { requests: { 'ephemeral-storage': '10Mi' } } }, 90],
  ])('does not name the usage of a pod that %s', (_, signal, spec, podMemory) => {
    const explained = message(signal, spec, usageOf({}, podMemory));
    expect(explained.message).not.toContain('Pod web');
    expect(explained.annotations).not.toHaveProperty('offending_pod');
    expect(explained.annotations).not.toHaveProperty('offending_pod_usage');
  });

  it('has no annotations without the stats of the runtime, even if its volumes are measured', () => {
    const measured = { stats: undefined, volumeStats: { time: '', volumes: new Map() } };
    for (const usage of [undefined, measured])
      expect(message('memory.available', { containers: [{ name: 'app' }] }, usage)).toEqual({
        message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
      });
  });
});

it.each<[EvictionSignal, string, string, string, string]>([
  ['memory.available', '100Mi', '0', '100Mi', '100Mi'],
  ['memory.available', '100Mi', '50Mi', '100Mi', '150Mi'],
  ['nodefs.available', '10%', '5%', '100Mi', '150Mi'],
  // As the user has written it.
  ['nodefs.available', '102400Ki', '0', '102400Ki', '102400Ki'],
  ['nodefs.inodesFree', '1024', '1024', '1024', '2048'],
])('%s of %s with a minimum reclaim of %s: %s, until %s', (signal, value, minimumReclaim, quantity, target) => {
  const threshold = thresholdOf(signal, value, minimumReclaim);
  expect(thresholdQuantity(threshold, observed)).toBe(quantity);
  expect(reclaimTarget(threshold, observed)).toBe(target);
});
