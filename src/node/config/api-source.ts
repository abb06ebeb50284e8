import { aFunction, requireOptions } from '../../shared/option-checks.ts';
import { isMirrorPod, isStaticPod } from '../../kube/pods/static-pods.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { type APIPods, apiSourceName, type PodSink, type PodSource, podSource } from './pod-source.ts';

/** Options of `apiSource`. */
export interface APISourceOptions {
  /**
   * Whether this agent runs a pod of the API server. The agent ignores all other pods: they are
   * neither run nor modified. Must always return the same for a pod, and true for mirror pods.
   * Default: true for every pod that is bound to the node.
   */
  readonly filter?: ((pod: ValidPod) => boolean) | undefined;
}

/**
 * The pods of the API server, including mirror pods, as a source of an agent with a client; the agent
 * has it by default. Nothing is delivered before the first list has been received, however long that
 * takes. Source: kubelet `NewSourceApiserver`.
 *
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent, apiSource } from 'kubelet-status-manager/agent';
 *
 * const sources = [apiSource({ filter: ({ spec }) => spec?.runtimeClassName === 'wasm' })];
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, sources });
 * ```
 */
export function apiSource(options: APISourceOptions = {}): PodSource {
  requireOptions(options, { filter: aFunction });
  const { filter } = options;
  return podSource(apiSourceName, (sink, { apiPods, logger }) => {
    if (apiPods === undefined) throw new Error('The API server as a source needs a client');
    return new APISource(filter === undefined ? apiPods : filteredPods(apiPods, filter, logger), sink, logger);
  });
}

class APISource {
  readonly #pods = new Map<string, ValidPod>();
  readonly #sink: PodSink;
  readonly #unsubscribe: () => void;
  #isStopped = false;
  /** False until the first list is complete. */
  #isSynced = false;

  constructor(apiPods: APIPods, sink: PodSink, logger: Logger) {
    this.#sink = sink;
    const upsert = (pod: ValidPod): void => {
      // A static pod that was added to the informer belongs to another source.
      if (isStaticPod(pod) && !isMirrorPod(pod)) return;
      this.#pods.set(pod.metadata.uid, pod);
      this.#changed();
    };
    const remove = (pod: ValidPod): void => {
      if (this.#pods.delete(pod.metadata.uid)) this.#changed();
    };
    const listener = { onPodAdded: upsert, onPodUpdated: upsert, onPodRemoved: remove };
    this.#unsubscribe = apiPods.subscribe(listener, { includeMirrorPods: true });
    apiPods.whenSynced().then(
      () => {
        this.#isSynced = true;
        this.#changed();
      },
      (thrown: unknown) => {
        if (!this.#isStopped) logger.error({ reason: reasonOf(thrown) }, 'Failed to list the pods of the API server');
      },
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
  }

  #changed(): void {
    if (this.#isSynced && !this.#isStopped) this.#sink([...this.#pods.values()]);
  }
}

function filteredPods(apiPods: APIPods, filter: (pod: ValidPod) => boolean, logger: Logger): APIPods {
  /** If the filter throws, the change is ignored. */
  const passes = (pod: ValidPod): boolean => {
    try {
      return filter(pod);
    } catch (thrown) {
      const fields = { ...podFieldsOf(pod), method: 'apiSource.filter', reason: reasonOf(thrown) };
      logger.error(fields, 'User callback threw; ignoring the change of the pod');
      return false;
    }
  };
  return {
    whenSynced: () => apiPods.whenSynced(),
    subscribe: (listener, options) =>
      apiPods.subscribe(
        {
          onPodAdded: (pod) => void (passes(pod) && listener.onPodAdded(pod)),
          onPodUpdated: (pod) => void (passes(pod) && listener.onPodUpdated(pod)),
          onPodRemoved: (pod) => listener.onPodRemoved(pod),
        },
        options,
      ),
  };
}
