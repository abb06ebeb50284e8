import { BasicPodManager } from '../kube/pod-manager/basic-pod-manager.ts';
import type { Pod } from '../kube/objects/types.ts';
import type { PodEvents } from '../api-server/resources/pod-events.ts';

/** Options of a `SyncedPodManager`. */
export interface SyncedPodManagerOptions {
  /** Only pods with this `spec.nodeName`. Default: all pods. */
  readonly nodeName?: string;
}

/**
 * A pod manager that reflects every write to the pods of an `APIServer` or a `FakePodClient`
 * immediately, including those of the status manager: an informer without delay. Add static pods with
 * `addPod`.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, SyncedPodManager } from 'kubelet-status-manager/testing';
 *
 * const client = new FakePodClient([pod]);
 * const podManager = new SyncedPodManager(client);
 * const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false });
 * ```
 */
export class SyncedPodManager extends BasicPodManager {
  /** The clock of the source. */
  readonly clock: PodEvents['clock'];
  readonly #unsubscribe: () => void;

  /** @param source `server.pods`, or a `FakePodClient` */
  constructor(source: PodEvents, { nodeName }: SyncedPodManagerOptions = {}) {
    super();
    this.clock = source.clock;
    const isOwn = ({ spec }: Pod): boolean => nodeName === undefined || spec?.nodeName === nodeName;
    for (const pod of source.list()) if (isOwn(pod)) this.addPod(pod);
    this.#unsubscribe = source.subscribe(({ type, pod }) => {
      if (!isOwn(pod)) return;
      if (type === 'DELETED') this.removePod(pod);
      else this.updatePod(pod);
    });
  }

  /** Shows no further writes. */
  stop(): void {
    this.#unsubscribe();
  }
}
