import { aFunction, requireOptions } from '../../shared/option-checks.ts';
import { isMirrorPod, isStaticPod } from '../../kube/pods/static-pods.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { apiSourceName, type PodSink, type PodSource, type PodSourceContext, podSource } from './pod-source.ts';

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
  return podSource(apiSourceName, (sink, context) => startAPISource(sink, context, options.filter));
}

/** Keeps no pods of its own: each list is the informer's, and for a pod that cannot be filtered the agent keeps its last state. */
function startAPISource(
  sink: PodSink,
  { apiPods, logger }: PodSourceContext,
  filter: APISourceOptions['filter'],
): Pick<PodSource, 'stop'> {
  if (apiPods === undefined) throw new Error('The API server as a source needs a client');
  /** For each object that was filtered; undefined if the filter threw. */
  const results = new WeakMap<ValidPod, boolean | undefined>();
  const filterOnce = (pod: ValidPod): boolean | undefined => {
    if (!results.has(pod)) results.set(pod, tryFilter(pod));
    return results.get(pod);
  };
  const tryFilter = (pod: ValidPod): boolean | undefined => {
    try {
      return filter!(pod);
    } catch (thrown) {
      const fields = { ...podFieldsOf(pod), method: 'apiSource.filter', reason: reasonOf(thrown) };
      logger.error(fields, 'User callback threw; ignoring the change of the pod');
      return undefined;
    }
  };
  let isStopped = false;
  /** False until the first list is complete. */
  let isSynced = false;
  const deliver = (): void => {
    if (!isSynced || isStopped) return;
    const pods = apiPods.getAPIPods();
    if (filter === undefined) return sink(pods);
    const unfiltered = pods.filter((pod) => filterOnce(pod) === undefined);
    sink(pods.filter(filterOnce), new Set(unfiltered.map(({ metadata }) => metadata.uid)));
  };
  // A static pod that was added to the informer belongs to another source.
  const changed = (pod: ValidPod): void => void ((!isStaticPod(pod) || isMirrorPod(pod)) && deliver());
  const listener = { onPodAdded: changed, onPodUpdated: changed, onPodRemoved: changed };
  const unsubscribe = apiPods.subscribe(listener, { includeMirrorPods: true });
  apiPods.whenSynced().then(
    () => {
      isSynced = true;
      deliver();
    },
    (thrown: unknown) => {
      if (!isStopped) logger.error({ reason: reasonOf(thrown) }, 'Failed to list the pods of the API server');
    },
  );
  return {
    async stop() {
      isStopped = true;
      unsubscribe();
    },
  };
}
