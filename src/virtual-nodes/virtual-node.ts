import type { AgentGauges } from '../observe/agent-metrics.ts';
import { type AbortSignalLike, undefinedIfAborted, untilAborted } from '../shared/abort.ts';
import { StatusManagerError } from '../shared/errors.ts';
import { reasonOf } from '../shared/logger.ts';
import { timeFromEpochMs } from '../shared/time.ts';
import { getPodFullName } from '../kube/pods/static-pods.ts';
import { requireSignal } from '../shared/validate.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import type { ManagerInspection } from '../status-manager/inspection.ts';
import { withDeadline } from '../shared/deadline.ts';
import {
  agentGauges,
  type AgentStatusManager,
  type EventRecorderInspection,
  type Node,
  type NodeAgentState,
  type NodeReporterInspection,
  type NodeStopOptions,
  type PodWorkerInspection,
  registerGauges,
  type RuntimePod,
  type SyncLoopInspection,
} from '../node/index.ts';
import type { VirtualNodeParts } from './create-virtual-node-parts.ts';

/** How a virtual node ends. Its pods keep running in the cloud, and the next process finds them there. */
export type VirtualNodeStopOptions = NodeStopOptions;

/** A pod that the provider has accepted but not listed. */
interface UnlistedPod {
  readonly uid: string;
  readonly fullName: string;
  readonly acceptedAt: string;
}

/** A snapshot of a virtual node; it does not change afterwards. */
export interface VirtualNodeInspection {
  readonly nodeName: string;
  readonly state: NodeAgentState;
  /** The queues of the sync loop. */
  readonly syncLoop: SyncLoopInspection;
  /** One entry for each pod that has a worker; `failureReason` is why a call of the provider for it fails. */
  readonly podWorkers: readonly PodWorkerInspection[];
  /** See `VirtualNode.unlistedPods`. */
  readonly unlistedPods: readonly UnlistedPod[];
  /** The cached statuses, and which of them are unsent. */
  readonly statusManager: ManagerInspection;
  readonly node: NodeReporterInspection;
  /** Undefined if the events go to `eventRecorder` of the options. */
  readonly events: EventRecorderInspection | undefined;
}

const defaultDrainMs = 10_000;
/** How long stop() without a drain waits for recorded events to be written. */
const eventsMs = 1000;

/** A virtual node; `VirtualNodes.add` creates it. Failures are logged, retried, and shown by `inspect()`. */
export class VirtualNode {
  /** The status manager, for reading, waiting and subscribing. */
  readonly statusManager: AgentStatusManager;
  readonly #parts: VirtualNodeParts;
  #state: NodeAgentState = 'created';
  readonly #ready: Promise<void>;
  #settleReady: (error?: StatusManagerError) => void = () => {};
  #unregisterGauges: (() => void) | undefined;
  #starting: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /** For `VirtualNodes`. */
  constructor(parts: VirtualNodeParts) {
    this.#parts = parts;
    this.statusManager = parts.statusManager;
    this.#ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // stop() rejects the promise; without a handler that would be an unhandled rejection.
    this.#ready.catch(() => {});
  }

  /** The name of its Node. */
  get nodeName(): string {
    return this.#parts.nodeName;
  }

  /** The pods of the node on the API server, as last seen. */
  getPods(): readonly ValidPod[] {
    return this.#parts.podManager.getPods();
  }

  /** The pod with this UID on the API server, as last seen. */
  pod(podUID: string): ValidPod | undefined {
    return this.#parts.podManager.getPodByUID(podUID);
  }

  /** The Node as last seen; undefined until it is registered or the first pods arrive. */
  getNode(): Node | undefined {
    return this.#parts.ownNode.get();
  }

