import { logMissingAccess } from '../../kube/access/log-missing-access.ts';
import { accessParts } from '../../kube/access/permissions.ts';
import { isMirrorPod, isStaticPod } from '../../kube/pods/static-pods.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { reasonOf } from '../../shared/logger.ts';
import { apiSourceName, type PodConfigUpdate, type PodSink, type PodSource } from '../../node/index.ts';
import { boundedCall, withDeadline } from '../../shared/deadline.ts';
import type { NodeAgentParts } from './node-agent-parts.ts';

/** How long API server pods wait for static pods, the first Node status for the runtime, and stop() for a source. */
const waitMs = 10_000;

/**
 * Starts the pod sources and the Node. Static pods are delivered immediately; the pods of the API server when the Node is
 * registered and the static pods are known, and only after the statuses of an earlier run were adopted.
 */
export class StartUp {
  /** Resolves when every source has delivered its pods; rejects when the agent is stopped first. */
  readonly ready: Promise<void>;
  /** Resolves when every source of static pods has delivered its pods. */
  readonly #staticSourcesSeen: Promise<void>;
  readonly #parts: NodeAgentParts;
  readonly #startedSources: PodSource[] = [];
  readonly #stopSignal = new AbortController();
  #starting: Promise<unknown> = Promise.resolve();
  #settleReady: (error?: StatusManagerError) => void = () => {};
  #settleStaticSourcesSeen: () => void = () => {};

  constructor(parts: NodeAgentParts) {
    this.#parts = parts;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // stop() rejects the promise; without a handler that would be an unhandled rejection.
    this.ready.catch(() => {});
    this.#staticSourcesSeen = new Promise((resolve) => (this.#settleStaticSourcesSeen = resolve));
    this.#settleStaticSources(parts.inputs.sourcesReady.waitingFor());
  }

  start(): void {
    const { podSources, podConfig } = this.#parts.inputs;
    // All sources are registered before the first one delivers pods, so that nothing is cleaned up too early.
    const sinks = podSources.map((source) => [source, podConfig.channel(source.name)] as const);
    for (const [source, sink] of sinks) if (source.name !== apiSourceName) this.#startSource(source, sink);
    const [apiSource, apiSink] = sinks.find(([{ name }]) => name === apiSourceName) ?? [];
    this.#starting = Promise.all([
      this.#logMissingAccess(),
      this.#startNodeReporter(),
      apiSource && apiSink && this.#startAPISource(apiSource, apiSink),
    ]);
  }

  /** Call it before the first pods of a source are handled. */
  firstUpdate({ source, pods }: PodConfigUpdate): void {
    const waiting = this.#parts.inputs.sourcesReady.waitingFor().filter((name) => name !== source);
    if (source === apiSourceName) this.#resume(pods, waiting.length === 0);
    this.#settleStaticSources(waiting);
    if (waiting.length === 0) this.#settleReady();
  }

  /** Resolves when the sources have stopped delivering pods. */
  async stop(): Promise<void> {
    this.#stopSignal.abort();
    this.#settleReady(new StatusManagerError('INVALID_STATE', 'The agent has been stopped'));
    await Promise.all(this.#startedSources.map((source) => this.#stopSource(source)));
  }

  /** Resolves when the start has ended. Call it after everything was stopped. */
  async whenEnded(): Promise<void> {
    await this.#starting;
  }

  #settleStaticSources(waiting: readonly string[]): void {
    if (waiting.every((name) => name === apiSourceName)) this.#settleStaticSourcesSeen();
  }

  /** Logs missing permissions at start instead of one failed request after another. */
  async #logMissingAccess(): Promise<void> {
    const { context, connection, node } = this.#parts;
    const { api, ownEventRecorder } = connection;
    if (api === undefined) return;
    const unused = new Set([node.nodeReporter === undefined && 'node', ownEventRecorder === undefined && 'events']);
    const parts = accessParts.filter((part) => !unused.has(part));
    if (node.endpoints.kubeletPort !== undefined) parts.push('kubelet-api');
    const { nodeName, logger } = context;
    await logMissingAccess(api.requests, { nodeName, parts, logger, signal: this.#stopSignal.signal });
  }

  async #startNodeReporter(): Promise<void> {
    const { inputs, node } = this.#parts;
    if (node.nodeReporter === undefined) return;
    // Otherwise, the first status of the Node would say that the runtime is not healthy. Source: kubelet `Run`.
    await this.#waitFor(Promise.all([inputs.pleg.relist(), inputs.runtimeState.whenUpdated()]));
    if (!this.#stopSignal.signal.aborted) node.nodeReporter.start();
  }

  async #startAPISource(source: PodSource, sink: PodSink): Promise<void> {
    const { connection, node } = this.#parts;
    try {
      await node.nodeReporter?.whenRegistered();
      this.#registerStaticPods();
      connection.informer!.start();
      await connection.informer!.whenSynced();
    } catch {
      // stop() came first.
      return;
    }
    await this.#waitFor(this.#staticSourcesSeen);
    if (!this.#stopSignal.signal.aborted) this.#startSource(source, sink);
  }

  #waitFor(promise: Promise<unknown>): Promise<unknown> {
    return withDeadline(this.#parts.context.clock, waitMs, this.#stopSignal.signal, ({ signal }) =>
      undefinedIfAborted(promise, signal),
    );
  }

  /** Source: kubelet `fastStaticPodsRegistration`. */
  #registerStaticPods(): void {
    const { connection, workers } = this.#parts;
    for (const pod of workers.podManager.getPods().filter(isStaticPod))
      connection.mirrorPods?.reconcile(pod, workers.podManager.getMirrorPodByPod(pod));
  }

  #startSource(source: PodSource, sink: PodSink): void {
    const { context, inputs } = this.#parts;
    try {
      source.start(sink, inputs.podSourceContext);
      this.#startedSources.push(source);
    } catch (thrown) {
      context.logger.error({ source: source.name, reason: reasonOf(thrown) }, 'Failed to start a pod source');
    }
  }

  async #stopSource(source: PodSource): Promise<void> {
    const { clock, logger } = this.#parts.context;
    try {
      const bounds = { clock, timeoutMs: waitMs, signals: [] };
      await boundedCall(`stop of the source ${source.name}`, bounds, () => source.stop());
    } catch (thrown) {
      logger.error({ source: source.name, reason: reasonOf(thrown) }, 'Failed to stop a pod source');
    }
  }

  /**
   * Adopts the statuses of an earlier run before the first pod of the API server has a worker. Static pods
   * that are not known yet keep their statuses from the journal.
   */
  #resume(pods: readonly Pod[], areAllSourcesSeen: boolean): void {
    const { statusManager, podManager } = this.#parts.workers;
    try {
      // Mirror pods tell which API objects the statuses of static pods belong to.
      for (const pod of pods) podManager.addPod(pod);
      const kept = areAllSourcesSeen ? [] : statusManager.recovered.map(({ podUID }) => podUID);
      const known = podManager.getPods().map(({ metadata }) => metadata.uid);
      statusManager.resume({
        pods: pods.filter((pod) => !isMirrorPod(pod)),
        otherPodUIDs: [...known, ...kept],
      });
    } catch (thrown) {
      const { logger } = this.#parts.context;
      logger.error({ reason: reasonOf(thrown) }, 'Failed to adopt the statuses of an earlier run');
      statusManager.start();
    }
  }
}
