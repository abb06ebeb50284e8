import { type Clock, sleep } from '../../shared/clock.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { checkOptions } from '../../shared/option-checks.ts';
import { systemEntropy } from '../../shared/entropy.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { boundedCall } from '../../shared/deadline.ts';
import { ExponentialBackOff } from '../../shared/exponential-back-off.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { jitterUntil } from './jitter-until.ts';
import { isResponse, NodeClient } from './node-client.ts';
import { declaredFeatures, defaultNodeStatus } from './node-defaults.ts';
import { NodeEvents } from './node-events.ts';
import { NodeLease } from './node-lease.ts';
import { type NodeReporterInspection, type NodeReporterOptions, nodeReporterChecks } from './node-reporter-options.ts';
import type { NodeWatch } from './node-watch.ts';
import { nodeStatusHasChanged, nodeStatusPatch, updatedNodeStatus } from './node-status.ts';
import type { Node, NodeStatus } from './node-types.ts';
import { readyErrorsOf } from './node-conditions.ts';
import { missingLabels, registerNode } from './register-node.ts';

const updateFrequencyMs = 10_000;
const reportFrequencyMs = 300_000;
const updateRetries = 5;
const registeredRecentlyMs = 1000;
const registrationBackOff = { firstMs: 100, maxMs: 7000 };

/**
 * Registers the Node and reports that it is alive. The Lease is renewed every 10 seconds. The status is checked every 10
 * seconds, written when it has changed, and at least every 5 minutes. After a change, the next unchanged report follows
 * after a random time between 2.5 and 7.5 minutes, because the statuses of many nodes tend to change together. Failures are
 * retried and logged with `failingSince`.
 *
 * Divergence: the kubelet reads its Node from an informer. Without a `NodeWatch`, this class sends a GET every 10 seconds,
 * which the API server serves from its watch cache. Source: kubelet `syncNodeStatus`, `nodelease`.
 *
 * `createNodeAgent` and `createVirtualNodes` contain one; use it with your own `StatusManager`.
 *
 * @example
 * ```ts
 * import { NodeReporter } from 'kubelet-status-manager/agent';
 *
 * const capacity = { cpu: '100', memory: '400Gi', pods: '500' };
 * const reporter = new NodeReporter({ nodeName, transport: client.transport, nodeStatus: () => ({ capacity }) });
 * reporter.start();
 * await reporter.whenRegistered();
 * await reporter.stop({ reportNotReady: true });
 * ```
 */
