import type { HTTPPodClient } from '../kube/http/http-pod-client.ts';
import type { KubeConfigSource } from '../kube/http/kube-config-types.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Metrics } from '../status-manager/metrics.ts';
import type { ClockLike } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { refuseOption } from '../shared/errors.ts';
import {
  aFunction,
  integer,
  nested,
  oneOf,
  type OptionChecks,
  port,
  positiveInteger,
  requiredPort,
  requireOptions,
  unchecked,
} from '../shared/option-checks.ts';
import type { Journal } from '../status-manager/journal/journal.ts';
import {
  type PodAdmitAttributes,
  type PodAdmitResult,
  type EventRecorder,
  type NodeAgentNode,
  aNodeName,
  nodeChecks,
  type NodeStatusManagerOptions,
  statusManagerChecks,
} from '../node/index.ts';
import { capabilityChecks, type ProviderCapabilities } from './capabilities/provider-capabilities.ts';
import type { PodProvider } from './pod-provider.ts';
import { type NodeOwnershipOptions, requireLeaseName } from './replicas/node-ownership-options.ts';

/** What happens to a pod that the cloud had and no longer lists. */
export interface LostPods {
  /**
   * After so many lists in a row without the pod, it is lost, or has ended if it was deleted. Failed lists do not count.
   * Default: 3.
   */
  readonly afterLists?: number | undefined;
  /**
   * `fail`: the pod fails with the reason `LostByProvider`, and a controller replaces it. `recreate`: `createPod` is called
   * again for the same pod. Default: `fail`.
   */
  readonly action?: 'fail' | 'recreate' | undefined;
}

/**
 * Several processes have the same nodes, and each node runs in one of them at a time. Leases in `namespace` decide in which
 * one. Another process takes a node over when its owner ends, is cut off or stops responding. The calls of the provider have an
 * epoch that increases with each new owner of a node.
 */
export type ReplicasOptions = Pick<
  NodeOwnershipOptions,
  'drainTimeoutMs' | 'identity' | 'leaseDurationSeconds' | 'name' | 'namespace'
>;

