import { isIP } from 'node:net';
import type { BasicPodManager } from '../kube/pod-manager/basic-pod-manager.ts';
import { refuseOption } from '../shared/errors.ts';
import { type OptionChecks, required, unchecked } from '../shared/option-checks.ts';
import type { StatusManagerOptions } from '../status-manager/options.ts';
import type { StatusManager } from '../status-manager/status-manager.ts';
import { type NodeReporterOptions, nodeReporterChecks } from './registration/node-reporter-options.ts';

/** The options of the status manager that a node's user may set. */
export type NodeStatusManagerOptions = Pick<
  StatusManagerOptions,
  | 'burst'
  | 'concurrency'
  | 'limiter'
  | 'patchStrategy'
  | 'qps'
  | 'readBeforePatch'
  | 'requestTimeoutMs'
  | 'syncPeriodMs'
>;

/** The status manager of a node. */
export type AgentStatusManager = StatusManager<BasicPodManager>;

/** The state of a node: `created`, `running`, `stopping` while `stop()` is in progress, `stopped`. */
export type NodeAgentState = 'created' | 'running' | 'stopping' | 'stopped';

/** How `stop()` ends a node. */
export interface NodeStopOptions {
  /** Write unsent statuses and events to the API server first. Default: false. */
  readonly drain?: boolean | undefined;
  /** Maximum duration of the drain in milliseconds, without the termination of pods. Default: 10,000. */
  readonly deadlineMs?: number | undefined;
  /** Ends the drain when it is aborted, and aborts the requests in flight. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of the agent's Node; see `NodeReporterOptions` for the fields that are not described here. */
export interface NodeAgentNode extends Pick<
  NodeReporterOptions,
  | 'adoptNode'
  | 'annotations'
  | 'labels'
  | 'leaseDurationSeconds'
  | 'nodeStatus'
  | 'providerID'
  | 'readyErrors'
  | 'taints'
> {
  /**
   * IP addresses of the node, the primary one first, at most one of each IP family. They become the `hostIPs` of its pods
   * and, unless `nodeStatus` returns others, the addresses of the Node, to which an agent adds its name as `Hostname`.
   * Default: none.
   */
  readonly addresses?: readonly string[] | undefined;
}

const { adoptNode, annotations, labels, leaseDurationSeconds, nodeStatus, providerID, readyErrors, taints } =
  nodeReporterChecks;

export const nodeChecks: OptionChecks<NodeAgentNode> = {
  ...{ adoptNode, annotations, labels, leaseDurationSeconds, nodeStatus, providerID, readyErrors, taints },
  addresses(path, addresses) {
    if (addresses === undefined) return;
    if (!Array.isArray(addresses) || !addresses.every((address) => isIP(address) !== 0))
      refuseOption(path, 'a list of IP addresses');
    const families = new Set(addresses.map((address) => isIP(address)));
    if (families.size < addresses.length) refuseOption(path, 'at most one of each IP family');
  },
};

/** The status manager checks the values. */
export const statusManagerChecks: OptionChecks<NodeStatusManagerOptions> = {
  burst: unchecked,
  concurrency: unchecked,
  limiter: unchecked,
  patchStrategy: unchecked,
  qps: unchecked,
  readBeforePatch: unchecked,
  requestTimeoutMs: unchecked,
  syncPeriodMs: unchecked,
};

export const aNodeName = required(
  "a node's name, in lower case",
  (name) => typeof name === 'string' && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name),
);
