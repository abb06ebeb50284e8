import {
  type Clock,
  generateAPIPodStatus,
  type Logger,
  type Pod,
  type PodDeletionSafety,
  type StatusManager,
} from 'kubelet-status-manager';
import type { ContainerRuntime } from './container-runtime.ts';
import type { CrashLoopLimits } from './crash-loop-back-off.ts';
import { PodWorker } from './pod-worker.ts';
import { podAnnotation, podName, podUID } from './pods.ts';

/** On a cluster with other nodes, only pods that carry this annotation with the value `process` are run. */
export const runAnnotation = 'kubelet-status-manager.dev/run';

const shutdown = { reason: 'Terminated', message: 'Pod was terminated because the node agent is shutting down' };

export interface NodeAgentOptions {
  readonly statusManager: StatusManager;
  readonly runtime: ContainerRuntime;
  readonly crashLoopLimits: CrashLoopLimits;
  /** IP addresses of the node; its pods share them, as pods with `hostNetwork` do. */
  readonly addresses: readonly string[];
  /** Ignores pods that do not have the annotation. */
  readonly onlyAnnotatedPods: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Runs the pods that are bound to this node. Each pod has a worker, and each change of a worker
 * becomes a status. The status manager does the rest: it writes the statuses to the API server, and
 * deletes a pod there once its deletion is requested and the pod is terminated.
 */
export class NodeAgent implements PodDeletionSafety {
  readonly #options: NodeAgentOptions;
  readonly #workers = new Map<string, PodWorker>();
  /** Pods whose objects are deleted while their processes are still terminating. */
  readonly #removed = new Set<string>();
  #isStopping = false;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
  }

  /** Whether the agent runs this pod. It never modifies any other pod. */
  runsPod(pod: Pod): boolean {
    return !this.#options.onlyAnnotatedPods || podAnnotation(pod, runAnnotation) === 'process';
  }

  /** A pod of this node is new or has changed. */
  handlePod(pod: Pod): void {
    let worker = this.#workers.get(podUID(pod));
    if (!worker) {
      if (this.#isStopping || !this.runsPod(pod)) return;
      const { runtime, clock, crashLoopLimits } = this.#options;
      worker = new PodWorker(pod, { runtime, clock, crashLoopLimits, onChange: (changed) => this.#publish(changed) });
      this.#workers.set(podUID(pod), worker);
    }
    worker.update(pod);
  }

  /** A pod's object was deleted, by the status manager or by a user who forced the deletion. */
  handleRemovedPod(pod: Pod): void {
    const worker = this.#workers.get(podUID(pod));
    if (!worker) return;
    this.#removed.add(podUID(pod));
    worker.terminate();
    void worker.terminated.then(() => this.#forget(podUID(pod)));
  }

  /** Called by the status manager before it writes a terminal phase. */
  podCouldHaveRunningContainers(pod: Pod): boolean {
    const worker = this.#workers.get(podUID(pod));
    return worker !== undefined && !worker.isTerminated;
  }

  /** Terminates all pods, as the kubelet does when its machine shuts down. Resolves when no container runs. */
  async stop({ maxGracePeriodSeconds }: { maxGracePeriodSeconds: number }): Promise<void> {
    this.#isStopping = true;
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.terminate({ eviction: shutdown, maxGracePeriodSeconds });
    await Promise.all(workers.map(({ terminated }) => terminated));
  }

  #publish(worker: PodWorker): void {
    const { pod } = worker;
    if (this.#removed.has(podUID(pod))) return;
    const { statusManager, addresses, logger } = this.#options;
    try {
      const status = generateAPIPodStatus(pod, {
        initContainerStatuses: worker.initContainerStatuses,
        containerStatuses: worker.containerStatuses,
        // Processes need no sandbox, so the agent reports one that is ready until the pod is terminated.
        sandboxes: [{ ready: !worker.isTerminated, hostNetwork: pod.spec?.hostNetwork }],
        podIPs: addresses,
        hostIPs: addresses,
        podIsTerminal: worker.isTerminated,
        previous: statusManager.getPodStatus(podUID(pod)),
        eviction: worker.eviction,
      });
      statusManager.setPodStatus(pod, status);
      if (worker.isTerminated) statusManager.terminatePod(pod);
    } catch (error) {
      logger.error({ pod: podName(pod), err: error }, 'Failed to set the status of the pod');
    }
  }

  #forget(uid: string): void {
    this.#workers.delete(uid);
    this.#removed.delete(uid);
    this.#options.statusManager.removeOrphanedStatuses(new Set(this.#workers.keys()));
  }
}
