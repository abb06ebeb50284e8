/* Virtual nodes whose pods run in a cloud, a fleet or another cluster. */

export { createVirtualNodes } from './create-virtual-nodes.ts';
export { serveVirtualNodes } from './http-server/serve-virtual-nodes.ts';
export type { VirtualNodes, VirtualNodesInspection } from './virtual-nodes.ts';
export type { VirtualKubelet } from './kubelet/virtual-kubelet.ts';
export type { VirtualNode, VirtualNodeInspection } from './virtual-node.ts';
export type { ReplicasOptions, VirtualNodeOptions, VirtualNodesOptions } from './virtual-nodes-options.ts';
export {
  type PodProvider,
  type ProviderPodReference,
  type ProviderCallOptions,
  type ProviderContainer,
  ProviderError,
  type ProviderPod,
  type ProviderPodOptions,
} from './pod-provider.ts';
export type { ContainerMaterials, PodMaterials, RegistryCredentials, VolumeFile } from './materials/pod-materials.ts';
