import { quantityValue } from '../../kube/objects/quantity.ts';
import { resizableResources } from '../../kube/pods/resizable-resources.ts';
import type { ResourceRequirementsInput, ValidPod } from '../../kube/objects/types.ts';
import type { ContainerToUpdate } from '../actions/pod-actions.ts';
import type { ActuatedResources } from '../allocation/actuated-resources.ts';
import {
  amountOf,
  type BoundedRuntime,
  compareAmounts,
  containerResources,
  type PodCallOptions,
} from '../../node/index.ts';

export interface UpdateContainersOptions extends PodCallOptions {
  /** A runtime that has `updateContainerResources`. */
  readonly runtime: Pick<BoundedRuntime, 'listPodStats' | 'updateContainerResources' | 'updatePodResources'>;
  readonly actuatedResources: ActuatedResources;
  /** Empty if the runtime has no sandboxes. */
  readonly sandboxID: string;
}

/**
 * Gives a pod and its running containers their allocated resources, one resource after the other, and
 * records what the runtime has applied. Rejects with the runtime's first error; the next sync does the
 * rest. Source: kubelet `doPodResizeAction`, `updatePodContainerResources`.
 */
export async function updateContainers(
  pod: ValidPod,
  containersToUpdate: readonly ContainerToUpdate[],
  { runtime, actuatedResources, sandboxID, signal, scope }: UpdateContainersOptions,
): Promise<void> {
  await requireLimitsAboveUsage(pod, containersToUpdate, { runtime, actuatedResources, signal });
  await runtime.updatePodResources?.(pod, 'before', { signal, scope, sandboxID });
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
    await runtime.updateContainerResources!(containerID, resources, { signal, scope, pod, container });
    actuatedResources.set(pod, container.name, resources);
  }
  await runtime.updatePodResources?.(pod, 'after', { signal, scope, sandboxID });
  actuatedResources.setPod(pod);
}

/**
 * Rejects if a memory limit would be lowered below the usage, where the runtime measures it. Source: kubelet
 * `validateMemoryResizeAction`.
 *
 * Divergence: the kubelet also compares the limit of the pod's cgroup; here `updatePodResources` of the runtime does.
 */
async function requireLimitsAboveUsage(
  pod: ValidPod,
  containersToUpdate: readonly ContainerToUpdate[],
  { runtime, actuatedResources, signal }: Omit<UpdateContainersOptions, 'sandboxID' | 'scope'>,
): Promise<void> {
  const { uid } = pod.metadata;
  const memoryLimits = new Map<string, string>();
  for (const { container, resource } of containersToUpdate) {
    if (resource !== 'memory') continue;
    const desired = amountOf(containerResources(pod, container).limits, 'memory');
    const current = amountOf(actuatedResources.get(uid, container.name)?.limits, 'memory');
    const isUnlimited = compareAmounts(current, '0') === 0;
    if (compareAmounts(desired, '0') !== 0 && (isUnlimited || compareAmounts(desired, current) < 0))
      memoryLimits.set(container.name, desired);
  }
  if (memoryLimits.size === 0 || runtime.listPodStats === undefined) return;
  const stats = (await runtime.listPodStats({ signal })).find(({ podRef }) => podRef.uid === uid);
  const errors = (stats?.containers ?? []).flatMap(({ name, memory }) => {
    const limit = memoryLimits.get(name);
    if (limit === undefined) return [];
    const usageBytes = memory?.usageBytes ?? memory?.workingSetBytes;
    if (usageBytes === undefined) return [`missing container ${JSON.stringify(name)} memory usage`];
    const limitBytes = quantityValue(limit) ?? 0;
    if (usageBytes < limitBytes) return [];
    return [
      `attempting to set container ${JSON.stringify(name)} memory limit (${limitBytes}) below current usage (${usageBytes})`,
    ];
  });
  if (errors.length > 0)
    throw new Error(`cannot decrease memory limits: ${errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`}`);
}
