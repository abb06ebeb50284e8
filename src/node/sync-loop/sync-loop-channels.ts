import type { PodConfigUpdate } from '../config/pod-config.ts';
import type { PodLifecycleEvent } from './pod-lifecycle-event.ts';
import type { ProbeType, ProbeUpdate } from '../probes/probe-results.ts';

export interface SyncLoopListener {
  /** Called after each item. */
  readonly onReceived: () => void;
  readonly onSyncDue: (dueMs: number) => void;
}

/**
 * The input queues of the sync loop, in order of arrival. Like the kubelet's Go channels, they exist before the loop,
 * so that senders can be created first. Source: kubelet `syncLoopIteration`.
 */
export class SyncLoopChannels {
  readonly configUpdates: PodConfigUpdate[] = [];
  readonly lifecycleEvents: PodLifecycleEvent[] = [];
  readonly probeUpdates: { readonly probeType: ProbeType; readonly update: ProbeUpdate }[] = [];
  #listener: SyncLoopListener = { onReceived: () => {}, onSyncDue: () => {} };

  listen(listener: SyncLoopListener): void {
    this.#listener = listener;
  }

  /** A pod must be synced at this time, on the monotonic clock. */
  syncDue(dueMs: number): void {
    this.#listener.onSyncDue(dueMs);
  }

  configUpdated(update: PodConfigUpdate): void {
    this.configUpdates.push(update);
    this.#listener.onReceived();
  }

  lifecycleEvent(event: PodLifecycleEvent): void {
    this.lifecycleEvents.push(event);
    this.#listener.onReceived();
  }

  probeUpdated(probeType: ProbeType, update: ProbeUpdate): void {
    this.probeUpdates.push({ probeType, update });
    this.#listener.onReceived();
  }
}
