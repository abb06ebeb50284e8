import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import { type Bounded, type BoundedMethods, boundedPort } from '../../shared/bounded-port.ts';
import type { Clock } from '../../shared/clock.ts';
import type { InPodScope } from '../pod-scope.ts';
import type { ContainerRuntime } from './container-runtime.ts';
import {
  requireExecResult,
  requireID,
  requireImagePullSecrets,
  requireImageRef,
  requireImages,
  requirePodOrNothing,
  requireRuntimePods,
  requirePodStats,
  requirePulledImage,
  requireResources,
  requireSandboxStatus,
  requireStatus,
} from './require-runtime-result.ts';

export interface BoundedRuntimeOptions {
  readonly clock: Pick<Clock, 'afterFunc' | 'monotonicMs'>;
  /** Time-out of one call; see `runtimeCalls` for those that may take longer. */
  readonly requestTimeoutMs: number;
  /** Aborts all calls, including those without a signal of their own. */
  readonly signal: AbortSignal;
  /** Default: nothing is measured. */
  readonly recordMetric?: RecordKubeletMetric | undefined;
}

type RuntimeCall<Row> = Row extends object
  ? Row & {
      /** `operation_type` in the metrics: that of the kubelet's call with the same task. Source: kubelet `instrumentedRuntimeService`. */
      readonly operation: string;
    }
  : Row;

/** A row for each method of a runtime, including optional ones. `subscribe` returns immediately. */
export type RuntimeCalls<Runtime> = {
  readonly [Name in keyof BoundedMethods<Runtime>]: RuntimeCall<BoundedMethods<Runtime>[Name]>;
};

/** The methods of a runtime. One without a row does not compile. */
export const runtimeCalls: RuntimeCalls<ContainerRuntime> = {
  status: { operation: 'status', parameters: 1, check: requireStatus },
  listPods: { operation: 'list_podsandbox', parameters: 1, check: requireRuntimePods },
  getPod: { operation: 'get_pod', parameters: 2, check: requirePodOrNothing },
  updateQOSCgroups: { operation: 'update_qos_cgroups', parameters: 2 },
  preparePod: { operation: 'prepare_pod', parameters: 2 },
  releasePod: { operation: 'release_pod', parameters: 2 },
  updatePodResources: { operation: 'update_podsandbox_resources', parameters: 3 },
  podResources: { operation: 'pod_resources', parameters: 2, check: requireResources },
  // Twice as long, as in the kubelet.
  runPodSandbox: {
    operation: 'run_podsandbox',
    parameters: 2,
    timeoutMs: (ms) => 2 * ms,
    check: requireID('runPodSandbox'),
  },
  podSandboxStatus: { operation: 'podsandbox_status', parameters: 2, check: requireSandboxStatus },
  stopPodSandbox: { operation: 'stop_podsandbox', parameters: 2 },
  removePodSandbox: { operation: 'remove_podsandbox', parameters: 2, isShared: true },
  createContainer: { operation: 'create_container', parameters: 2, check: requireID('createContainer') },
  startContainer: { operation: 'start_container', parameters: 2 },
  stopContainer: {
    operation: 'stop_container',
    parameters: 3,
    timeoutMs: (ms, _id, gracePeriodSeconds) => ms + gracePeriodSeconds * 1000,
  },
  updateContainerResources: { operation: 'update_container', parameters: 3 },
  removeContainer: { operation: 'remove_container', parameters: 2, isShared: true },
  execSync: {
    operation: 'exec_sync',
    parameters: 4,
    timeoutMs: (ms, _id, _command, timeoutMs) => ms + timeoutMs,
    check: requireExecResult,
  },
  pullImage: {
    operation: 'pull_image',
    parameters: 3,
    timeoutMs: () => Number.POSITIVE_INFINITY,
    check: requirePulledImage,
  },
  imageRef: { operation: 'image_status', parameters: 2, check: requireImageRef },
  imagePullSecrets: { operation: 'image_pull_secrets', parameters: 3, check: requireImagePullSecrets },
  listImages: { operation: 'list_images', parameters: 1, check: requireImages },
  removeImage: { operation: 'remove_image', parameters: 2 },
  imageFsStats: { operation: 'image_fs_info', parameters: 1 },
  listPodStats: { operation: 'list_podsandbox_stats', parameters: 1, check: (stats) => requirePodStats(stats) },
  removePodContent: { operation: 'remove_pod_content', parameters: 2 },
  subscribe: 'unbounded',
};

/** Methods that may begin something for a pod, and therefore need its scope. Reads, stops and removals do not. */
type ScopedMethod =
  | 'preparePod'
  | 'runPodSandbox'
  | 'createContainer'
  | 'startContainer'
  | 'updateContainerResources'
  | 'updatePodResources'
  | 'pullImage'
  | 'imageRef'
  | 'imagePullSecrets';

type InScope<Method> = Method extends (...args: infer Args) => infer Result
  ? Required<Args> extends [...infer Others, infer Options]
    ? (...args: [...Others, Options & InPodScope]) => Result
    : never
  : Method;

/** The runtime that all parts of the agent get: a call that begins something for a pod needs its scope. */
export type BoundedRuntime = Bounded<{
  readonly [Name in keyof ContainerRuntime]: Name extends ScopedMethod
    ? InScope<ContainerRuntime[Name]>
    : ContainerRuntime[Name];
}>;

/**
 * The same runtime with a time-out for each call: see `boundedPort`. A call also rejects if it resolves with an invalid
 * value. A removal that is requested while the same one is in progress waits for that one. Source: kubelet
 * `--runtime-request-timeout`.
 */
export function boundedRuntime(
  runtime: ContainerRuntime,
  { clock, requestTimeoutMs, signal, recordMetric }: BoundedRuntimeOptions,
): Bounded<ContainerRuntime> {
  return boundedPort(runtime, {
    ...{ name: 'the runtime', methods: runtimeCalls, clock, timeoutMs: requestTimeoutMs, signal },
    async around(method, call) {
      const { operation } = runtimeCalls[method as Exclude<keyof ContainerRuntime, 'subscribe'>];
      const startedMs = clock.monotonicMs();
      try {
        return await call();
      } catch (error) {
        recordMetric?.('runtime_operations_errors_total', 1, operation);
        throw error;
      } finally {
        recordMetric?.('runtime_operations_total', 1, operation);
        recordMetric?.('runtime_operations_duration_seconds', (clock.monotonicMs() - startedMs) / 1000, operation);
      }
    },
  });
}
