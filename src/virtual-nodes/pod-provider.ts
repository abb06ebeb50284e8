import type { Duplex } from 'node:stream';
import type { ValidPod } from '../kube/objects/types.ts';
import type { ContainerIO, ContainerLogOptions, PodStats } from '../node/index.ts';
import { maxDurationMs } from '../shared/validate.ts';
import type { ProviderCapabilities } from './capabilities/provider-capabilities.ts';
import type { PodMaterials } from './materials/pod-materials.ts';

/** What identifies a pod of a virtual node. */
export interface ProviderPodReference {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** The node that the pod is bound to. */
  readonly nodeName: string;
}

/** Given to each call of a provider. */
export interface ProviderCallOptions {
  /** Aborted when nobody waits for the result: after the time-out, a newer request for the pod, or the end of the process. */
  readonly signal: AbortSignal;
  /**
   * A fencing token: a safe integer that increases each time a process takes over the node; only its order is meaningful. A
   * cloud may refuse a call whose epoch is lower than one that it has seen for the same node. 0 without `replicas`.
   */
  readonly epoch: number;
}

/** Given to each call of a provider for a pod that has an object on the API server. */
export interface ProviderPodOptions extends ProviderCallOptions {
  /**
   * Resolves with the environment, the contents of the files of volumes, and the pull secrets of the pod. Each call reads
   * them again: objects are at most a second old, and tokens have used at most 80 % of their lifetime. Rejects with a
   * ProviderError with the kubelet's reason and message while something that the pod requires does not exist; let the call
   * of the provider reject with it. It may also be called later, for example every minute, to pass new tokens and changed
   * objects to a running pod.
   */
  readonly materials: () => Promise<PodMaterials>;
  /**
   * 32 hexadecimal digits that change when `updatePod` must be called. If a cloud stores them with the pod and reports them in
   * `ProviderPod`, `updatePod` is not called after a restart for pods that have not changed.
   */
  readonly podHash: string;
  /** How often the virtual node has started the pod again: 0 unless the capability `restarts` is `node`. */
  readonly restartCount: number;
}

/**
 * The end of a container.
 */
export interface ProviderContainerExit {
  readonly exitCode: number;
  /** Default: `Completed` with exit code 0, otherwise `Error`. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** Default: when it was first seen ended. */
  readonly finishedAt?: Date | undefined;
}

/** What the cloud knows of a container of a pod. */
export interface ProviderContainer {
  /** The name in the pod's spec. */
  readonly name: string;
  /** Default: true if the container runs. */
  readonly ready?: boolean | undefined;
  /** Whether it has started; a start-up probe of the cloud may be pending. Default: true if the container runs. */
  readonly started?: boolean | undefined;
  /** Default: that of the pod. Ignored with `restarts: 'node'`. */
  readonly restartCount?: number | undefined;
  /** Default: the start of the pod. */
  readonly startedAt?: Date | undefined;
  /**
   * How the container has ended. Together with `waiting`: how its last run has ended; the container waits for the next one
   * if its restart policy starts it again. Without `waiting`, it will not be restarted by the cloud.
   */
  readonly exit?: ProviderContainerExit | undefined;
  /**
   * Why the container waits, for example `ImagePullBackOff`; absent if it runs or has ended for good. With `exit`, as in `{
   * restartCount: 1, waiting: { reason: 'CrashLoopBackOff' }, exit: { exitCode: 1 } }`, the status also shows how the last
   * run ended.
   */
  readonly waiting?: { readonly reason: string; readonly message?: string | undefined } | undefined;
  /** Default: empty. */
  readonly imageID?: string | undefined;
}

