import type { PodConfigUpdate } from '../config/pod-config.ts';
import type { PodLifecycleEvent } from '../pleg/pod-lifecycle-event.ts';
import type { ProbeType, ProbeUpdate } from '../prober/probe-results.ts';

/**
 * What the sync loop receives, in order of arrival. The senders have it before the loop exists, as the
 * kubelet's have a Go channel. Source: kubelet `syncLoopIteration`.
 */
export class SyncLoopChannels {
  readonly configUpdates: PodConfigUpdate[] = [];
  readonly lifecycleEvents: PodLifecycleEvent[] = [];
  readonly probeUpdates: { readonly probeType: ProbeType; readonly update: ProbeUpdate }[] = [];
  #onReceived: () => void = () => {};

  /** Sets what is called after each item. */
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
