export { pathSegment } from './client/http/api-path.ts';
export type { AbortSignalLike } from './abort.ts';
export type { HttpPodClient } from './client/http/http-pod-client.ts';
export { createPodClient } from './client/http/http-pod-client.ts';
export type { InClusterConfigOptions } from './client/http/in-cluster-config.ts';
export { inClusterConfig } from './client/http/in-cluster-config.ts';
export type { ClientNodeKubeConfig, KubeConfigObject, KubeConfigSource } from './client/http/kube-config-types.ts';
export type { KubeTransportOptions } from './client/http/transport-options.ts';
export type {
  KubeRequestOptions,
  KubeResponse,
  KubeStream,
  KubeStreamOptions,
  KubeTransport,
} from './client/http/kube-transport.ts';
export { createKubeTransport } from './client/http/transport.ts';