/** What the cloud knows of a pod. The phase, the conditions and the container statuses are derived from it. */
export interface ProviderPod extends ProviderPodReference {
  /** `stopped`: nothing of it runs, and the cloud will not start it again. */
  readonly state: 'creating' | 'running' | 'stopped';
  /** The primary address first. Default: those that were last reported. */
  readonly ips?: readonly string[] | undefined;
  /** Shown in the status of the pod, for example why it was stopped. Default: none. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /**
   * The `podHash` of the last `createPod` or `updatePod` that was carried out. Default: unknown, so `updatePod` is called
   * after a start.
   */
  readonly podHash?: string | undefined;
  /** With `restarts: 'node'`: the `restartCount` of the `createPod` that started the reported run. Default: 0. */
  readonly restartCount?: number | undefined;
  /** When the pod began to run. Default: when it was first seen running. */
  readonly startedAt?: Date | undefined;
  /**
   * Default: all containers have the `state` of the pod, except ephemeral containers and init containers that are not
   * sidecars. A container that is missing in this list waits with the reason `NotReportedByProvider`. A container of a
   * stopped pod without `exit` has the exit code 137, and the reason of the pod or `NotReportedByProvider`.
   */
  readonly containers?: readonly ProviderContainer[] | undefined;
}

/** Why a call of a provider has failed. Any other error counts as temporary. */
export interface ProviderErrorOptions extends ErrorOptions {
  /** True if trying again is useless: the pod then fails with `reason` and the message. Default: false. */
  readonly permanent?: boolean | undefined;
  /**
   * The minimum delay before the next try in milliseconds, at most 24 days. Default: 1,000, doubled after each failure, at
   * most 300,000 (60,000 for deletePod), plus up to half as much at random. 0, negative numbers and NaN, for example from an
   * invalid header, mean the default.
   */
  readonly retryAfterMs?: number | undefined;
  /** In CamelCase, for the status and the Events of the pod. Default: `ProviderFailed`. */
  readonly reason?: string | undefined;
}

/**
 * Thrown by a provider. The message is shown in the status of the pod, so it must not contain secrets.
 *
 * @example
 * ```ts
 * import { ProviderError } from 'kubelet-status-manager/virtual-nodes';
 *
 * async function createInCloud(response: Response): Promise<void> {
 *   if (response.status === 400) throw new ProviderError('The cloud has no such size', { permanent: true, reason: 'NoSuchSize' });
 *   if (response.status === 429) throw new ProviderError('The cloud has too many requests', { retryAfterMs: 30_000 });
 * }
 * ```
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly permanent: boolean;
  readonly retryAfterMs: number | undefined;
  readonly reason: string;

  constructor(message: string, { permanent = false, retryAfterMs, reason, ...options }: ProviderErrorOptions = {}) {
    super(message, options);
    this.permanent = permanent;
    this.retryAfterMs = retryAfterMs! > 0 ? Math.min(retryAfterMs!, maxDurationMs) : undefined;
    // JavaScript may pass the code of an HTTP response.
    this.reason = typeof reason === 'string' ? reason : 'ProviderFailed';
  }
}

/**
 * The port to the cloud, fleet or cluster that runs the pods of virtual nodes. `createPod`, `updatePod`, `deletePod` and
 * `getPod` of one pod (by UID) are called one after the other, with a time-out; the first three are repeated with back-off when
 * they reject. `createPod`, `deletePod` and `listPods` suffice. Source: virtual-kubelet `PodLifecycleHandler`, `PodNotifier`.
 */
