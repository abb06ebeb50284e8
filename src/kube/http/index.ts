/* The transport of this library: kubeconfigs, credentials, connections, and a `PodClient` over it. */

export { pathSegment } from './api-path.ts';
export { createPodClient, type HTTPPodClient } from './http-pod-client.ts';
export { inClusterConfig } from './in-cluster-config.ts';
export type { KubeConfigObject, KubeConfigSource } from './kube-config-types.ts';
export type { KubeTransportOptions } from './transport-options.ts';
export type { KubeRequestOptions, KubeResponse, KubeTransport } from './kube-transport.ts';
