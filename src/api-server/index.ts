/* An API server in memory, for tests and demos, and its command. `./testing` exports it. */

export type { ClusterObject, ClusterObjectAccess } from './cluster-object-access.ts';
export type { HistoryEntry } from './api-server-handler.ts';
export { APIStatusError } from './api-status.ts';
export type { NamespacedObject, NamespacedObjectAccess, ObjectDeletion } from './namespaced-object-access.ts';
export type { PodAccess } from './pod-access.ts';
export type { RequestRecord } from './request-log.ts';
export { APIServer, type APIServerOptions } from './server.ts';