export interface PodProvider {
  /** The parts of a pod's spec that it implements. Read once, by `createVirtualNodes`. Default: no optional part. */
  readonly capabilities?: ProviderCapabilities | undefined;
  /**
   * Asks for the pod. Must be idempotent by UID: it is called again after a failure, and if the pod is not listed, after a
   * restart or in as many lists as `lost.afterLists`. Resolves when the cloud has accepted it; whether the pod runs is read
   * from `listPods`. A cloud whose list lags behind must not decide by that list whether it has the pod.
   *
   * With the capability `restarts: 'node'`, it must be idempotent by UID and `restartCount`. If the cloud has the pod with a
   * lower count, that run has stopped, and the pod must be run again; with the same or a higher count, nothing must be done.
   */
  createPod(pod: ValidPod, options: ProviderPodOptions): Promise<void>;
  /**
   * Labels, annotations, images or resources have changed. Must be idempotent. `previous` is undefined if it is not known what
   * the cloud has: after a restart or a takeover of the node, or if the pod changed between two calls of `createPod` (the
   * first one may have had an effect, and the second one then did nothing). In this case, it is called once for each pod that is
   * reported without the right `podHash`. Default: changes are not passed on.
   */
  updatePod?(pod: ValidPod, previous: ValidPod | undefined, options: ProviderPodOptions): Promise<void>;
  /**
   * Asks that the pod be stopped within `gracePeriodSeconds` and removed. Must be idempotent; the cloud may not have the
   * pod, because it was deleted before it was created, or while no process ran. The pod has ended when it is reported
   * `stopped`, `getPod` does not find it, or as many lists as `lost.afterLists` lack it; until then, the provider lists its
   * pods once a second. Also called for pods of the node that the API server does not have, as a GET has just shown, and for
   * running pods that the node no longer admits after a start, for example because its capacity is smaller: they fail.
   */
  deletePod(
    pod: ProviderPodReference,
    options: ProviderCallOptions & { readonly gracePeriodSeconds: number },
  ): Promise<void>;
  /**
   * Asks that a container be stopped within `gracePeriodSeconds`, because a probe of the virtual node has failed. Then its
   * restart policy decides, as after any other end. Must be idempotent: `restartCount` is that of the run which is to end.
   * If this run has ended, or the cloud does not have the pod, nothing must be done.
   *
   * It may stop the whole pod, and must with the capability `restarts: 'node'` unless the other containers end with it: only
   * a pod that is reported `stopped`, without a `reason`, is run again. So the pod must stay listed, unlike after `deletePod`.
   *
   * Default: pods with liveness or start-up probes are refused; see `ProviderCapabilities.probes`.
   */
  killContainer?(
    pod: ProviderPodReference,
    containerName: string,
    options: ProviderCallOptions & { readonly restartCount: number; readonly gracePeriodSeconds: number },
  ): Promise<void>;
  /** One pod; undefined if the cloud does not have it. Default: everything is listed. */
  getPod?(pod: ProviderPodReference, options: ProviderCallOptions): Promise<ProviderPod | undefined>;
  /**
   * All pods of all nodes of the process, in one call. Pods of other nodes are ignored. Leave out what is not a pod: while
   * an entry has no `uid`, no pod counts as missing.
   */
  listPods(options: { readonly signal: AbortSignal }): Promise<readonly ProviderPod[]>;
  /**
   * Calls `listener` with each pod that has changed, and `onGap` when changes may have been missed: everything is then
   * listed. Returns a function that ends it. Default: changes are found by `listPods`.
   */
  notifyPods?(listener: (pod: ProviderPod) => void, onGap: () => void): () => void;
  /**
   * The log of a container, for `kubectl logs`; see `VirtualNodes.kubelet`. `previous`: of the run before the last restart.
   * Its chunks are written unchanged. The iteration ends when the client disconnects; a generator that waits for something
   * should also end when `options.signal` is aborted. Default: the client is told that there are no logs.
   */
  logs?(
    pod: ProviderPodReference,
    containerName: string,
    log: ContainerLogOptions & { readonly previous: boolean },
    options: ProviderCallOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Runs a command in a container, for `kubectl exec` and probes. Resolves with the exit code when all output is written. */
  exec?(
    pod: ProviderPodReference,
    containerName: string,
    command: readonly string[],
    io: ContainerIO,
    options: ProviderCallOptions,
  ): Promise<number>;
  /** Connects the client to the main process of a container, for `kubectl attach`. Resolves when the process has ended. */
  attach?(
    pod: ProviderPodReference,
    containerName: string,
    io: ContainerIO,
    options: ProviderCallOptions,
  ): Promise<void>;
  /**
   * Connects `stream` with a port of a pod, for `kubectl port-forward`. Called for each connection of the client. Resolves
   * when the connection has ended; if it rejects, the client shows why. `stream` is destroyed, and `options.signal` aborted,
   * when the client has closed it.
   */
  portForward?(pod: ProviderPodReference, port: number, stream: Duplex, options: ProviderCallOptions): Promise<void>;
  /**
   * The statistics of the running pods of all nodes, for `kubectl top pod`; see `VirtualNodes.kubeletOf`. Called when
   * somebody asks, at most once in 10 s. Pods of other nodes are ignored. Default: the client is told that there are no
   * statistics.
   */
  stats?(options: { readonly signal: AbortSignal }): Promise<readonly PodStats[]>;
}
