/* Virtual nodes whose pods run in a cloud, a fleet or another cluster. */

export { createVirtualNodes } from './create-virtual-nodes.ts';
export { serveVirtualNodes } from './http-server/serve-virtual-nodes.ts';
export type { VirtualNodes, VirtualNodesInspection } from './virtual-nodes.ts';
export type { VirtualNode } from './virtual-node.ts';
export type { VirtualNodeOptions, VirtualNodesOptions } from './virtual-nodes-options.ts';
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
// What a provider names in the types of its methods
export type { ProviderCapabilities } from './capabilities/provider-capabilities.ts';
export type { ValidPod } from '../kube/objects/types.ts';
export type { ContainerIO, ContainerLogOptions, PodStats } from '../node/index.ts';