/** Options of `createVirtualNodes`. */
export interface VirtualNodesOptions {
  /** The API server, as for `createNodeAgent`. All nodes share its connections. */
  readonly client: HTTPPodClient | KubeConfigSource;
  /** Runs the pods of all nodes. */
  readonly provider: PodProvider;
  /**
   * From the end of one `listPods` to the next, in milliseconds. After pods were created or deleted, the next list comes
   * earlier, at most one a second, and while the end of a deleted pod is awaited, there is one every 5 s. Default: 5,000, as
   * virtual-kubelet polls; with `notifyPods` 60,000, because it then only finds what a notification has missed.
   */
  readonly listPeriodMs?: number | undefined;
  /** Time-out in milliseconds of each call but `logs`, `exec`, `attach` and `portForward`. Default: 60,000. */
  readonly callTimeoutMs?: number | undefined;
  /** Maximum number of calls for pods at the same time, of all nodes. Default: 10, as the workers of virtual-kubelet. */
  readonly concurrency?: number | undefined;
  /** Default: after 3 lists without it, a pod fails. */
  readonly lost?: LostPods | undefined;
  /**
   * A pod that needs what `provider.capabilities` does not declare fails with the reason `PodFeatureUnsupported` (`refuse`),
   * or runs without it and has one Event with this reason (`warn`), as a pod does that ran before this process started.
   * Default: `refuse`.
   */
  readonly undeclared?: 'refuse' | 'warn' | undefined;
  /** Shares the nodes out between processes. Default: this process runs all of them. */
  readonly replicas?: ReplicasOptions | undefined;
  /**
   * Further options of the `StatusManager` of each node. `readBeforePatch` is `when-stale` by default. All nodes share `qps`,
   * `burst`, and the pause after 429 or 503, and take turns.
   */
  readonly statusManager?: NodeStatusManagerOptions | undefined;
  /** Receives the events about pods and Nodes. Default: they are written to the API server. */
  readonly eventRecorder?: EventRecorder | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
  /** For example `createPrometheusMetrics`: the values of all nodes are added up. Default: nothing is measured. */
  readonly metrics?: Partial<Metrics & AgentMetrics> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** The source of jitter, a number in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** A virtual node: the options of its Node, as for `createNodeAgent`, and of its pods. */
export interface VirtualNodeOptions extends NodeAgentNode {
  /** Name of the Node, in lower case. */
  readonly nodeName: string;
  /** As for `createNodeAgent`: called after the kubelet's own checks of resources, node affinity, ports and taints. */
  readonly canAdmitPod?: ((attributes: PodAdmitAttributes) => PodAdmitResult) | undefined;
  /** Passed to each call of the provider for a pod of the node; refused with `replicas`, which set it. Default: 0. */
  readonly epoch?: number | undefined;
  /** `await fileJournal(directory)`, with a directory of its own for each node. Default: none. */
  readonly journal?: Journal | undefined;
}

/** The methods of a provider; true if it must have the method. */
const providerMethods: Readonly<Record<Exclude<keyof PodProvider, 'capabilities'>, boolean>> = {
  attach: false,
  createPod: true,
  deletePod: true,
  exec: false,
  getPod: false,
  killContainer: false,
  listPods: true,
  logs: false,
  notifyPods: false,
  portForward: false,
  stats: false,
  updatePod: false,
};
const methodNames = Object.keys(providerMethods) as (keyof typeof providerMethods)[];

const lostChecks: OptionChecks<LostPods> = { action: oneOf('fail', 'recreate'), afterLists: positiveInteger };

/** `NodeOwnership` checks the values. */
const replicasChecks: OptionChecks<ReplicasOptions> = {
  drainTimeoutMs: unchecked,
  identity: unchecked,
  leaseDurationSeconds: unchecked,
  name: unchecked,
  namespace: unchecked,
};

const checks: OptionChecks<VirtualNodesOptions> = {
  callTimeoutMs: positiveInteger,
  client: unchecked,
  clock: unchecked,
  concurrency: positiveInteger,
  eventRecorder: port(['event']),
  listPeriodMs: positiveInteger,
  logger: unchecked,
  lost: nested(lostChecks),
  metrics: unchecked,
  provider: requiredPort(
    methodNames.filter((method) => providerMethods[method]),
    methodNames.filter((method) => !providerMethods[method]),
  ),
  random: unchecked,
  replicas: nested(replicasChecks),
  statusManager: nested(statusManagerChecks),
  undeclared: oneOf('refuse', 'warn'),
};

const nodeOptionChecks: OptionChecks<VirtualNodeOptions> = {
  ...nodeChecks,
  canAdmitPod: aFunction,
  epoch: integer(0),
  journal: unchecked,
  nodeName: aNodeName,
};

/** Options with their defaults. */
export interface ResolvedProviderOptions {
  readonly listPeriodMs: number;
  readonly callTimeoutMs: number;
  readonly concurrency: number;
  readonly lostAfterLists: number;
  readonly lostPods: 'fail' | 'recreate';
  readonly capabilities: ProviderCapabilities;
  readonly undeclared: 'refuse' | 'warn';
}

/** @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function resolveProviderOptions(options: VirtualNodesOptions): ResolvedProviderOptions {
  requireOptions(options, checks);
  const { provider, lost = {}, undeclared = 'refuse' } = options;
  const { capabilities = {} } = provider;
  requireOptions(capabilities, capabilityChecks, 'provider.capabilities');
  const { afterLists = 3, action = 'fail' } = lost;
  const { listPeriodMs = provider.notifyPods === undefined ? 5000 : 60_000 } = options;
  const { callTimeoutMs = 60_000, concurrency = 10 } = options;
  return {
    ...{ listPeriodMs, callTimeoutMs, concurrency, lostAfterLists: afterLists, lostPods: action },
    capabilities: { ...capabilities },
    undeclared,
  };
}

/** Checks what no part of the node checks itself. @throws StatusManagerError INVALID_OPTION; `path` names the option */
export function requireVirtualNodeOptions(options: VirtualNodeOptions, hasReplicas: boolean): void {
  requireOptions(options, nodeOptionChecks);
  if (!hasReplicas) return;
  requireLeaseName('nodeName', options.nodeName);
  if (options.epoch !== undefined) refuseOption('epoch', 'nothing with the option `replicas`', options.epoch);
  // Another process may have run the node last.
  if (options.journal !== undefined) refuseOption('journal', 'nothing with the option `replicas`');
}
