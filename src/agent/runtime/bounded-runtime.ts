import type { Clock } from '../../index.ts';
import type { ContainerRuntime } from './container-runtime.ts';

export interface BoundedRuntimeOptions {
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** For one call. Stopping a container has its grace period besides, a command its own time-out. */
  readonly requestTimeoutMs: number;
}

/** The longest delay of setTimeout. A longer time-out counts as no time-out. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * The same runtime with a time limit for each call, which rejects when its time is up, and when its
 * signal is aborted, also if the runtime itself does not notice. A pull of an image has no time-out.
 * Source: kubelet `--runtime-request-timeout`.
 */
export function boundedRuntime(
  runtime: ContainerRuntime,
  { clock, requestTimeoutMs }: BoundedRuntimeOptions,
): ContainerRuntime {
  function bounded<T>(
    method: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    call: (options: { readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const controller = new AbortController();
      const end = (): void => {
        timer?.stop();
        signal?.removeEventListener('abort', onAbort);
      };
      const giveUp = (error: Error): void => {
        end();
        reject(error);
        controller.abort(error);
      };
      const onAbort = (): void => giveUp(signal?.reason as Error);
      signal?.addEventListener('abort', onAbort);
      const timer =
        timeoutMs > maxTimerMs
          ? undefined
          : clock.afterFunc(timeoutMs, () => giveUp(new Error(`${method} of the runtime took over ${timeoutMs} ms`)));
      call({ signal: controller.signal }).then(resolve, reject).finally(end);
    });
  }

  const ms = requestTimeoutMs;
  return {
    listPods: ({ signal } = {}) => bounded('listPods', ms, signal, (o) => runtime.listPods(o)),
    getPod: (uid, { signal } = {}) => bounded('getPod', ms, signal, (o) => runtime.getPod(uid, o)),
    createContainer: (config, { signal } = {}) =>
      bounded('createContainer', ms, signal, (o) => runtime.createContainer(config, o)),
    startContainer: (id, { signal } = {}) =>
      bounded('startContainer', ms, signal, (o) => runtime.startContainer(id, o)),
    stopContainer: (id, graceSeconds, { signal } = {}) =>
      bounded('stopContainer', ms + graceSeconds * 1000, signal, (o) => runtime.stopContainer(id, graceSeconds, o)),
    removeContainer: (id, { signal } = {}) =>
      bounded('removeContainer', ms, signal, (o) => runtime.removeContainer(id, o)),
    execSync: (id, command, timeoutMs, { signal } = {}) =>
      bounded('execSync', ms + timeoutMs, signal, (o) => runtime.execSync(id, command, timeoutMs, o)),
    ...(runtime.updateContainerResources && {
      updateContainerResources: (id, resources, { signal } = {}) =>
        bounded('updateContainerResources', ms, signal, (o) => runtime.updateContainerResources!(id, resources, o)),
    }),
    ...(runtime.runPodSandbox && {
      runPodSandbox: (config, { signal } = {}) =>
        bounded('runPodSandbox', ms, signal, (o) => runtime.runPodSandbox!(config, o)),
    }),
    ...(runtime.stopPodSandbox && {
      stopPodSandbox: (id, { signal } = {}) =>
        bounded('stopPodSandbox', ms, signal, (o) => runtime.stopPodSandbox!(id, o)),
    }),
    ...(runtime.removePodSandbox && {
      removePodSandbox: (id, { signal } = {}) =>
        bounded('removePodSandbox', ms, signal, (o) => runtime.removePodSandbox!(id, o)),
    }),
    ...(runtime.pullImage && {
      pullImage: (image, pod, { signal } = {}) =>
        bounded('pullImage', Number.POSITIVE_INFINITY, signal, (o) => runtime.pullImage!(image, pod, o)),
    }),
    ...(runtime.imageRef && {
      imageRef: (image, { signal } = {}) => bounded('imageRef', ms, signal, (o) => runtime.imageRef!(image, o)),
    }),
    ...(runtime.subscribe && { subscribe: (listener) => runtime.subscribe!(listener) }),
  };
}
