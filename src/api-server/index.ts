/* An API server in memory, for tests and demos, and its command. `./testing` exports it. */

export type { ClusterObject, ClusterObjectAccess } from './resources/cluster-object-access.ts';
export type { HistoryEntry } from './api-server-handler.ts';
export { APIStatusError } from './api-status.ts';
export type { NamespacedObject, NamespacedObjectAccess, ObjectDeletion } from './resources/namespaced-object-access.ts';
export type { PodAccess } from './resources/pod-access.ts';
export type { RequestRecord } from './http/request-log.ts';
export { APIServer } from './server.ts';
export type { APIServerOptions } from './api-server-options.ts';
