import type { KubeletMetric } from './kubelet-metrics.ts';

/** The values of an agent, a virtual node or a replica at the time of a scrape; values that do not apply are absent. */
export interface AgentGauges {
  /** Since the pods of the runtime were last listed, or since the start; absent unless the agent runs. */
  readonly relistAgeSeconds?: number | undefined;
  /** Absent before the first renewal, and without a Node. */
  readonly leaseAgeSeconds?: number | undefined;
  /** Of the Lease, which is renewed after a quarter of it. */
  readonly leaseDurationSeconds?: number | undefined;
  /** Absent if the agent does not register the Node. */
  readonly isNodeRegistered?: boolean | undefined;
  /** Pods whose last sync failed. */
  readonly failingPods?: number | undefined;
  /** Manifests of static pods that are invalid. */
  readonly refusedManifests?: number | undefined;
  /** Pods with a sandbox that is ready, or, without sandboxes, with a running container. */
  readonly runningPods?: number | undefined;
  /** Containers in the runtime, by state; states without a container are absent. */
  readonly containers?: Readonly<Record<string, number>> | undefined;
  /** Of a process with virtual nodes: what they share. */
  readonly provider?: {
    /** Nodes that run in this process. */
    readonly nodes: number;
    readonly callsInProgress: number;
    /** Calls that wait because `concurrency` others are in progress. */
    readonly queuedCalls: number;
    /** How long the oldest of them has waited. */
    readonly longestQueuedSeconds: number;
    /** Since the provider's pods cannot be listed; absent if the last list succeeded. */
    readonly listFailingSeconds: number | undefined;
    /** Since the oldest pod that is not listed was accepted; absent if all are listed. */
    readonly unlistedSeconds: number | undefined;
    /** Whether the last list, or a notification since then, had an invalid pod. */
    readonly hasInvalidPods: boolean;
  };
  /** Of a process with the option `replicas` of `createVirtualNodes`. */
  readonly replica?: {
    /** Whether it may own nodes: its Lease is renewed in time. */
    readonly isMember: boolean;
    readonly ownedNodes: number;
    /** How often it has taken a node. */
    readonly takenNodes: number;
    /** Time since it last renewed its Lease and listed all Leases; undefined before the first time. */
    readonly renewalAgeSeconds: number | undefined;
  };
}

/** Where an agent reports its measurements, in addition to `Metrics`. `createPrometheusMetrics` implements it. */
export interface AgentMetrics {
  /**
   * Called once by the agent: `read` returns the current values at any later time.
   * @returns unregisters them; called when the agent stops
   */
  registerAgentGauges(read: () => AgentGauges): () => void;
  /** Adds `value` to a counter of the kubelet, observes it in a histogram, or sets a gauge to it; `labels` are the values of its labels. */
  recordKubeletMetric(name: KubeletMetric, value: number, ...labels: readonly string[]): void;
}
