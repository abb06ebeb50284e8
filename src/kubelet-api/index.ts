/** The kubelet's HTTPS API on port 10250: `kubectl logs`, `exec`, `attach`, `port-forward`, statistics. */
export { serveKubeletAPI, type KubeletAPIServer } from './serve-kubelet-api.ts';
export type { KubeletAPIOptions } from './kubelet-api-options.ts';
export type { KubeletAuthentication } from './authenticator.ts';
export type { KubeletAuthorization } from './authorizer.ts';
export type { KubeletAPINode } from './kubelet-api-context.ts';
export type { ContainerIO, ContainerLog, ContainerLogOptions, StreamingRuntime, StreamOptions } from '../node/index.ts';
