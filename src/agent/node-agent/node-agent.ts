import { requireBooleanOption, requireMembers } from '../../shared/validate.ts';
import { accessParts } from '../../kube/access/permissions.ts';
import { isStaticPod } from '../../kube/static-pods.ts';
import { reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import { logMissingAccess } from '../../kube/access/log-missing-access.ts';
import type { Pod, ValidPod } from '../../kube/types.ts';
import { refuseOption, StatusManagerError } from '../../shared/errors.ts';
import { apiSourceName, type PodSink, type PodSource } from '../config/pod-source.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { withDeadline } from '../deadline.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { evictPod, type Eviction } from '../eviction/evict-pod.ts';
import { tryCall } from '../../shared/guarded.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Node } from '../node/node-types.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import { agentGauges, type NodeAgentInspection, type NodeAgentState } from './node-agent-inspection.ts';
import type { AgentStatusManager, NodeAgentStopOptions } from './node-agent-options.ts';
import { terminateAllPods } from './terminate-all-pods.ts';
import type { NodeAgentParts } from './node-agent-parts.ts';

/** How long API server pods wait for static pods, and the first Node status waits for the runtime. */
const startUpWaitMs = 10_000;
const defaultDrainMs = 10_000;
/** How long stop() waits for calls that create, start or remove a container, so that their results are known. */
const runtimeCallsMs = 10_000;
/** How long stop() without a drain waits for recorded events to be written. */
const eventsMs = 1000;
/** Source: kubelet `ContainerGCPeriod`. */
const containerGCPeriodMs = 60_000;

/**
 * A node agent; create it with `createNodeAgent`. Failures at run time are logged with `failingSince`,
 * retried, and shown by `inspect()`. Source: kubelet `Kubelet`.
 */
export class NodeAgent implements AsyncDisposable {
  /** The status manager, for reading, waiting and subscribing. The agent starts and stops it. */
  readonly statusManager: AgentStatusManager;
  readonly #parts: NodeAgentParts;
  readonly #stopSignal = new AbortController();
  #state: NodeAgentState = 'created';
  readonly #startedSources: PodSource[] = [];
  readonly #gcFailures: FailureLog;
  #gcTicker: Ticker | undefined;
  #unregisterGauges: (() => void) | undefined;
  #starting: Promise<unknown> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /** For `createNodeAgent`. */
  constructor(parts: NodeAgentParts) {
    this.#parts = parts;
    this.statusManager = parts.statusManager;
    this.#gcFailures = new FailureLog({
      logger: parts.logger,
      clock: parts.clock,
      what: 'Garbage collection of containers',
    });
  }

  /** The name of its Node. */
  get nodeName(): string {
    return this.#parts.nodeName;
  }

  /** `created` until `start()`, `stopping` while `stop()` runs. */
  get state(): NodeAgentState {
    return this.#state;
  }

  /** Requests to the API server as the node's user, until the agent has stopped; undefined without a client. */
  get apiRequests(): APIRequests | undefined {
    return this.#parts.connection?.requests;
  }

  /**
   * Records Events as the agent does, for parts beside the runtime: the `eventRecorder` of the options, otherwise the
   * agent's own, which writes to the API server until the agent has stopped. Without a client, Events are dropped.
   */
  get eventRecorder(): EventRecorder {
    return this.#parts.eventRecorder;
  }

  /**
   * Sets the port of the kubelet's API in the Node's status: `daemonEndpoints.kubeletEndpoint`. `serveKubeletAPI` calls
   * it. A `nodeStatus` with `daemonEndpoints` takes precedence.
   *
   * @param features declared by the Node, in addition to those of the agent and of `nodeStatus`
   */
  setKubeletEndpoint(port: number, features: readonly string[] = []): void {
    this.#parts.nodeEndpoints.kubeletPort = port;
    this.#parts.nodeEndpoints.features = features;
  }

  /** The pods of the node as last seen by the agent, without mirror pods. */
  getPods(): readonly ValidPod[] {
    return this.#parts.podManager.getPods();
  }

  /**
   * The agent's Node as last seen, at most about 10 seconds ago; before it is registered, and without a client, the Node
   * that the options describe. Undefined with `node: false`, and until the first pods arrive or the Node is registered.
   */
  getNode(): Node | undefined {
    return this.#parts.ownNode.get();
  }

  /**
   * True when nothing needs the data of a pod on the machine any more, such as folders: the pod was deleted and has
   * terminated, was evicted, or is unknown. Unknown pods have data until every source has delivered its pods.
   * Source: kubelet `ShouldPodContentBeRemoved`.
   */
  shouldPodContentBeRemoved(podUID: string): boolean {
    return this.#parts.podWorkers.shouldPodContentBeRemoved(podUID);
  }

  /**
   * Registers the Node. Makes one attempt, and rejects if it fails. Use it only if the program should give
   * up then: `start()` registers the Node, too, and retries until it succeeds. Rejects
   * with StatusManagerError INVALID_STATE after stop().
   */
  async register(): Promise<void> {
    if (this.#stopped !== undefined) throw new StatusManagerError('INVALID_STATE', 'The agent has been stopped');
    await this.#parts.nodeReporter?.register();
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
    const { podConfig, podSources, pleg, syncLoop, allocationManager, nodeName, clock, logger } = this.#parts;
    logger.info({ node: nodeName }, 'Starting node agent');
    // All sources are registered before the first one delivers pods, so that nothing is cleaned up too early.
    const sinks = podSources.map((source) => [source, podConfig.channel(source.name)] as const);
    allocationManager.start();
    pleg.start();
    this.#parts.runtimeState.start();
    syncLoop.start();
    this.#gcTicker = new Ticker(clock, containerGCPeriodMs, () => this.#collectGarbage());
    this.#gcTicker.start();
    this.#parts.imageGC?.start();
    this.#parts.evictionManager?.start();
    for (const [source, sink] of sinks) if (source.name !== apiSourceName) this.#startSource(source, sink);
    const [apiSource, apiSink] = sinks.find(([{ name }]) => name === apiSourceName) ?? [];
    this.#starting = Promise.all([
      this.#logMissingAccess(),
      this.#startNodeReporter(),
      apiSource && apiSink && this.#startAPISource(apiSource, apiSink),
    ]);
  }

  /**
   * Resolves when the Node is registered and every source has delivered its pods. Rejects with
   * StatusManagerError INVALID_STATE when stop() comes first.
   */
  whenReady(): Promise<void> {
    return this.#parts.startUp.ready;
  }

  /**
   * Evicts a pod, for example because the node runs out of memory: the pod fails with the reason
   * (default `Evicted`), the message and a DisruptionTarget condition, and its containers are killed. The
   * pod object is not deleted. Resolves with true when no container is running any more. Resolves with
   * false, and does nothing, for a critical pod and for a pod that has ended or was refused. Rejects if
   * the containers take too long; the pod still fails and is killed.
   *
   * Rejects with StatusManagerError INVALID_ARGUMENT for an unknown pod or an invalid eviction, and
   * INVALID_STATE unless the agent is running; then nothing was done.
   */
  async evict(pod: Pod, eviction: Eviction): Promise<boolean> {
    const { podManager, podWorkers, getActivePods, clock, logger, eventRecorder } = this.#parts;
    if (this.#state !== 'running') throw new StatusManagerError('INVALID_STATE', 'The agent is not running');
    const known = podManager.getPodByUID(pod?.metadata?.uid ?? '');
    if (known === undefined)
      throw new StatusManagerError('INVALID_ARGUMENT', 'Expected `pod` to be a pod of this agent', { path: 'pod' });
    if (!getActivePods().includes(known)) return false;
    return evictPod(known, { ...eviction, podWorkers, clock, logger, eventRecorder });
  }

  /**
   * Stops the agent; resolves when no timer, request or promise is left. Containers keep running unless
   * `terminatePods` is set. Waits up to 10 s for containers that are being created or started; the next
   * agent finds them in any case. Never rejects. Later calls wait for the first one.
   * @throws StatusManagerError INVALID_OPTION
   */
  stop(options: NodeAgentStopOptions = {}): Promise<void> {
    requireMembers('options', options, ['drain', 'terminatePods', 'gracePeriodSeconds', 'deadlineMs']);
    requireBooleanOption('drain', options.drain);
    requireBooleanOption('terminatePods', options.terminatePods);
    requireNumber('gracePeriodSeconds', options.gracePeriodSeconds);
    requireNumber('deadlineMs', options.deadlineMs);
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** `stop()` without a drain; containers keep running. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A snapshot for tests, tables and status pages: a copy that does not change. */
  inspect(): NodeAgentInspection {
    const { syncLoop, podSources, podWorkers, statusManager, nodeReporter, ownEventRecorder, probeManager, pleg } =
      this.#parts;
    const { evictionManager } = this.#parts;
    return {
      state: this.#state,
      syncLoop: syncLoop.inspect(),
      runtime: pleg.inspect(),
      refusedManifests: podSources.flatMap((source) => source.refusedManifests?.() ?? []),
      podWorkers: podWorkers.inspect(),
      statusManager: statusManager.inspect(),
      node: nodeReporter?.inspect(),
      eviction: evictionManager?.inspect(),
      events: ownEventRecorder?.inspect(),
      probes: probeManager.workerCount,
    };
  }

  #registerGauges(): void {
    const { metrics, clock, logger } = this.#parts;
    const startedAtMs = clock.now();
    this.#unregisterGauges = tryCall(
      () => metrics?.registerAgentGauges?.(() => agentGauges(this.inspect(), startedAtMs, clock.now())),
      (thrown) =>
        logger.error({ reason: reasonOf(thrown), method: 'metrics.registerAgentGauges' }, 'User callback threw'),
    );
  }

  /** Logs missing permissions at start instead of one failed request after another. */
  async #logMissingAccess(): Promise<void> {
    const { connection, nodeName, nodeReporter, ownEventRecorder, nodeEndpoints, logger } = this.#parts;
    if (connection === undefined) return;
    const unused = new Set([nodeReporter === undefined && 'node', ownEventRecorder === undefined && 'events']);
    const parts = accessParts.filter((part) => !unused.has(part));
    if (nodeEndpoints.kubeletPort !== undefined) parts.push('kubelet-api');
    await logMissingAccess(connection.requests, { nodeName, parts, logger, signal: this.#stopSignal.signal });
  }

  /** Also updates the cgroups of the QoS classes. Source: kubelet `StartGarbageCollection`, `periodicQOSCgroupUpdateInterval`. */
  async #collectGarbage(): Promise<void> {
    const { qosCgroups, containerGC, sourcesReady } = this.#parts;
    await qosCgroups.update(this.#stopSignal.signal);
    try {
      await containerGC.garbageCollect(sourcesReady.allReady());
      this.#gcFailures.succeeded();
    } catch (thrown) {
      if (!this.#stopSignal.signal.aborted) this.#gcFailures.failed(thrown);
    }
  }

  async #startNodeReporter(): Promise<void> {
    const { nodeReporter, pleg, runtimeState, clock } = this.#parts;
    if (nodeReporter === undefined) return;
    // Otherwise the first status would say that the runtime is not healthy. Source: kubelet `Run`.
    await withDeadline(clock, startUpWaitMs, this.#stopSignal.signal, ({ signal }) =>
      undefinedIfAborted(Promise.all([pleg.relist(), runtimeState.whenUpdated()]), signal),
    );
    if (!this.#stopSignal.signal.aborted) nodeReporter.start();
  }

  async #startAPISource(source: PodSource, sink: PodSink): Promise<void> {
    const { nodeReporter, informer, startUp, clock } = this.#parts;
    try {
      await nodeReporter?.whenRegistered();
      this.#registerStaticPods();
      informer!.start();
      await informer!.whenSynced();
    } catch {
      // stop() came first.
      return;
    }
    await withDeadline(clock, startUpWaitMs, this.#stopSignal.signal, ({ signal }) =>
      undefinedIfAborted(startUp.staticSourcesSeen, signal),
    );
    if (!this.#stopSignal.signal.aborted) this.#startSource(source, sink);
  }

  #startSource(source: PodSource, sink: PodSink): void {
    const { podSourceContext, logger } = this.#parts;
    try {
      source.start(sink, podSourceContext);
      this.#startedSources.push(source);
    } catch (thrown) {
      logger.error({ source: source.name, reason: reasonOf(thrown) }, 'Failed to start a pod source');
    }
  }

  async #stopSource(source: PodSource): Promise<void> {
    try {
      await source.stop();
    } catch (thrown) {
      this.#parts.logger.error({ source: source.name, reason: reasonOf(thrown) }, 'Failed to stop a pod source');
    }
  }

  /** Source: kubelet `fastStaticPodsRegistration`. */
  #registerStaticPods(): void {
    const { podManager, mirrorPods } = this.#parts;
    for (const pod of podManager.getPods().filter(isStaticPod))
      mirrorPods?.reconcile(pod, podManager.getMirrorPodByPod(pod));
  }

  async #stop({
    drain = false,
    terminatePods = false,
    gracePeriodSeconds,
    deadlineMs = defaultDrainMs,
  }: NodeAgentStopOptions): Promise<void> {
    const { logger, nodeName, informer, syncLoop, podWorkers, probeManager, pleg, runtimeState } = this.#parts;
    const { mirrorPods, nodeReporter, connection, statusManager, allocationManager, containerGC } = this.#parts;
    const { clock, abortRuntimeCalls, startUp, shutdownAdmission } = this.#parts;
    const wasRunning = this.#state === 'running';
    this.#state = 'stopping';
    logger.info({ node: nodeName, drain, terminatePods }, 'Stopping node agent');
    if (terminatePods) shutdownAdmission.begin();
    if (terminatePods && wasRunning) await terminateAllPods(this.#parts, gracePeriodSeconds);
    this.#stopSignal.abort();
    startUp.stopped();
    await Promise.all(this.#startedSources.map((source) => this.#stopSource(source)));
    const runtimeCallsTimer = clock.afterFunc(runtimeCallsMs, abortRuntimeCalls);
    await syncLoop.stop();
    allocationManager.stop();
    this.#gcTicker?.stop();
    await containerGC.stop();
    await this.#parts.imageGC?.stop();
    await this.#parts.evictionManager?.stop();
    await podWorkers.stop();
    probeManager.cleanupPods([]);
    await pleg.stop();
    await runtimeState.stop();
    runtimeCallsTimer.stop();
    abortRuntimeCalls();
    await mirrorPods?.stop();
    await statusManager.stop({ drain, deadlineMs });
    await informer?.stop();
    await nodeReporter?.stop({ reportNotReady: terminatePods });
    await this.#starting;
    await this.#stopEvents(drain ? deadlineMs : eventsMs);
    connection?.abort();
    await connection?.close();
    this.#state = 'stopped';
    this.#unregisterGauges?.();
    logger.info({ node: nodeName }, 'Node agent has stopped');
  }

  async #stopEvents(deadlineMs: number): Promise<void> {
    const { ownEventRecorder, connection, clock } = this.#parts;
    if (ownEventRecorder === undefined) return;
    const stopping = ownEventRecorder.stop();
    await withDeadline(clock, deadlineMs, new AbortController().signal, ({ signal }) =>
      undefinedIfAborted(stopping, signal),
    );
    connection?.abort();
    await stopping;
  }
}

function requireNumber(path: string, value: unknown): void {
  if (value !== undefined && !(typeof value === 'number' && value >= 0)) refuseOption(path, 'a number ≥ 0');
}
