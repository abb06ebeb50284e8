/* An API server in memory, for tests and demos, and its command. `./testing` exports it. */

export type { ClusterObject, ClusterObjectAccess } from './cluster-object-access.ts';
export { APIStatusError } from './api-status.ts';
export type { PodAccess, PodDeletion } from './pod-access.ts';
export { APIServer, type APIServerOptions, type HistoryEntry, type RequestRecord } from './server.ts';
