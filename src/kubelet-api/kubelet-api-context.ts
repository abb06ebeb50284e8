import maxBy from 'lodash/maxBy.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AgentStatusManager, CheckedInspection, Node, NodeStats } from '../node/index.ts';
import type { APIRequests } from '../kube/client/api-requests.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import type { BoundedStreamingRuntime } from './bounded-streaming-runtime.ts';
import { HTTPError } from './http-error.ts';
import type { KubeletAPIOptions } from './kubelet-api-options.ts';

/** The node whose API is served: an agent, or all virtual nodes of a process. */
export interface KubeletAPINode {
  /** The name in the serving certificate. */
  readonly nodeName: string;
  /** Requests to the API server as the node's user; undefined without a client. */
  readonly apiRequests: APIRequests | undefined;
  /** The pods of the node as last seen, without mirror pods. */
  getPods(): readonly ValidPod[];
  /** The Node as last seen. The serving certificate is valid for its addresses. */
  getNode(): Node | undefined;
  /** Sets the port of the kubelet's API in the Node's status, and what the Node declares because of it. */
  setKubeletEndpoint(port: number, features?: readonly string[]): void;
  /**
   * True if several nodes share the port, and `nodeName` is one of them. A client then needs permissions for all nodes, and
   * there are no statistics. Default: false.
   */
  readonly isShared?: boolean | undefined;
  readonly statusManager: Pick<AgentStatusManager, 'getPodStatus'>;
  /** The usage of the node itself, without its pods. Default: the usage of this machine. */
  nodeStats?(nowMs: number): NodeStats;
  /** For `/healthz`. */
  inspect(): CheckedInspection;
}

/** What the handlers of requests need. */
export interface KubeletAPIContext {
  readonly agent: KubeletAPINode;
  readonly options: KubeletAPIOptions;
  readonly runtime: BoundedStreamingRuntime;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A request that is authorized. */
export interface KubeletRequest {
  readonly request: IncomingMessage;
  /** The segments of the path after the first one, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Aborted when the client has closed its connection, or the server is closed. */
  readonly signal: AbortSignal;
}

export type KubeletHandler = (request: KubeletRequest, response: ServerResponse) => void | Promise<void>;

/** @throws HTTPError 404. Source: kubelet `GetPodByName` */
export function requireServedPod({ agent }: KubeletAPIContext, namespace = '', name = ''): ValidPod {
  const named = agent.getPods().filter(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  // Nodes that share the port may briefly have two pods of this name. The older one has been deleted.
  const pod = maxBy(named, ({ metadata }) => metadata.creationTimestamp ?? '');
  if (pod === undefined) throw new HTTPError(404, `pod "${name}" does not exist`);
  return pod;
}

export function sendText(
  response: ServerResponse,
  statusCode: number,
  text: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  response.writeHead(statusCode, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
}

export function sendJSON(response: ServerResponse, value: unknown): void {
  sendText(response, 200, JSON.stringify(value), 'application/json');
}
