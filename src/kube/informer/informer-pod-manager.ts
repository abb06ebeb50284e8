import { type APIClientSource, resolveTransport } from '../http/resolve-transport.ts';
import { type AbortSignalLike, untilAborted } from '../../shared/abort.ts';
import type { Clock, ClockLike } from '../../shared/clock.ts';
import { deepFreeze } from '../../shared/freeze.ts';
import { refuseOption, requireObject, StatusManagerError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { MonotonicTimes } from '../../shared/time.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../../shared/ports.ts';
import type { Pod, ValidPod } from '../objects/types.ts';
import { positiveInteger } from '../../shared/option-checks.ts';
import { requireBoolean, requireIterable, requireSignal } from '../../shared/validate.ts';
import { type InformerLike, type InformerPodSource, InformerSource } from './informer-source.ts';
import { type PodListener, type PodSubscribeOptions, KnownPods } from './known-pods.ts';
import { defaultTimeouts, Reflector } from './reflector.ts';
import type { InformerState, PodManager, UIDTranslations } from '../pod-manager/pod-manager.ts';

/** Options of `createInformerPodManager`. */
export interface InformerPodManagerOptions {
  /**
   * A `KubeConfig` of client-node, a kubeconfig object, or a client of `createPodClient`, whose connections are shared
   * and which `stop()` does not close.
   */
  readonly client: APIClientSource;
  /** The node whose pods these are. */
  readonly nodeName: string;
  /** Maximum wait for a list. Default 60,000. */
  readonly listTimeoutMs?: number | undefined;
  /**
   * A watch without an event or bookmark for this long is closed and resumed. API servers send a
   * bookmark about each minute. Default 150,000.
   */
  readonly inactivityTimeoutMs?: number | undefined;
  readonly clock?: ClockLike | undefined;
  /** Jitter of back-off and watch timeouts: returns a number ≥ 0 and < 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  readonly logger?: Partial<Logger> | undefined;
}

type State = 'created' | 'running' | 'stopped';

/**
 * The pods of one node: those that the API server has, mirror pods included, and static pods. Use it
 * as the manager's `podManager`, and to know which pods to run. Pods that it has received itself are
 * frozen; those of `informerPodManagerFrom` and `setStaticPods` are the objects that were passed in.
 * Source: kubelet `config.NewSourceApiserver` and `pod.basicManager`.
 */
export class InformerPodManager implements PodManager, AsyncDisposable {
  readonly #source: InformerPodSource;
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly #pods: KnownPods;
  readonly #close: () => Promise<void>;
  readonly #synced: Promise<void>;
  #settleSynced: (error?: StatusManagerError) => void = () => {};
  #state: State = 'created';
  #isSynced = false;
  #lastEventMs: number | undefined;

  /**
   * Created by `createInformerPodManager` and `informerPodManagerFrom`.
   * @param createSource its argument returns a pod with the spec that is known already, if that is the same
   */
  constructor(
    createSource: (withKnownSpec: (pod: Pod) => Pod) => InformerPodSource,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
    close = async (): Promise<void> => {},
  ) {
    this.#pods = new KnownPods(logger);
    this.#source = createSource((pod) => this.#pods.withKnownSpec(pod));
    this.#close = close;
    this.#clock = clock;
    this.#synced = new Promise((resolve, reject) => {
      this.#settleSynced = (error) => (error === undefined ? resolve() : reject(error));
    });
    // stop() rejects it, even if no caller awaits it.
    this.#synced.catch(() => {});
  }

  /** Begins to list and watch. Calling it again does nothing. @throws StatusManagerError INVALID_STATE after stop() */
  start(): void {
    if (this.#state === 'stopped') throw stoppedError();
    if (this.#state === 'running') return;
    this.#state = 'running';
    this.#source.start({
      replace: (pods) => this.#receive(() => this.#pods.replaceAPIPods(pods)),
      upsert: (pod) => this.#receive(() => this.#pods.upsertAPIPod(pod)),
      remove: (pod) => this.#receive(() => this.#pods.removeAPIPod(pod)),
      bookmark: () => this.#receive(),
      synced: () => {
        if (this.#state === 'stopped') return;
        this.#isSynced = true;
        this.#settleSynced();
      },
    });
  }

  /** An informer of the caller may have no way to remove a callback. */
  #receive(apply?: () => void): void {
    if (this.#state === 'stopped') return;
    this.#lastEventMs = this.#clock.monotonicMs();
    apply?.();
  }

  /**
   * Resolves when the first list has been received; with `informerPodManagerFrom`, at start(). Rejects with
   * StatusManagerError INVALID_STATE when stop() comes first, and with the signal's reason when it is aborted first.
   */
  async whenSynced(options: { readonly signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    return untilAborted(this.#synced, requireSignal(options));
  }

  /** Ends list and watch; resolves when no request and no timer is left. The pods stay readable. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#settleSynced(stoppedError());
    await this.#source.stop();
    await this.#close();
  }

  /** `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  isGone(uid: string): boolean | undefined {
    return this.#source.listsNewest && this.#isSynced && !this.#pods.hasAPIPod(uid);
  }

  requestSucceeded(): void {
    this.#source.requestSucceeded?.();
  }

  informerState(): InformerState {
    const lastEventAt =
      this.#lastEventMs === undefined ? undefined : new MonotonicTimes(this.#clock).format(this.#lastEventMs);
    const { restarts, failure } = this.#source;
    return { isSynced: this.#isSynced, lastEventAt, restarts, failure };
  }

  /**
   * Calls `listener` for every pod that is known now, as added, and for every later change. These are
   * the API server's pods and static pods, without mirror pods unless `includeMirrorPods` is set. It is
   * called for the known pods before this method returns or, when a listener subscribes another, before
   * the next change. Errors that a listener throws are logged.
   * @returns unsubscribes
   */
  subscribe(listener: PodListener, options: PodSubscribeOptions = {}): () => void {
    requireObject('listener', listener);
    requireObject('options', options);
    const { includeMirrorPods } = options;
    if (includeMirrorPods !== undefined) requireBoolean('includeMirrorPods', includeMirrorPods);
    return this.#pods.subscribe(listener, options);
  }

  /**
   * Replaces the static pods. They come from files or another local source; the API server only has
   * their mirror pods. Passing the same object again counts as unchanged.
   * @throws StatusManagerError INVALID_ARGUMENT for a pod that is not static, and changes nothing
   */
  setStaticPods(pods: Iterable<Pod>): void {
    requireIterable('pods', pods);
    this.#pods.setStaticPods(pods);
  }

  /** The API server's pods, including mirror pods, without static pods. */
  getAPIPods(): ValidPod[] {
    return this.#pods.apiPods();
  }

  /** The pods to run: those of the API server and static pods, without mirror pods. */
  getPods(): Pod[] {
    return this.#pods.manager.getPods();
  }

  /** Never a mirror pod. */
  getPodByUID(uid: string): Pod | undefined {
    return this.#pods.manager.getPodByUID(uid);
  }

  getMirrorPodByPod(pod: Pod): Pod | undefined {
    return this.#pods.manager.getMirrorPodByPod(pod);
  }

  translatePodUID(uid: string): string {
    return this.#pods.manager.translatePodUID(uid);
  }

  getUIDTranslations(): UIDTranslations {
    return this.#pods.manager.getUIDTranslations();
  }

  onMirrorPodAdded(listener: (podUID: string) => void): () => void {
    return this.#pods.manager.onMirrorPodAdded(listener);
  }
}

/**
 * A pod manager with its own list and watch of the node's pods.
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createInformerPodManager } from 'kubelet-status-manager/informer';
 *
 * const podManager = createInformerPodManager({ client: kubeConfig, nodeName });
 * podManager.subscribe({ onPodAdded: (pod) => running.add(pod.metadata?.uid) });
 * podManager.start();
 * await podManager.whenSynced();
 * await podManager.stop();
 * ```
 */
export function createInformerPodManager(options: InformerPodManagerOptions): InformerPodManager {
  requireObject('options', options);
  const { client, nodeName } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  requireNodeName(nodeName);
  const { transport, close } = resolveTransport(client, { clock, logger });
  const { listTimeoutMs = defaultTimeouts.listTimeoutMs } = options;
  const { inactivityTimeoutMs = defaultTimeouts.inactivityTimeoutMs } = options;
  positiveInteger('listTimeoutMs', listTimeoutMs);
  positiveInteger('inactivityTimeoutMs', inactivityTimeoutMs);
  const createReflector = (withKnownSpec: (pod: Pod) => Pod): InformerPodSource =>
    new Reflector({
      transport,
      resource: 'pods',
      fieldSelector: `spec.nodeName=${nodeName}`,
      messages: {
        failed: 'Failed to list and watch the pods of the node',
        recovered: 'Watching the pods of the node again',
      },
      logFields: { nodeName },
      transform: (object) => deepFreeze(withKnownSpec(object as Pod)),
      clock,
      random,
      logger,
      listTimeoutMs,
      inactivityTimeoutMs,
    });
  return new InformerPodManager(createReflector, { clock, logger }, close);
}

/**
 * A pod manager that listens to an informer of pods, for example client-node's `ListWatch`. Its owner starts, restarts and stops it: start the pod manager first, then
 * `await informer.start()`. An informer of client-node ends at its first error, for example a 403, and
 * sends nothing until it is started again; the error is logged, and `informerState()` and the manager's
 * `inspect()` show it.
 *
 * With `nodeName`, pods of other nodes are ignored. An informer of client-node's `makeInformer` needs it: its watch has no
 * field selector and receives the pods of all nodes.
 *
 * @example
 * ```ts
 * import { CoreV1Api, KubeConfig, ListWatch, Watch } from '@kubernetes/client-node';
 * import { informerPodManagerFrom } from 'kubelet-status-manager/informer';
 *
 * const kubeConfig = new KubeConfig();
 * kubeConfig.loadFromDefault();
 * const api = kubeConfig.makeApiClient(CoreV1Api);
 * const ofNode = `spec.nodeName=${nodeName}`;
 * const list = () => api.listPodForAllNamespaces({ fieldSelector: ofNode });
 * const informer = new ListWatch('/api/v1/pods', new Watch(kubeConfig), list, false, undefined, ofNode);
 * informer.on('error', () => setTimeout(() => informer.start(), 5_000));
 * const podManager = informerPodManagerFrom(informer, { nodeName });
 * podManager.start();
 * await informer.start();
 * ```
 */
export function informerPodManagerFrom(
  informer: InformerLike,
  options: Pick<InformerPodManagerOptions, 'clock' | 'logger'> & { readonly nodeName?: string | undefined } = {},
): InformerPodManager {
  requireObject('informer', informer);
  requireObject('options', options);
  const { nodeName } = options;
  if (nodeName !== undefined) requireNodeName(nodeName);
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  return new InformerPodManager(() => new InformerSource(informer, { nodeName, clock, logger }), { clock, logger });
}

function stoppedError(): StatusManagerError {
  return new StatusManagerError('INVALID_STATE', 'The pod manager has been stopped');
}

function requireNodeName(nodeName: unknown): void {
  if (typeof nodeName !== 'string' || !/^[A-Za-z0-9._-]+$/.test(nodeName))
    refuseOption('nodeName', "a node's name", nodeName);
}
