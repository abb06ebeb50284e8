export { pathSegment } from './api-path.ts';
export type { AbortSignalLike } from '../../shared/abort.ts';
export type { HTTPPodClient } from './http-pod-client.ts';
export { createPodClient } from './http-pod-client.ts';
export type { InClusterConfigOptions } from './in-cluster-config.ts';
export { inClusterConfig } from './in-cluster-config.ts';
export type { ClientNodeKubeConfig, KubeConfigObject, KubeConfigSource } from './kube-config-types.ts';
export type { KubeTransportOptions } from './transport-options.ts';
export type {
  KubeRequestOptions,
  KubeResponse,
  KubeStream,
  KubeStreamOptions,
  KubeTransport,
} from './kube-transport.ts';
export { createKubeTransport } from './transport.ts';
