import { boundedCall } from '../deadline.ts';
import type { Clock } from '../../shared/clock.ts';
import type { ContainerRuntime } from './container-runtime.ts';
import {
  requireExecResult,
  requireID,
  requireImageRef,
  requireImages,
  requirePodOrNothing,
  requirePods,
  requirePodStats,
  requirePulledImage,
  requireResources,
  requireSandboxStatus,
  requireStatus,
} from './require-runtime-result.ts';

export interface BoundedRuntimeOptions {
  readonly clock: Pick<Clock, 'afterFunc'>;
  /**
   * Time-out of one call; `runPodSandbox` has twice as long, as in the kubelet. The grace period is added for stopping a
   * container, and a command's own time-out for `execSync`.
   */
  readonly requestTimeoutMs: number;
  /** Aborts all calls, including those without a signal of their own. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Marks a runtime that this function returned. */
const isBounded = Symbol('isBounded');

/**
 * The same runtime with a time-out for each call. A call rejects after the time-out and when its signal
 * is aborted, even if the runtime does not react to the signal. Image pulls have no time-out. A removal that is
 * requested while the same one is in progress waits for that one.
 * A call also rejects if the method throws synchronously or resolves with an invalid value. A runtime
 * that is already bounded is returned unchanged. Source: kubelet `--runtime-request-timeout`.
 */
export function boundedRuntime(
  runtime: ContainerRuntime,
  { clock, requestTimeoutMs, signal: stopSignal }: BoundedRuntimeOptions,
): ContainerRuntime {
  if (isBounded in runtime) return runtime;

  function bounded<T>(
    method: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    call: (options: { readonly signal: AbortSignal }) => Promise<T>,
    check: (value: T) => T = (value) => value,
  ): Promise<T> {
    return boundedCall(
      `${method} of the runtime`,
      { clock, timeoutMs, signals: [signal, stopSignal] },
      async (options) => check(await call(options)),
    );
  }

  /** Removals in progress, by ID; concurrent removals of one ID share a call. */
  const removals = new Map<string, Promise<void>>();
  function removeOnce(id: string, remove: () => Promise<void>): Promise<void> {
    const current = removals.get(id);
    if (current !== undefined) return current;
    const removal = remove().finally(() => removals.delete(id));
    removals.set(id, removal);
    return removal;
  }

  const ms = requestTimeoutMs;
  const boundedMethods: ContainerRuntime = {
    listPods: ({ signal } = {}) => bounded('listPods', ms, signal, (o) => runtime.listPods(o), requirePods),
    getPod: (uid, { signal } = {}) => bounded('getPod', ms, signal, (o) => runtime.getPod(uid, o), requirePodOrNothing),
    createContainer: (config, { signal } = {}) =>
      bounded('createContainer', ms, signal, (o) => runtime.createContainer(config, o), requireID('createContainer')),
    startContainer: (id, { signal } = {}) =>
      bounded('startContainer', ms, signal, (o) => runtime.startContainer(id, o)),
    stopContainer: (id, graceSeconds, { signal } = {}) =>
      bounded('stopContainer', ms + graceSeconds * 1000, signal, (o) => runtime.stopContainer(id, graceSeconds, o)),
    removeContainer: (id, { signal } = {}) =>
      removeOnce(id, () => bounded('removeContainer', ms, signal, (o) => runtime.removeContainer(id, o))),
    execSync: (id, command, timeoutMs, { signal } = {}) =>
      bounded(
        'execSync',
        ms + timeoutMs,
        signal,
        (o) => runtime.execSync(id, command, timeoutMs, o),
        requireExecResult,
      ),
    ...(runtime.updateContainerResources && {
      updateContainerResources: (id, resources, { signal, ...of } = {}) =>
        bounded('updateContainerResources', ms, signal, (o) =>
          runtime.updateContainerResources!(id, resources, { ...of, ...o }),
        ),
    }),
    ...(runtime.updateQOSCgroups && {
      updateQOSCgroups: (pods, { signal } = {}) =>
        bounded('updateQOSCgroups', ms, signal, (o) => runtime.updateQOSCgroups!(pods, o)),
    }),
    ...(runtime.preparePod && {
      preparePod: (pod, { signal } = {}) => bounded('preparePod', ms, signal, (o) => runtime.preparePod!(pod, o)),
    }),
    ...(runtime.releasePod && {
      releasePod: (pod, { signal } = {}) => bounded('releasePod', ms, signal, (o) => runtime.releasePod!(pod, o)),
    }),
    ...(runtime.updatePodResources && {
      updatePodResources: (pod, step, { signal, ...of } = {}) =>
        bounded('updatePodResources', ms, signal, (o) => runtime.updatePodResources!(pod, step, { ...of, ...o })),
    }),
    ...(runtime.podResources && {
      podResources: (pod, { signal } = {}) =>
        bounded('podResources', ms, signal, (o) => runtime.podResources!(pod, o), requireResources),
    }),
    ...(runtime.runPodSandbox && {
      runPodSandbox: (config, { signal } = {}) =>
        bounded('runPodSandbox', 2 * ms, signal, (o) => runtime.runPodSandbox!(config, o), requireID('runPodSandbox')),
    }),
    ...(runtime.podSandboxStatus && {
      podSandboxStatus: (id, { signal } = {}) =>
        bounded('podSandboxStatus', ms, signal, (o) => runtime.podSandboxStatus!(id, o), requireSandboxStatus),
    }),
    ...(runtime.stopPodSandbox && {
      stopPodSandbox: (id, { signal } = {}) =>
        bounded('stopPodSandbox', ms, signal, (o) => runtime.stopPodSandbox!(id, o)),
    }),
    ...(runtime.removePodSandbox && {
      removePodSandbox: (id, { signal } = {}) =>
        removeOnce(id, () => bounded('removePodSandbox', ms, signal, (o) => runtime.removePodSandbox!(id, o))),
    }),
    ...(runtime.pullImage && {
      pullImage: (image, pod, { signal } = {}) =>
        bounded(
          'pullImage',
          Number.POSITIVE_INFINITY,
          signal,
          (o) => runtime.pullImage!(image, pod, o),
          requirePulledImage,
        ),
    }),
    ...(runtime.imageRef && {
      imageRef: (image, { signal, ...of } = {}) =>
        bounded('imageRef', ms, signal, (o) => runtime.imageRef!(image, { ...of, ...o }), requireImageRef),
    }),
    ...(runtime.status && {
      status: ({ signal } = {}) => bounded('status', ms, signal, (o) => runtime.status!(o), requireStatus),
    }),
    ...(runtime.listImages && {
      listImages: ({ signal } = {}) => bounded('listImages', ms, signal, (o) => runtime.listImages!(o), requireImages),
    }),
    ...(runtime.removeImage && {
      removeImage: (id, { signal } = {}) => bounded('removeImage', ms, signal, (o) => runtime.removeImage!(id, o)),
    }),
    ...(runtime.imageFsStats && {
      imageFsStats: ({ signal } = {}) => bounded('imageFsStats', ms, signal, (o) => runtime.imageFsStats!(o)),
    }),
    ...(runtime.listPodStats && {
      listPodStats: ({ signal } = {}) =>
        bounded('listPodStats', ms, signal, (o) => runtime.listPodStats!(o), requirePodStats),
    }),
    ...(runtime.removePodContent && {
      removePodContent: (shouldPodContentBeRemoved, { signal } = {}) =>
        bounded('removePodContent', ms, signal, (o) => runtime.removePodContent!(shouldPodContentBeRemoved, o)),
    }),
    ...(runtime.subscribe && { subscribe: (...listeners) => runtime.subscribe!(...listeners) }),
  };
  return Object.assign(boundedMethods, { [isBounded]: true });
}