export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #client: NodeClient;
  readonly #watch: NodeWatch | undefined;
  readonly #lease: NodeLease;
  readonly #events: NodeEvents;
  readonly #registrationFailures: FailureLog;
  readonly #failures: FailureLog;
  readonly #hookFailures: FailureLog;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;
  #node: Node | undefined;
  /** Read once, as the kubelet reads its machine. */
  readonly #defaults = defaultNodeStatus();
  #observed: NodeStatus = {};
  #registeredMs = -Infinity;
  #lastReportMs: number | undefined;
  #lastReportTime: string | undefined;
  #delayAfterChangeMs = 0;
  readonly #registered: Promise<void>;
  #settleRegistered: (error?: StatusManagerError) => void = () => {};
  readonly #inUse: Promise<StatusManagerError>;
  #settleInUse: (error: StatusManagerError) => void = () => {};

  /**
   * @param identity of this reporter in the Lease; unique. Default: random
   * @param watch shows the Node in place of a GET every 10 s
   * @throws StatusManagerError INVALID_OPTION
   */
  constructor(options: NodeReporterOptions, identity: string = systemEntropy.uuid(), watch?: NodeWatch) {
    checkOptions(options, nodeReporterChecks);
    const { nodeName, transport } = options;
    const logger = resolveLogger(options.logger);
    const clock = resolveClock(options.clock);
    const { leaseDurationSeconds = 40 } = options;
    this.#options = options;
    this.#watch = watch;
    this.#registered = new Promise((resolve, reject) => {
      this.#settleRegistered = (error) => (error === undefined ? resolve() : reject(error));
    });
    // stop() rejects the promise; without a handler that would be an unhandled rejection.
    this.#registered.catch(() => {});
    this.#logger = logger;
    this.#clock = clock;
    this.#random = resolveRandom(options.random, logger);
    const { signal } = this.#stop;
    this.#client = new NodeClient(transport, nodeName, clock, signal);
    this.#inUse = new Promise((resolve) => (this.#settleInUse = resolve));
    const onOlderAgent = (): void => this.#settleInUse(nodeInUse(nodeName));
    this.#lease = new NodeLease({
      ...{ client: this.#client, nodeName, identity, leaseDurationSeconds, clock, logger, signal, onOlderAgent },
    });
    this.#events = new NodeEvents(nodeName, options.recorder);
    const log = { logger, clock, fields: { node: nodeName } };
    this.#registrationFailures = new FailureLog({ ...log, what: 'Registering the Node' });
    this.#failures = new FailureLog({ ...log, what: 'Reporting the Node status' });
    this.#hookFailures = new FailureLog({ ...log, what: 'Hook nodeStatus' });
  }

  /** Registers the Node unless it is already registered. Makes one attempt, and rejects if it fails. */
  async register(): Promise<void> {
    if (this.#node !== undefined) return;
    await this.#register();
    this.#settleRegistered();
  }

  /** The Node as last seen; undefined until it is registered. */
  get node(): Node | undefined {
    if (this.#node !== undefined) this.#node = this.#knownNode() ?? this.#node;
    return this.#node;
  }

  /** Reads the Node from the API server. Does nothing until it is registered; rejects when the API server does not respond. */
  async refresh(): Promise<void> {
    if (this.#node !== undefined) this.#see(await this.#client.getNode());
  }

  /** Resolves when the Node is registered. Rejects with StatusManagerError INVALID_STATE when stop() comes first. */
  whenRegistered(): Promise<void> {
    return this.#registered;
  }

  /**
   * Resolves with a StatusManagerError NODE_IN_USE when an older process has renewed the Lease of the same node three times
   * in a row, which takes 30 s; never otherwise. Stop this process then.
   */
  whenInUse(): Promise<StatusManagerError> {
    return this.#inUse;
  }

  /** Registers the Node, retrying until it succeeds, and then starts the heartbeats. */
  start(): void {
    if (this.#running !== undefined) return;
    this.#events.starting();
    // Before the registration, which the watch may show before the response does.
    this.#watch?.follow(this.#options.nodeName);
    this.#running = this.#run();
  }

  /**
   * Stops the heartbeats. With `reportNotReady`, one attempt is then made to report the Node as not
   * ready. Never rejects. The Lease is not deleted; it expires.
   */
  async stop({ reportNotReady = false }: { readonly reportNotReady?: boolean } = {}): Promise<void> {
    this.#stop.abort();
    this.#settleRegistered(new StatusManagerError('INVALID_STATE', 'The node reporter has been stopped'));
    await this.#running;
    this.#watch?.unfollow(this.#options.nodeName);
    if (!reportNotReady || this.#node === undefined) return;
    const { transport, nodeName } = this.#options;
    const client = new NodeClient(transport, nodeName, this.#clock, new AbortController().signal);
    try {
      await this.#tryUpdate(client, false, ['node is shutting down']);
      this.#failures.succeeded();
    } catch (error) {
      this.#failures.failed(error);
    }
  }

  /** A snapshot; makes no request. */
  inspect(): NodeReporterInspection {
    const statusFailure = this.#registrationFailures.failure ?? this.#failures.failure;
    const { failure: leaseFailure } = this.#lease;
    return {
      registered: this.#node !== undefined,
      nodeUID: this.#node?.metadata.uid,
      statusReportedAt: this.#lastReportTime,
      statusFailingSince: statusFailure?.failingSince,
      statusFailureReason: statusFailure?.reason,
      leaseRenewedAt: this.#lease.renewedAt,
      leaseDurationSeconds: this.#options.leaseDurationSeconds ?? 40,
      leaseFailingSince: leaseFailure?.failingSince,
      leaseFailureReason: leaseFailure?.reason,
    };
  }

  async #register(): Promise<Node> {
    const status = await this.#nextStatus({}, []);
    const node = await registerNode(this.#client, this.#options, status, this.#watch?.labels);
    this.#node = node;
    this.#registeredMs = this.#clock.monotonicMs();
    // Like the kubelet, which derives the first status from an empty Node, whether or not one exists.
    this.#events.statusWritten(node.metadata.uid, {}, status);
    return node;
  }

  async #run(): Promise<void> {
    await this.#registerUntilDone();
    if (this.#stop.signal.aborted) return;
    const { leaseDurationSeconds = 40, spreadHeartbeats: spread } = this.#options;
    const loop = { clock: this.#clock, random: this.#random, signal: this.#stop.signal, spread };
    await Promise.all([
      jitterUntil(() => this.#lease.renew(), { ...loop, periodMs: leaseDurationSeconds * 250 }),
      jitterUntil(() => this.#update(), { ...loop, periodMs: updateFrequencyMs }),
    ]);
  }

  /** Source: kubelet `registerWithAPIServer`. */
  async #registerUntilDone(): Promise<void> {
    const { signal } = this.#stop;
    const backOff = new ExponentialBackOff(registrationBackOff);
    while (!signal.aborted) {
      try {
        await this.register();
        return this.#registrationFailures.succeeded();
      } catch (error) {
        this.#failed(error, this.#registrationFailures);
      }
      await sleep(this.#clock, backOff.next(), signal);
    }
  }

  /** Source: kubelet `updateNodeStatus`. */
  async #update(): Promise<void> {
    for (let tries = 0; tries < updateRetries && !this.#stop.signal.aborted; tries++) {
      try {
        await this.#tryUpdate(this.#client, tries === 0, readyErrorsOf(this.#options.readyErrors));
        return this.#failures.succeeded();
      } catch (error) {
        this.#failed(error);
        if (tries > 0) await this.#client.closeIdle();
      }
    }
  }

  /** Source: kubelet `tryUpdateNodeStatus`. */
  async #tryUpdate(client: NodeClient, fromCache: boolean, readyErrors: readonly string[]): Promise<void> {
    const node = (fromCache && this.#knownNode()) || (await this.#getNode(client, fromCache));
    this.#see(node);
    const before = node.status ?? {};
    const next = await this.#nextStatus(before, readyErrors);
    this.#events.schedulable(node);
    const labels = missingLabels(this.#options, node, this.#watch?.labels);
    const hasChanged = nodeStatusHasChanged(before, next) || labels !== undefined;
    if (!hasChanged && !this.#isReportDue()) return;
    const isFirstOrChanged = hasChanged || this.#lastReportMs === undefined;
    this.#delayAfterChangeMs = isFirstOrChanged ? reportFrequencyMs * (this.#random() - 0.5) : 0;
    this.#node = await client.patchNodeStatus({
      ...(labels !== undefined && { metadata: { labels } }),
      status: nodeStatusPatch(before, next),
    });
    this.#lastReportMs = this.#clock.monotonicMs();
    this.#lastReportTime = timeFromEpochMs(this.#clock.now());
    this.#events.statusWritten(this.#node.metadata.uid, before, next);
  }

  /**
   * The Node, which is registered again if somebody has deleted it. The cache of the API server may not have a new Node
   * yet; registration then adopts the existing one.
   *
   * Divergence: the kubelet registers its Node only when it starts, and fails to report the status of a deleted one.
   */
  async #getNode(client: NodeClient, fromCache: boolean): Promise<Node> {
    try {
      return await client.getNode({ fromCache });
    } catch (error) {
      if (!isResponse(error, 404) || this.#stop.signal.aborted) throw error;
      const { nodeName } = this.#options;
      this.#logger.warn({ node: nodeName }, 'The Node no longer exists; registering it again');
      return this.#register();
    }
  }

  /** The Node that was registered a moment ago, or that the watch shows, unless it is older than what was seen or written. */
  #knownNode(): Node | undefined {
    if (this.#clock.monotonicMs() - this.#registeredMs < registeredRecentlyMs) return this.#node;
    const node = this.#watch?.get(this.#options.nodeName);
    return node !== undefined && this.#isNewest(node) ? node : undefined;
  }

  /** A response from the API server's cache may be older than what was seen before. Source: kubelet `isNewer`. */
  #see(node: Node): void {
    if (this.#isNewest(node)) this.#node = node;
  }

  #isNewest(node: Node): boolean {
    const versionOf = ({ metadata }: Node): number => Number(metadata.resourceVersion ?? 0);
    return this.#node === undefined || versionOf(node) >= versionOf(this.#node);
  }

  /** Source: kubelet `isUpdateStatusPeriodExpired`. */
  #isReportDue(): boolean {
    if (this.#lastReportMs === undefined) return true;
    return this.#clock.monotonicMs() - this.#lastReportMs >= reportFrequencyMs + this.#delayAfterChangeMs;
  }

  async #nextStatus(before: NodeStatus, readyErrors: readonly string[]): Promise<NodeStatus> {
    const defaults = this.#defaults;
    try {
      const bounds = { clock: this.#clock, timeoutMs: updateFrequencyMs, signals: [this.#stop.signal] };
      this.#observed = (await boundedCall('nodeStatus', bounds, () => this.#options.nodeStatus?.())) ?? {};
      this.#hookFailures.succeeded();
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#hookFailures.failed(error);
    }
    const nodeInfo = { ...defaults.nodeInfo, ...this.#observed.nodeInfo };
    const features = declaredFeatures(this.#options.declaredFeatures, this.#observed.declaredFeatures);
    const status = { ...defaults, ...this.#observed, nodeInfo, declaredFeatures: features };
    return updatedNodeStatus(before, { status, readyErrors }, timeFromEpochMs(this.#clock.now()));
  }

  #failed(error: unknown, failures = this.#failures): void {
    if (!this.#stop.signal.aborted) failures.failed(error);
  }
}

function nodeInUse(nodeName: string): StatusManagerError {
  return new StatusManagerError('NODE_IN_USE', `An older process runs the node ${nodeName} and renews its Lease`);
}
