export type { ClusterObject, ClusterObjectAccess } from './cluster-object-access.ts';
export { ApiStatusError } from './api-status.ts';
export type { PodAccess, PodDeletion } from './pod-access.ts';
export { ApiServer, type ApiServerOptions, type HistoryEntry, type RequestRecord } from './server.ts';
