/* An API server in memory, for tests and demos, and its command. `./testing` exports it. */

export type { HistoryEntry } from './api-server-handler.ts';
export { APIStatusError } from './api-status.ts';
export type {
  ClusterObject,
  ClusterObjectAccess,
  NamespacedObject,
  NamespacedObjectAccess,
  ObjectDeletion,
} from './resources/object-access.ts';
export type { PodAccess } from './resources/pod-access.ts';
export type { RequestRecord } from './http/request-log.ts';
export { APIServer } from './server.ts';
export type { APIServerOptions } from './api-server-options.ts';
