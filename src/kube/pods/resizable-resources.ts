/** The resources that can be changed while a container or pod is running, in the order in which the kubelet changes them. */
export const resizableResources = ['memory', 'cpu'] as const;

/** Source: `v1.ResourceMemory`, `v1.ResourceCPU`. */
export type ResizableResource = (typeof resizableResources)[number];

export function isResizable(resourceName: string): resourceName is ResizableResource {
  return (resizableResources as readonly string[]).includes(resourceName);
}
