/** The members of a pod status that list statuses of containers. */
export const containerStatusesMembers = [
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;

export type ContainerStatusesMember = (typeof containerStatusesMembers)[number];
