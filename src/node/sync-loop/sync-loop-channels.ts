import type { PodConfigUpdate } from '../config/pod-config.ts';
import type { PodLifecycleEvent } from './pod-lifecycle-event.ts';
import type { ProbeType, ProbeUpdate } from '../probes/probe-results.ts';

/**
 * The input queues of the sync loop, in order of arrival. Like the kubelet's Go channels, they exist before the loop,
 * so that senders can be created first. Source: kubelet `syncLoopIteration`.
 */
export class SyncLoopChannels {
  readonly configUpdates: PodConfigUpdate[] = [];
  readonly lifecycleEvents: PodLifecycleEvent[] = [];
  readonly probeUpdates: { readonly probeType: ProbeType; readonly update: ProbeUpdate }[] = [];
  #onReceived: () => void = () => {};

  /** Sets the listener that is called after each item. */
  listen(onReceived: () => void): void {
    this.#onReceived = onReceived;
  }

  configUpdated(update: PodConfigUpdate): void {
    this.configUpdates.push(update);
    this.#onReceived();
  }

  lifecycleEvent(event: PodLifecycleEvent): void {
    this.lifecycleEvents.push(event);
    this.#onReceived();
  }

  probeUpdated(probeType: ProbeType, update: ProbeUpdate): void {
    this.probeUpdates.push({ probeType, update });
    this.#onReceived();
  }
}
