import { setMaxListeners } from 'node:events';
import type { Clock } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import { Ticker } from '../../shared/ticker.ts';
import {
  type BoundedRuntime,
  type EventRecorder,
  nodeReference,
  type RuntimeContainerStatus,
  type RuntimePod,
  type RuntimePodStatus,
} from '../../node/index.ts';
import { newestFirst, newestSandboxesFirst } from '../pleg/pod-status-from-runtime.ts';

/** Options of `ContainerGC`. */
export interface ContainerGCOptions {
  readonly runtime: BoundedRuntime;
  /** For example `PodWorkers`. Source: kubelet `podStateProvider`. */
  readonly podStateProvider: {
    /** Whether nothing of this pod is needed. */
    shouldPodContentBeRemoved(podUID: string): boolean;
    /** Whether the pod has ended, so that its containers are only kept for people. */
    shouldPodRuntimeBeRemoved(podUID: string): boolean;
  };
  /** While it returns false, no pod counts as gone. */
  readonly areSourcesReady: () => boolean;
  readonly nodeName: string;
  readonly eventRecorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How many exited runs of each container are kept, for their logs. Source: kubelet `maximum-dead-containers-per-container`. */
const maxPerPodContainer = 1;
/** Source: kubelet `ContainerGCPeriod`. */
const periodMs = 60_000;

/** Grace period of a container in an unknown state, which is stopped before it is removed. Source: kuberuntime `minimumGracePeriodInSeconds`. */
const unknownGracePeriodSeconds = 2;

/**
 * Removes exited containers, sandboxes without containers, and logs and cgroups of removed pods from the runtime. For pods whose content
 * may be removed it removes all of them, for other pods all but the newest ones. Failures are logged,
 * and the next call tries again. Source: kuberuntime `containerGC`, kubelet `podContainerDeletor`.
 *
 * Divergence: there is no limit of containers across all pods, and no minimum age.
 */
export class ContainerGC {
  readonly #options: ContainerGCOptions;
  readonly #runtime: BoundedRuntime;
  readonly #ticker: Ticker;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(options: ContainerGCOptions) {
    this.#options = options;
    this.#runtime = options.runtime;
    this.#failures = new FailureLog({ ...options, what: 'Garbage collection of containers' });
    this.#ticker = new Ticker(options.clock, periodMs, () => this.#tick());
    // No listener limit: containers of all pods are removed concurrently.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Collects the garbage of all pods every minute; a failure is an Event of the Node. Source: kubelet `StartGarbageCollection`. */
  start(): void {
    this.#ticker.start();
  }

  /**
   * Collects the garbage of all pods. While `allSourcesReady` is false,
   * no pod counts as gone. Rejects if the runtime cannot list its pods. Source: kuberuntime `GarbageCollect`.
   */
  garbageCollect(allSourcesReady: boolean): Promise<void> {
    const { podStateProvider } = this.#options;
    return this.#collect(allSourcesReady, (uid) => podStateProvider.shouldPodContentBeRemoved(uid));
  }

  /** Like `garbageCollect`, and removes all containers of pods that have ended. Source: kubelet `DeleteAllUnusedContainers`. */
  deleteAllUnusedContainers(): Promise<void> {
    const { podStateProvider, areSourcesReady } = this.#options;
    return this.#collect(
      areSourcesReady(),
      (uid) => podStateProvider.shouldPodContentBeRemoved(uid) || podStateProvider.shouldPodRuntimeBeRemoved(uid),
    );
  }

