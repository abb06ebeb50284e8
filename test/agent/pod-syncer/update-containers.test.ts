import { describe, expect, it } from 'vitest';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import type { ContainerToUpdate } from '../../../src/agent/actions/pod-actions.ts';
import { ActuatedResources } from '../../../src/agent/allocation/actuated-resources.ts';
import { updateContainers } from '../../../src/agent/pod-syncer/update-containers.ts';
import type { MemoryStats, PodStats } from '../../../src/node/runtime/pod-stats.ts';
import type { ResourceRequirementsInput, ValidPod } from '../../../src/kube/objects/types.ts';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

/** Resizes the memory of container `app`; resolves with the limits that the runtime was given. */
async function resize(before: string | undefined, after: string, memory?: Partial<MemoryStats>): Promise<unknown[]> {
  const time = '2026-01-02T03:04:05Z';
  const pod = (limit: string | undefined): ValidPod => ({
    metadata: { uid: 'u', name: 'web', namespace: 'ns' },
    spec: { containers: [{ name: 'app', resources: limit === undefined ? {} : { limits: { memory: limit } } }] },
  });
  const actuatedResources = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
  actuatedResources.set(pod(before), 'app', pod(before).spec!.containers![0]!.resources ?? {});
  const stats: PodStats = {
    podRef: { name: 'web', namespace: 'ns', uid: 'u' },
    ...{ startTime: time, containers: [{ name: 'app', startTime: time, memory: memory && { time, ...memory } }] },
  };
  const limits: unknown[] = [];
  const container = pod(after).spec!.containers![0]!;
  const update = { containerID: 'fake://1', container, resource: 'memory' } as ContainerToUpdate;
  await updateContainers(pod(after), [update], {
    runtime: asBounded({
      listPodStats: async () => [stats],
      updateContainerResources: async (_: string, resources: ResourceRequirementsInput) =>
        void limits.push(resources.limits?.['memory']),
    }),
    actuatedResources,
    sandboxID: '',
    scope: podScope(),
    signal: new AbortController().signal,
  });
  return limits;
}

describe('TestValidateMemoryResizeAction', () => {
  it.each<[string, string | undefined, string, Partial<MemoryStats> | undefined]>([
    ['a lower limit above the usage', '2Ki', '1Ki', { usageBytes: 1023 }],
    ['a higher limit, whatever the usage', '1Ki', '2Ki', { usageBytes: 9999 }],
    ['the working set where the usage is not known', '2Ki', '1Ki', { workingSetBytes: 1023 }],
  ])('%s is applied', async (_, before, after, memory) => {
    expect(await resize(before, after, memory)).toEqual([after]);
  });

  const refusal = 'attempting to set container "app" memory limit (1024) below current usage (1024)';
  it.each<[string, string | undefined, Partial<MemoryStats> | undefined, string]>([
    ['a lower limit', '2Ki', { usageBytes: 1024 }, refusal],
    ['a first limit', undefined, { usageBytes: 1024 }, refusal],
    ['a limit without statistics of the container', '2Ki', undefined, 'missing container "app" memory usage'],
  ])('%s at or below the usage is refused before anything is changed', async (_, before, memory, message) => {
    await expect(resize(before, '1Ki', memory)).rejects.toThrow(`cannot decrease memory limits: ${message}`);
  });
});
