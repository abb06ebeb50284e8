import { type Clock, type Logger, StatusManagerError } from '../../index.ts';
import type { ApiRequests } from '../api-requests.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { Node, NodeStatus, Taint } from './node-types.ts';

/** Options of `NodeReporter`. */
export interface NodeReporterOptions {
  /** Also the name of the Lease, and its holder. */
  readonly nodeName: string;
  /** As the node's own user, for example a `KubeTransport`, which has connections for heartbeats alone. */
  readonly transport: ApiRequests;
  readonly logger: Logger;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** In [0, 1): spreads the heartbeats of several nodes. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Hears of `NodeReady` and `NodeNotReady`. Default: nobody does. */
  readonly recorder?: EventRecorder | undefined;
  /** Of a new Node, beside those for the name, operating system and architecture, which they may replace. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Of a new Node. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Of a new Node; those of a Node that is there are left to its administrators. */
  readonly taints?: readonly Taint[] | undefined;
  /** Of a new Node. */
  readonly providerID?: string | undefined;
  /**
   * What the status says: addresses, capacity, allocatable (default: the capacity), conditions without
   * times, nodeInfo and any other member. Called every 10 seconds. Default, member by member: cpu and
   * memory of this machine, 110 pods, no pressure. When it throws, the status of before is reported.
   */
  readonly nodeStatus?: (() => NodeStatus | Promise<NodeStatus>) | undefined;
  /** Why the node is not ready, for people to read; empty: it is. Default: it always is. */
  readonly readyErrors?: (() => readonly string[]) | undefined;
  /**
   * Called with a Node of this name that is there at registration. Returns a JSON merge patch of its
   * metadata and spec, or nothing; throws to refuse the Node. Default: any Node is taken up as it is.
   */
  readonly adoptNode?: ((node: Node) => object | undefined) | undefined;
  /** Default 40; the Lease is renewed after a quarter of it. */
  readonly leaseDurationSeconds?: number | undefined;
}

/** For debugging. */
export interface NodeReporterInspection {
  readonly registered: boolean;
  /** The `uid` of the Node, from the registration on. */
  readonly nodeUID?: string | undefined;
  /** When the status was written last. */
  readonly statusReportTime?: string | undefined;
  /** Since when the status cannot be written; absent while all is well. */
  readonly statusFailingSince?: string | undefined;
  /** When the Lease was renewed last. */
  readonly leaseRenewTime?: string | undefined;
  /** Since when the Lease cannot be renewed; absent while all is well. */
  readonly leaseFailingSince?: string | undefined;
}

/** @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function requireNodeReporterOptions({ nodeName, leaseDurationSeconds = 40 }: NodeReporterOptions): void {
  if (typeof nodeName !== 'string' || nodeName === '') refuse('nodeName', 'a non-empty string');
  if (!Number.isSafeInteger(leaseDurationSeconds) || leaseDurationSeconds < 1) {
    refuse('leaseDurationSeconds', 'an integer ≥ 1');
  }
}

function refuse(path: string, expected: string): never {
  throw new StatusManagerError('INVALID_OPTION', `Expected \`${path}\` to be ${expected}`, { path });
}
