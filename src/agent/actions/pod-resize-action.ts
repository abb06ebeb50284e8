import { type ResizableResource, resizableResources } from '../../kube/pods/resizable-resources.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';
import type { ActuatedPod } from '../allocation/actuated-resources.ts';
import {
  amountOf,
  areAmountsEqual,
  compareAmounts,
  containerResources,
  type RuntimeContainerStatus,
} from '../../node/index.ts';
import type { ContainerToUpdate } from './pod-actions.ts';

/** The action that gives a running container its allocated resources. */
export interface ContainerResize {
  readonly containerID: string;
  readonly container: Container;
  /** True when its resize policy requires a restart; then it is not updated in place. */
  readonly needsRestart: boolean;
  readonly changes: readonly { readonly resource: ResizableResource; readonly isDecrease: boolean }[];
}

/**
 * Undefined when the container has its allocated resources, and for a pod without `actuated`, whose
 * containers are never resized. Source: kubelet `computePodResizeAction`.
 */
export function computePodResizeAction(
  pod: Pod,
  container: Container,
  { id }: RuntimeContainerStatus,
  actuated: ActuatedPod | undefined,
): ContainerResize | undefined {
  if (actuated === undefined) return undefined;
  const desired = containerResources(pod, container);
  const current = actuated.ofContainer(container.name);
  const changes = resizableResources.flatMap((resource) => {
    const limit = compareAmounts(desired.limits?.[resource], amountOf(current?.limits, resource));
    const request = compareAmounts(desired.requests?.[resource], amountOf(current?.requests, resource));
    const change = limit === 0 ? request : limit;
    return change === 0 ? [] : [{ resource, isDecrease: change < 0 }];
  });
  if (changes.length === 0) return undefined;
  const needsRestart = changes.some(
    ({ resource }) =>
      container.resizePolicy?.find(({ resourceName }) => resourceName === resource)?.restartPolicy ===
      'RestartContainer',
  );
  return { containerID: id, container, needsRestart, changes };
}

/**
 * True when one of these containers starts with other resources than it last had, so that the resources of the pod also change.
 * Source: kubelet `startingResizedContainer`, `computePodResizeAction`.
 */
export function startsResized(pod: Pod, starting: readonly Container[], actuated: ActuatedPod | undefined): boolean {
  return starting.some(
    (container) =>
      actuated !== undefined &&
      !areAmountsEqual(containerResources(pod, container), actuated.ofContainer(container.name)),
  );
}

/** True when the pod itself has other resources than it was given. Source: kubelet `computePodLevelResourcesResizeAction`. */
export function isPodResized({ spec }: Pod, actuated: ActuatedPod | undefined): boolean {
  return actuated !== undefined && !areAmountsEqual(spec?.resources, actuated.resources);
}

/** Memory before cpu; decreases before increases, so that the sum never exceeds the allocation. */
export function containersToUpdate(resizes: readonly ContainerResize[]): ContainerToUpdate[] {
  return resizableResources.flatMap((resource) => {
    const decreases: ContainerToUpdate[] = [];
    const increases: ContainerToUpdate[] = [];
    for (const { containerID, container, needsRestart, changes } of resizes) {
      const change = changes.find((candidate) => candidate.resource === resource);
      if (needsRestart || change === undefined) continue;
      const update = { containerID, container, resource };
      if (change.isDecrease) decreases.unshift(update);
      else increases.push(update);
    }
    return [...decreases, ...increases];
  });
}

export function resizeRestartMessage({ name }: Container): string {
  return `Container ${name} resize requires restart`;
}
