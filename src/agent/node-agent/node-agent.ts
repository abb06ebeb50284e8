import { platform } from 'node:os';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import { aBoolean, aSignal, notNegative, type OptionChecks, requireOptions } from '../../shared/option-checks.ts';
import { requireSignal } from '../../shared/validate.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import {
  agentGauges,
  type AgentStatusManager,
  type EventRecorder,
  type Eviction,
  evictionGracePeriod,
  evictPod,
  isCgroup2UnifiedMode,
  type Node,
  type NodeAgentState,
  registerGauges,
} from '../../node/index.ts';
import { closeConnection } from './create-connection.ts';
import type { AgentLoop } from './create-loop.ts';
import type { NodeAgentInspection } from './node-agent-inspection.ts';
import type { NodeAgentStopOptions } from './node-agent-options.ts';
import type { NodeAgentParts } from './node-agent-parts.ts';
import { terminateAllPods } from './terminate-all-pods.ts';

const defaultDrainMs = 10_000;
/** How long stop() waits for calls that create, start or remove a container, so that their results are known. */
const portCallsMs = 10_000;
/** How long stop() without a drain waits for recorded events to be written. */
const eventsMs = 1000;

const stopChecks: OptionChecks<NodeAgentStopOptions> = {
  deadlineMs: notNegative,
  drain: aBoolean,
  gracePeriodSeconds: notNegative,
  signal: aSignal,
  terminatePods: aBoolean,
};

/**
 * A node agent; create it with `createNodeAgent`. Failures at run time are logged with `failingSince`,
 * retried, and shown by `inspect()`. Source: kubelet `Kubelet`.
 */
export class NodeAgent implements AsyncDisposable {
  /** The status manager, for reading, waiting and subscribing. The agent starts and stops it. */
  readonly statusManager: AgentStatusManager;
  readonly #parts: NodeAgentParts;
  readonly #loop: AgentLoop;
  #state: NodeAgentState = 'created';
  #unregisterGauges: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  /** For `createNodeAgent`. */
  constructor(parts: NodeAgentParts, loop: AgentLoop) {
    this.#parts = parts;
    this.#loop = loop;
    this.statusManager = parts.workers.statusManager;
  }

  /** The name of its Node. */
  get nodeName(): string {
    return this.#parts.context.nodeName;
  }

  /** `created` until `start()`, `stopping` while `stop()` runs. */
  get state(): NodeAgentState {
    return this.#state;
  }

  /** Requests to the API server as the node's user, until the agent has stopped; undefined without a client. */
  get apiRequests(): APIRequests | undefined {
    return this.#parts.connection.api?.requests;
  }

  /**
   * Records Events as the agent does, for parts beside the runtime: the `eventRecorder` of the options, otherwise the
   * agent's own, which writes to the API server until the agent has stopped. Without a client, Events are dropped.
   */
  get eventRecorder(): EventRecorder {
    return this.#parts.connection.eventRecorder;
  }

  /**
   * Sets the port of the kubelet's API in the Node's status: `daemonEndpoints.kubeletEndpoint`. `serveKubeletAPI` calls
   * it. A `nodeStatus` with `daemonEndpoints` takes precedence.
   *
   * @param features declared by the Node, in addition to those of the agent and of `nodeStatus`
   */
  setKubeletEndpoint(port: number, features: readonly string[] = []): void {
    const { endpoints } = this.#parts.node;
    endpoints.kubeletPort = port;
    endpoints.features = features;
  }

  /** The pods of the node as last seen by the agent, without mirror pods. */
  getPods(): readonly ValidPod[] {
    return this.#parts.workers.podManager.getPods();
  }

  /**
   * The agent's Node as last seen, at most about 10 seconds ago; before it is registered, and without a client, the Node
   * that the options describe. Undefined with `node: false`, and until the first pods arrive or the Node is registered.
   */
  getNode(): Node | undefined {
    return this.#parts.node.ownNode.get();
  }

