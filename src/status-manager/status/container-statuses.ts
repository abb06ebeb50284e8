import type { ContainerStatusInput, PodStatusInput } from '../../kube/objects/types.ts';

/** The fields of a pod status that list statuses of containers. */
export const containerStatusesFields = [
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;

export type ContainerStatusesField = (typeof containerStatusesFields)[number];

/** The statuses of all containers of a pod. */
export function containerStatusesOf(status: PodStatusInput | null | undefined): ContainerStatusInput[] {
  return containerStatusesFields.flatMap((field) => status?.[field] ?? []);
}
