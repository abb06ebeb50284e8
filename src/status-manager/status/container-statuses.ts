/** The fields of a pod status that list statuses of containers. */
export const containerStatusesFields = [
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;

export type ContainerStatusesField = (typeof containerStatusesFields)[number];
