import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { podStatusFromRuntime } from '../runtime/pod-status-from-runtime.ts';
import type { PodCache } from './pod-syncer.ts';

/** Queries the runtime each time and caches nothing. */
export function runtimePodCache(runtime: ContainerRuntime): PodCache {
  return {
    get: () => undefined,
    getNewerThan: async (pod, _minTimeMs, options) =>
      podStatusFromRuntime(pod, await runtime.getPod(pod.metadata?.uid ?? '', options), runtime),
  };
}