  /**
   * Resolves when the Node is registered, its pods on the API server are known, and the provider has listed its pods.
   * Rejects with StatusManagerError INVALID_STATE when the node is stopped first, and with the signal's reason when it is
   * aborted first.
   */
  async whenReady(options: { readonly signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    return untilAborted(this.#ready, requireSignal(options));
  }

  /** Pods that `createPod` has accepted, but that as many lists as `lost.afterLists` did not have since then. */
  unlistedPods(): readonly UnlistedPod[] {
    return this.#parts.podCache.unlistedPods().map(({ pod, sinceMs }) => ({
      uid: pod.metadata.uid,
      fullName: getPodFullName(pod),
      acceptedAt: timeFromEpochMs(sinceMs),
    }));
  }

  /** A snapshot for tests, tables and status pages: a copy that does not change. */
  inspect(): VirtualNodeInspection {
    const { nodeName, syncLoop, statuses, nodeReporter, ownEventRecorder } = this.#parts;
    return {
      nodeName,
      state: this.#state,
      syncLoop: syncLoop.inspect(),
      podWorkers: statuses.inspect(),
      unlistedPods: this.unlistedPods(),
      statusManager: this.statusManager.inspect(),
      node: nodeReporter.inspect(),
      events: ownEventRecorder?.inspect(),
    };
  }

  /** Passed to the calls of the provider. */
  get epoch(): number {
    return this.#parts.epoch;
  }

  /** For `VirtualKubelet`. False once another process may run the node. */
  get isOwned(): boolean {
    return this.#parts.isOwned();
  }

  /** When its sync loop last began an iteration. */
  get lastIterationAt(): string | undefined {
    return this.#parts.syncLoop.inspect().lastIterationAt;
  }

  /** For `VirtualKubelet`. A pod of the node as its runtime would show it. */
  runtimePod(podUID: string): RuntimePod | undefined {
    const pod = this.#parts.podManager.getPodByUID(podUID);
    if (pod === undefined) return undefined;
    const { name, namespace } = pod.metadata;
    const { sandboxes, containers = [] } = this.#parts.podCache.get(podUID) ?? {};
    return { uid: podUID, name, namespace, sandboxes, containers };
  }

  /** For `VirtualNodes`. */
  start(): void {
    if (this.#state !== 'created') return;
    this.#state = 'running';
    const { nodeName, logger, podCache, allocationManager, syncLoop, nodeReporter } = this.#parts;
    logger.info({ node: nodeName }, 'Starting virtual node');
    this.#registerGauges();
    podCache.start();
    allocationManager.start();
    syncLoop.start();
    this.#starting = this.#startSource();
    void nodeReporter.whenInUse().then((error) => {
      logger.error({ node: nodeName, reason: error.message }, 'Stopping virtual node: the node is in use');
      return this.stop();
    });
  }

  /** For `VirtualNodes`. Resolves when nothing of the node is left but an Event that could not be written yet. */
  stop(options: VirtualNodeStopOptions = {}): Promise<void> {
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** For `VirtualNodes`, after `stop()`. Resolves when no Event is being written. */
  async whenEventsStopped(): Promise<void> {
    await this.#parts.ownEventRecorder?.stop();
  }

  #registerGauges(): void {
    const { metrics, clock, logger, podCache, statuses, nodeReporter } = this.#parts;
    const read = (): AgentGauges => {
      const runtime = { relistedAt: undefined, runningPods: podCache.runningPods };
      const node = { state: this.#state, runtime, node: nodeReporter.inspect(), podWorkers: statuses.inspect() };
      // The age of a list depends on `listPeriodMs`; the gauges of the process say for how long lists have failed.
      return { ...agentGauges(node, 0, clock.now()), relistAgeSeconds: undefined };
    };
    this.#unregisterGauges = registerGauges(metrics, logger, read);
  }

  async #startSource(): Promise<void> {
    const { nodeReporter, informer, source, inputs, firstUpdate, podCache, logger } = this.#parts;
    nodeReporter.start();
    try {
      await nodeReporter.whenRegistered();
      informer.start();
      await informer.whenSynced();
    } catch {
      // stop() came first.
      return;
    }
    try {
      source.start(inputs.podConfig.channel(source.name), inputs.podSourceContext);
    } catch (thrown) {
      logger.error({ source: source.name, reason: reasonOf(thrown) }, 'Failed to start a pod source');
    }
    void Promise.all([firstUpdate, podCache.whenListed()]).then(() => this.#settleReady());
  }

  async #stop({
    drain = false,
    deadlineMs = defaultDrainMs,
    signal: stopSignal = new AbortController().signal,
  }: VirtualNodeStopOptions): Promise<void> {
    const { nodeName, clock, logger, source, syncLoop, allocationManager, podWorkers, podCache } = this.#parts;
    const { informer, nodeReporter, ownEventRecorder, stop } = this.#parts;
    this.#state = 'stopping';
    logger.info({ node: nodeName, drain }, 'Stopping virtual node');
    this.#settleReady(new StatusManagerError('INVALID_STATE', 'The node has been stopped'));
    await source.stop();
    await syncLoop.stop();
    allocationManager.stop();
    await podWorkers.stop();
    stop.abort();
    podCache.stop();
    await this.statusManager.stop({ drain, deadlineMs, signal: stopSignal });
    await informer.stop();
    await nodeReporter.stop();
    await this.#starting;
    const eventsWritten = ownEventRecorder?.stop() ?? Promise.resolve();
    await withDeadline(clock, drain ? deadlineMs : eventsMs, stopSignal, ({ signal }) =>
      undefinedIfAborted(eventsWritten, signal),
    );
    this.#state = 'stopped';
    this.#unregisterGauges?.();
    logger.info({ node: nodeName }, 'Virtual node has stopped');
  }
}