  #collect(allSourcesReady: boolean, isGone: (podUID: string) => boolean): Promise<void> {
    const { signal } = this.#stop;
    return this.#track(async () => {
      const pods = await this.#runtime.listPods({ signal });
      for (const pod of pods) await this.#evictContainers(pod, allSourcesReady && isGone(pod.uid));
      for (const pod of await this.#runtime.listPods({ signal })) await this.#evictSandboxes(pod, isGone(pod.uid));
      const { podStateProvider } = this.#options;
      if (allSourcesReady)
        await this.#runtime.removePodContent?.((uid) => podStateProvider.shouldPodContentBeRemoved(uid), {
          signal,
        });
    });
  }

  /**
   * Removes the exited runs of one pod's containers: those of the container that has `exitedContainerID`,
   * or all if it is undefined. The sync loop calls it after ContainerDied. Source: kubelet `cleanUpContainersInPod`.
   *
   * Divergence: the oldest run is removed first. The kubelet removes the newest run first, so a status that
   * is generated in between shows how the previous run ended.
   */
  cleanUpContainersInPod(podUID: string, runtimeStatus: RuntimePodStatus, exitedContainerID?: string): Promise<void> {
    const removeAll = this.#options.podStateProvider.shouldPodContentBeRemoved(podUID);
    const toDelete = removeAll
      ? containersToDeleteInPod(runtimeStatus, undefined, 0)
      : containersToDeleteInPod(runtimeStatus, exitedContainerID, maxPerPodContainer);
    return this.#track(async () => {
      // Oldest first, so that a status generated in between shows the newest run.
      for (const container of toDelete.toReversed()) await this.#removeContainer(podUID, container);
    });
  }

  /** Aborts removals in progress and starts no others. Resolves when none is in progress. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#ticker.stop();
    await Promise.allSettled(this.#running);
  }

  async #tick(): Promise<void> {
    try {
      await this.garbageCollect(this.#options.areSourcesReady());
      this.#failures.succeeded();
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      this.#failures.failed(thrown);
      const { eventRecorder, nodeName } = this.#options;
      const [object, reason] = [nodeReference(nodeName, undefined), 'ContainerGCFailed'];
      eventRecorder.event({ object, type: 'Warning', reason, message: reasonOf(thrown) });
    }
  }

  async #track(work: () => Promise<void>): Promise<void> {
    const running = work().finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #evictContainers({ uid, containers }: RuntimePod, isGone: boolean): Promise<void> {
    const evictable = newestFirst(containers).filter(({ state }) => state !== 'running');
    for (const containerName of new Set(evictable.map(({ name }) => name))) {
      const runs = evictable.filter(({ name }) => name === containerName);
      const toRemove = runs.slice(isGone ? 0 : maxPerPodContainer).toReversed();
      for (const container of toRemove) await this.#removeContainer(uid, container);
    }
  }

  /** Removes sandboxes that are not ready and have no containers, except the newest one of an existing pod. */
  async #evictSandboxes({ uid, sandboxes = [], containers }: RuntimePod, isGone: boolean): Promise<void> {
    const runtime = this.#runtime;
    const { signal } = this.#stop;
    if (runtime.removePodSandbox === undefined) return;
    const toRemove = newestSandboxesFirst(sandboxes).slice(isGone ? 0 : 1);
    for (const { id, ready } of toRemove.toReversed()) {
      if (ready || containers.some(({ sandboxID }) => sandboxID === id)) continue;
      await this.#remove(uid, id, async () => {
        await runtime.stopPodSandbox?.(id, { signal });
        await runtime.removePodSandbox?.(id, { signal });
      });
    }
  }

  #removeContainer(podUID: string, { id, state }: RuntimeContainerStatus): Promise<void> {
    const { signal } = this.#stop;
    return this.#remove(podUID, id, async () => {
      // The container may be running.
      if (state === 'unknown') await this.#runtime.stopContainer(id, unknownGracePeriodSeconds, { signal });
      await this.#runtime.removeContainer(id, { signal });
    });
  }

  async #remove(podUID: string, id: string, remove: () => Promise<void>): Promise<void> {
    if (this.#stop.signal.aborted) return;
    try {
      await remove();
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.warn({ podUID, id, reason: reasonOf(thrown) }, 'Failed to remove a container or sandbox');
    }
  }
}

/**
 * The exited containers of a pod, newest first, without the first `containersToKeep`. With
 * `filterContainerID`, only runs of that container; none if its ID is unknown.
 * Source: kubelet `getContainersToDeleteInPod`.
 */
export function containersToDeleteInPod(
  { containers }: RuntimePodStatus,
  filterContainerID: string | undefined,
  containersToKeep: number,
): RuntimeContainerStatus[] {
  const filter = containers.find(({ id }) => id === filterContainerID);
  if (filterContainerID !== undefined && filter === undefined) return [];
  return newestFirst(containers)
    .filter(({ state, name }) => state === 'exited' && (filter === undefined || name === filter.name))
    .slice(containersToKeep);
}