  /**
   * True when the data of a pod on the machine, such as folders, is no longer needed: the pod was deleted and has
   * terminated, was evicted, or is unknown. Unknown pods have data until every source has delivered its pods.
   * Source: kubelet `ShouldPodContentBeRemoved`.
   */
  shouldPodContentBeRemoved(podUID: string): boolean {
    return this.#parts.workers.statuses.shouldPodContentBeRemoved(podUID);
  }

  /**
   * Registers the Node. Makes one attempt, and rejects if it fails. Use it only if the program should give
   * up then: `start()` also registers the Node, and retries until it succeeds. Rejects
   * with StatusManagerError INVALID_STATE after stop().
   */
  async register(): Promise<void> {
    if (this.#stopped !== undefined) throw new StatusManagerError('INVALID_STATE', 'The agent has been stopped');
    await this.#parts.node.nodeReporter?.register();
  }

  /**
   * Starts the agent and returns immediately. Static pods run as soon as the runtime responds; pods of
   * the API server follow when the Node is registered. Calling it again does nothing.
   * @throws StatusManagerError INVALID_STATE after stop()
   */
  start(): void {
    if (this.#stopped !== undefined)
      throw new StatusManagerError('INVALID_STATE', 'Cannot start an agent that has been stopped');
    if (this.#state !== 'created') return;
    this.#state = 'running';
    this.#registerGauges();
    const { context, inputs, workers, node } = this.#parts;
    const { nodeName, stateInMemory } = context;
    context.logger.info({ node: nodeName, stateInMemory }, 'Starting node agent');
    if (platform() === 'linux')
      context.recordMetric('cgroup_version', isCgroup2UnifiedMode(undefined, context.machine.disk) ? 2 : 1);
    this.#loop.allocationManager.start();
    inputs.pleg.start();
    inputs.runtimeState.start();
    this.#loop.syncLoop.start();
    workers.qosCgroups.start();
    node.containerGC.start();
    node.imageGC?.start();
    node.evictionManager?.start();
    this.#loop.startUp.start();
    void this.whenFailed().then((error) => {
      context.logger.error({ node: nodeName, reason: error.message }, 'Stopping node agent: the node is in use');
      return this.stop();
    });
  }

  /**
   * Resolves when the Node is registered and every source has delivered its pods. Rejects with
   * StatusManagerError INVALID_STATE when stop() comes first, and with the signal's reason when it is aborted first.
   */
  async whenReady(options: { readonly signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    return untilAborted(this.#loop.startUp.ready, requireSignal(options));
  }

  /**
   * Resolves when the agent stops itself, with StatusManagerError NODE_IN_USE: an older agent, for example on another
   * machine, runs the same node. Never resolves otherwise. Let the process end then, with an error.
   */
  async whenFailed(): Promise<StatusManagerError> {
    return this.#parts.node.nodeReporter?.whenInUse() ?? new Promise(() => {});
  }

  /**
   * Evicts a pod, for example because the node runs out of memory: its containers are killed, and it ends with the reason
   * (default `Evicted`), the message and a DisruptionTarget condition. It fails, unless all of its containers exit with 0:
   * then it succeeds, as under the kubelet. The pod object is not deleted. Resolves with true when its containers have stopped. Resolves with
   * false, and does nothing, for a critical pod and for a pod that has ended or was refused. Rejects if
   * the containers take too long; the pod still fails and is killed.
   *
   * Rejects with StatusManagerError INVALID_ARGUMENT for an unknown pod or an invalid eviction, and
   * INVALID_STATE unless the agent is running; then nothing was done.
   */
  async evict(pod: Pod, eviction: Eviction): Promise<boolean> {
    const { podManager, podWorkers, getActivePods } = this.#parts.workers;
    if (this.#state !== 'running') throw new StatusManagerError('INVALID_STATE', 'The agent is not running');
    const known = podManager.getPodByUID(pod?.metadata?.uid ?? '');
    if (known === undefined)
      throw new StatusManagerError('INVALID_ARGUMENT', 'Expected `pod` to be a pod of this agent', { path: 'pod' });
    if (!getActivePods().includes(known)) return false;
    const { clock, logger } = this.#parts.context;
    const { gracePeriodSeconds = this.#parts.node.maxPodGracePeriodSeconds } = eviction;
    return evictPod(known, {
      ...{ ...eviction, podWorkers, clock, logger, eventRecorder: this.eventRecorder },
      signal: this.#parts.ports.stopSignal,
      gracePeriodSeconds: evictionGracePeriod(known, gracePeriodSeconds),
    });
  }

  /**
   * Stops the agent; resolves when no timer, request or promise is left. Containers keep running unless
   * `terminatePods` is set. Waits up to 10 s for containers that are being created or started; the next
   * agent finds them in any case. Never rejects. Later calls wait for the first one.
   * @throws StatusManagerError INVALID_OPTION
   */
  stop(options: NodeAgentStopOptions = {}): Promise<void> {
    requireOptions(options, stopChecks);
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** `stop()` without a drain; containers keep running. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A snapshot for tests, tables and status pages: a copy that does not change. */
  inspect(): NodeAgentInspection {
    const { connection, inputs, workers, node } = this.#parts;
    return {
      state: this.#state,
      syncLoop: this.#loop.syncLoop.inspect(),
      runtime: inputs.pleg.inspect(),
      refusedManifests: inputs.podSources.flatMap((source) => source.refusedManifests?.() ?? []),
      podWorkers: workers.statuses.inspect(),
      statusManager: this.statusManager.inspect(),
      node: node.nodeReporter?.inspect(),
      eviction: node.evictionManager?.inspect(),
      orphanedPodDirs: this.#loop.orphanedPodDirs.failure,
      events: connection.ownEventRecorder?.inspect(),
      probes: workers.probeManager.workerCount,
    };
  }

  #registerGauges(): void {
    const { metrics, clock, logger } = this.#parts.context;
    const startedMs = clock.monotonicMs();
    this.#unregisterGauges = registerGauges(metrics, logger, () =>
      agentGauges(this.inspect(), clock.monotonicMs() - startedMs, clock.now()),
    );
  }

  async #stop({
    drain = false,
    terminatePods = false,
    gracePeriodSeconds,
    deadlineMs = defaultDrainMs,
    signal = new AbortController().signal,
  }: NodeAgentStopOptions): Promise<void> {
    const { context, connection, ports, inputs, workers, node } = this.#parts;
    const { shutdownAdmission, allocationManager, startUp, syncLoop, orphanedPodDirs } = this.#loop;
    const { nodeName, clock, logger } = context;
    const wasRunning = this.#state === 'running';
    this.#state = 'stopping';
    logger.info({ node: nodeName, drain, terminatePods }, 'Stopping node agent');
    if (terminatePods) shutdownAdmission.begin();
    if (terminatePods && wasRunning)
      await terminateAllPods({ ...workers, clock, logger, eventRecorder: this.eventRecorder }, gracePeriodSeconds);
    await startUp.stop();
    const portCallsTimer = clock.afterFunc(portCallsMs, ports.abort);
    await syncLoop.stop();
    await orphanedPodDirs.stop();
    allocationManager.stop();
    await workers.qosCgroups.stop();
    await node.containerGC.stop();
    await node.imageGC?.stop();
    await node.evictionManager?.stop();
    await workers.podWorkers.stop();
    workers.probeManager.cleanupPods([]);
    await inputs.pleg.stop();
    await inputs.runtimeState.stop();
    portCallsTimer.stop();
    ports.abort();
    await connection.mirrorPods?.stop();
    await this.statusManager.stop({ drain, deadlineMs, signal });
    await connection.informer?.stop();
    await node.nodeReporter?.stop({ reportNotReady: terminatePods });
    await startUp.whenEnded();
    await closeConnection(connection, context, drain ? deadlineMs : eventsMs, signal);
    this.#state = 'stopped';
    this.#unregisterGauges?.();
    logger.info({ node: nodeName }, 'Node agent has stopped');
  }
}
