import { isIP } from 'node:net';
import type { BasicPodManager } from '../kube/pod-manager/basic-pod-manager.ts';
import { refuseOption } from '../shared/errors.ts';
import { requireFunctionOption } from '../shared/validate.ts';
import type { StatusManagerOptions } from '../status-manager/options.ts';
import type { StatusManager } from '../status-manager/status-manager.ts';
import type { NodeReporterOptions } from './registration/node-reporter-options.ts';

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
  /** Ends the drain when it is aborted: requests in flight are then aborted, too. */
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
   * and, unless `nodeStatus` returns others, the addresses of the Node, with its name as the `Hostname` of an agent's.
   * Default: none.
   */
  readonly addresses?: readonly string[] | undefined;
}

export const nodeFields: Readonly<Record<keyof NodeAgentNode, true>> = {
  addresses: true,
  adoptNode: true,
  annotations: true,
  labels: true,
  leaseDurationSeconds: true,
  nodeStatus: true,
  providerID: true,
  readyErrors: true,
  taints: true,
};
export const statusManagerFields: Readonly<Record<keyof NodeStatusManagerOptions, true>> = {
  burst: true,
  concurrency: true,
  limiter: true,
  patchStrategy: true,
  qps: true,
  readBeforePatch: true,
  requestTimeoutMs: true,
  syncPeriodMs: true,
};

/** @throws StatusManagerError INVALID_OPTION */
export function requireNodeName(nodeName: unknown): void {
  if (typeof nodeName !== 'string' || !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(nodeName))
    refuseOption('nodeName', "a node's name, in lower case");
}

/**
 * Checks the options that `NodeReporter` does not check.
 * @param prefix of the options' names in errors: `node.`
 * @throws StatusManagerError INVALID_OPTION
 */
export function requireNode(node: NodeAgentNode, prefix = ''): void {
  const { addresses } = node;
  if (addresses !== undefined && !(Array.isArray(addresses) && addresses.every((address) => isIP(address) !== 0)))
    refuseOption(`${prefix}addresses`, 'a list of IP addresses');
  const families = (addresses ?? []).map((address) => isIP(address));
  if (new Set(families).size < families.length) refuseOption(`${prefix}addresses`, 'at most one of each IP family');
  for (const hook of ['nodeStatus', 'readyErrors', 'adoptNode'] as const)
    requireFunctionOption(`${prefix}${hook}`, node[hook]);
}
