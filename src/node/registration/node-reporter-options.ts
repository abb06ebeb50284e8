import type { ClockLike } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import isPlainObject from 'lodash/isPlainObject.js';
import {
  aBoolean,
  aFunction,
  aText,
  integer,
  optional,
  type OptionChecks,
  required,
  unchecked,
} from '../../shared/option-checks.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { Node, NodeStatus, Taint } from './node-types.ts';

/** Options of `NodeReporter`. */
export interface NodeReporterOptions {
  /** Name of the Node; also the name of its Lease, and the holder identity. */
  readonly nodeName: string;
  /** Sends the requests as the node's user. A `KubeTransport` reserves connections for heartbeats. */
  readonly transport: APIRequests;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** Returns a number in [0, 1), which spreads the heartbeats of several nodes. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Receives the events about the Node, for example `Starting`, `NodeReady` and `NodeNotSchedulable`. Default: they are dropped. */
  readonly recorder?: EventRecorder | undefined;
  /** Labels of a new Node, in addition to those for hostname, operating system and architecture, which they may override. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Annotations of a new Node. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Taints of a new Node. The taints of an existing Node belong to its administrators. */
  readonly taints?: readonly Taint[] | undefined;
  /** Provider ID of a new Node. */
  readonly providerID?: string | undefined;
  /**
   * Returns the Node's status: addresses, capacity, allocatable (default: the capacity), conditions
   * without times, nodeInfo and any other field. Called every 10 seconds. Fields that are absent have
   * defaults: cpu and memory of this machine, 110 pods, no pressure; a virtual node has no capacity by
   * default, and is not ready without one. `declaredFeatures` are added to those of the option, or of the agent. If it throws or takes longer than 10 seconds, the previous status is reported.
   */
  readonly nodeStatus?: (() => NodeStatus | Promise<NodeStatus>) | undefined;
  /** Optional features of a kubelet that the node has, in addition to those of `nodeStatus`. Default: none. */
  readonly declaredFeatures?: readonly string[] | undefined;
  /**
   * Returns why the node is not ready, in readable form; empty if it is ready. If it throws, the node is not
   * ready. Default: always ready.
   */
  readonly readyErrors?: (() => readonly string[]) | undefined;
  /**
   * Called at registration if a Node of this name exists. Returns a JSON merge patch of its metadata and
   * spec, or undefined; throws to refuse the Node. Default: any existing Node is adopted unchanged.
   */
  readonly adoptNode?: ((node: Node) => object | undefined) | undefined;
  /** Duration of the Lease, which is renewed after a quarter of it. Default: 40. */
  readonly leaseDurationSeconds?: number | undefined;
  /**
   * For many nodes in one process: the second heartbeat of each comes after a random part of its period, and heartbeats that are
   * due at almost the same time are sent together. Default: false.
   */
  readonly spreadHeartbeats?: boolean | undefined;
}

/** State of a `NodeReporter`, for debugging. */
export interface NodeReporterInspection {
  readonly registered: boolean;
  /** The `uid` of the Node; absent until it is registered. */
  readonly nodeUID?: string | undefined;
  /** When the status was last written. */
  readonly statusReportedAt?: string | undefined;
  /** Since when the Node cannot be registered, or its status written; absent if the last attempt succeeded. */
  readonly statusFailingSince?: string | undefined;
  readonly statusFailureReason?: string | undefined;
  /** When the Lease was last renewed. */
  readonly leaseRenewedAt?: string | undefined;
  /** Since when the Lease cannot be renewed; absent if the last renewal succeeded. */
  readonly leaseFailingSince?: string | undefined;
  readonly leaseFailureReason?: string | undefined;
  /** Of the Lease. When the node becomes NotReady without a renewal is up to kube-controller-manager: by default after 50 s. */
  readonly leaseDurationSeconds: number;
}

// Otherwise the API server would refuse the Node at each attempt.
const texts = optional(
  'an object of strings',
  (value) => isPlainObject(value) && Object.values(value).every((text) => typeof text === 'string'),
);

const taints = optional(
  'a list of { key, effect }',
  (list: readonly (Partial<Taint> | null)[]) =>
    Array.isArray(list) && list.every((taint) => isText(taint?.key) && isText(taint?.effect)),
);

export const nodeReporterChecks: OptionChecks<NodeReporterOptions> = {
  adoptNode: aFunction,
  annotations: texts,
  clock: unchecked,
  declaredFeatures: unchecked,
  labels: texts,
  leaseDurationSeconds: integer(1),
  logger: unchecked,
  nodeName: required('a non-empty string', isText),
  nodeStatus: aFunction,
  providerID: aText,
  random: unchecked,
  readyErrors: aFunction,
  recorder: unchecked,
  spreadHeartbeats: aBoolean,
  taints,
  transport: unchecked,
};

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
