import type { Clock } from '../../shared/clock.ts';
import type { Container, PodStatus, PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import type { RecordKubeletMetric } from '../../observe/kubelet-metrics.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { PodScope } from '../pod-scope.ts';
import { type ProbeResults, ProbeResultsManager, type ProbeType, type ProbeUpdate } from '../probes/probe-results.ts';
import { probeOf, probeTypeNames, probeTypes } from '../probes/probe-types.ts';
import { hasEndedForGood, ProbeWorker } from './probe-worker.ts';
import type { BoundedProber } from './prober.ts';
import { systemRandom } from '../../shared/entropy.ts';

/** Options of a `ProberManager`. */
export interface ProberManagerOptions {
  readonly prober: BoundedProber;
  /** The cached status of a pod, for example `StatusManager.getPodStatus`. */
  readonly getPodStatus: (podUID: string) => PodStatus | undefined;
  readonly clock: Clock;
  /** When the agent was started, on the monotonic clock. */
  readonly agentStartedMs: number;
  readonly recordMetric: RecordKubeletMetric;
  /** Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Called synchronously for each new result; must not throw. */
  readonly onUpdate?: ((probeType: ProbeType, update: ProbeUpdate) => void) | undefined;
}

/**
 * Keeps a worker for each probe of each pod, and their results. Source: kubelet `prober.Manager`.
 */
export class ProberManager {
  /** For `generatePodStatus` and `computePodActions`. */
  readonly results: ProbeResults;
  readonly #options: ProberManagerOptions;
  readonly #managers: Readonly<Record<ProbeType, ProbeResultsManager>>;
  /**
   * By pod UID, then by container and type of probe. Not in the pod's record, because each ends with its container, which
   * may be earlier.
   */
  readonly #workers = new Map<string, Map<string, ProbeWorker>>();

  constructor(options: ProberManagerOptions) {
    this.#options = options;
    this.#managers = Object.fromEntries(
      probeTypeNames.map((probeType) => [
        probeType,
        new ProbeResultsManager((update) => options.onUpdate?.(probeType, update)),
      ]),
    ) as Record<ProbeType, ProbeResultsManager>;
    this.results = this.#managers;
  }

  /** The number of workers. */
  get workerCount(): number {
    let count = 0;
    for (const workers of this.#workers.values()) count += workers.size;
    return count;
  }

  /**
   * Starts the probes of the pod's regular containers and sidecars, which end with its scope. Existing workers continue.
   *
   * Divergence: none are started for a container that has ended for good. In the kubelet, each sync starts a worker that ends
   * immediately; here, its first result would cause the next sync.
   */
  addPod(pod: ValidPod, scope: PodScope): void {
    const { containers = [], initContainers = [] } = pod.spec ?? {};
    for (const container of [...containers, ...initContainers.filter(isRestartableInitContainer)]) {
      for (const probeType of probeTypeNames) {
        if (probeOf(container, probeType) !== undefined) this.#addWorker(pod, container, probeType, scope);
      }
    }
  }

  /**
   * Stops liveness and startup probes of the regular containers of a pod that is being terminated. Readiness probes continue
   * until it has ended, and so do all probes of sidecars, which keep running during the grace period.
   */
  stopLivenessAndStartup({ metadata, spec }: ValidPod): void {
    const workers = this.#workers.get(metadata.uid);
    for (const { name } of spec?.containers ?? [])
      for (const probeType of probeTypeNames)
        if (!probeTypes[probeType].continuesInTermination) workers?.get(keyOf(name, probeType))?.stop();
  }

  /** Stops all probes of the pod and removes their results. */
  removePod(podUID: string): void {
    for (const worker of [...(this.#workers.get(podUID)?.values() ?? [])]) worker.stop();
  }

  /** Calls `removePod` for all pods except these. */
  cleanupPods(podUIDs: Iterable<string>): void {
    const desired = new Set(podUIDs);
    for (const podUID of [...this.#workers.keys()]) if (!desired.has(podUID)) this.removePod(podUID);
  }

  /**
   * Call it with each new status: containers that have started and are not known to be ready are
   * probed as soon as possible, instead of at the next tick. Source: kubelet `UpdatePodStatus`.
   */
  triggerReadiness(podUID: string, { containerStatuses, initContainerStatuses }: PodStatusInput): void {
    for (const { name, state, started, containerID } of [
      ...(containerStatuses ?? []),
      ...(initContainerStatuses ?? []),
    ]) {
      if (state?.running == null || started !== true) continue;
      if (this.results.readiness.get(containerID ?? '') === 'success') continue;
      this.#workers
        .get(podUID)
        ?.get(keyOf(name ?? '', 'readiness'))
        ?.trigger();
    }
  }

  #addWorker(pod: ValidPod, container: Container, probeType: ProbeType, scope: PodScope): void {
    const podUID = pod.metadata.uid;
    const workers = this.#workers.get(podUID) ?? new Map<string, ProbeWorker>();
    const key = keyOf(container.name, probeType);
    if (workers.has(key)) return;
    const status = this.#options.getPodStatus(podUID);
    if (status !== undefined && hasEndedForGood(pod, container, status)) return;
    const { random = systemRandom, ...rest } = this.#options;
    const worker = new ProbeWorker({
      ...rest,
      random,
      pod,
      scope,
      container,
      probeType,
      results: this.#managers[probeType],
      onExit: () => {
        workers.delete(key);
        if (workers.size === 0) this.#workers.delete(podUID);
      },
    });
    workers.set(key, worker);
    this.#workers.set(podUID, workers);
    worker.start();
  }
}

function keyOf(containerName: string, probeType: ProbeType): string {
  return `${containerName}/${probeType}`;
}
