import type { ResourceRequirementsInput, ValidPod } from '../../kube/types.ts';
import type { ContainerToUpdate } from '../actions/pod-actions.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import type { ActuatedResources } from './actuated-resources.ts';
import { amountOf, compareAmounts, containerResources, resizableResources } from './container-resources.ts';

export interface UpdateContainersOptions {
  /** A runtime that has `updateContainerResources`. */
  readonly runtime: Pick<ContainerRuntime, 'updateContainerResources' | 'updatePodResources'>;
  readonly actuatedResources: ActuatedResources;
  readonly signal: AbortSignal;
}

/**
 * Gives the running containers of a pod their allocated resources, one resource after the other, and
 * records what the runtime has applied. Rejects with the runtime's first error; the next sync does the
 * rest. Source: kubelet `updatePodContainerResources`.
 *
 * Divergence: the kubelet does not lower a memory limit below the usage. Here the runtime must check that.
 */
export async function updateContainers(
  pod: ValidPod,
  containersToUpdate: readonly ContainerToUpdate[],
  { runtime, actuatedResources, signal }: UpdateContainersOptions,
): Promise<void> {
  await runtime.updatePodResources?.(pod, 'before', { signal });
  for (const { containerID, container, resource } of containersToUpdate) {
    signal.throwIfAborted();
    const desired = containerResources(pod, container);
    const current = actuatedResources.get(pod.metadata.uid, container.name);
    const listOf = (kind: 'limits' | 'requests'): ResourceRequirementsInput['limits'] => {
      const list: Record<string, string> = {};
      for (const name of resizableResources) {
        const amount = amountOf((name === resource ? desired : current)?.[kind], name);
        if (compareAmounts(amount, '0') !== 0) list[name] = amount;
      }
      return list;
    };
    const resources = { limits: listOf('limits'), requests: listOf('requests') };
    await runtime.updateContainerResources!(containerID, resources, { signal, pod, container });
    actuatedResources.set(pod, container.name, resources);
  }
  await runtime.updatePodResources?.(pod, 'after', { signal });
}
