import { type Clock, sleep } from '../../shared/clock.ts';
import { Semaphore } from '../../shared/semaphore.ts';

export interface PodRelistsOptions {
  /** Inspects one pod in the runtime. Never rejects. */
  readonly relist: (podUID: string) => Promise<void>;
  readonly clock: Clock;
  /** No relist begins after it is aborted. */
  readonly signal: AbortSignal;
}

/** Pods that are inspected at the same time. */
const maxParallel = 64;
/** How many times as long as its relist took a pod rests after it, at most the longest period between relists of all pods. */
const restFactor = 3;
const maxRestMs = 10_000;

interface Lane {
  isRequested: boolean;
  readonly end: Promise<void>;
}

/**
 * The relists of single pods. No pod waits for the runtime's response for another pod. Only one relist of a pod is in
 * progress; requests in the meantime become one relist after it. A pod with thousands of containers takes long to relist and
 * can have events all the time, so each pod rests after a relist for three times as long as it took.
 */
export class PodRelists {
  readonly #options: PodRelistsOptions;
  readonly #slots: Semaphore;
  /** By UID: the pods that are being inspected, wait for it, or rest. */
  readonly #lanes = new Map<string, Lane>();

  constructor(options: PodRelistsOptions) {
    this.#options = options;
    this.#slots = new Semaphore({ size: maxParallel, clock: options.clock });
  }

  /** A relist of the pod begins after this, as soon as possible. */
  request(podUID: string): void {
    const known = this.#lanes.get(podUID);
    if (known !== undefined) {
      known.isRequested = true;
      return;
    }
    const lane: Lane = { isRequested: true, end: Promise.resolve().then(() => this.#run(podUID, lane)) };
    this.#lanes.set(podUID, lane);
  }

  /** Resolves when no relist is in progress. Another one may begin unless the signal is aborted. */
  async whenIdle(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(({ end }) => end));
  }

  async #run(podUID: string, lane: Lane): Promise<void> {
    const { relist, clock, signal } = this.#options;
    while (lane.isRequested && !signal.aborted) {
      if (!this.#slots.tryAcquire()) await this.#slots.acquire(signal).catch(() => {});
      if (signal.aborted) break;
      lane.isRequested = false;
      const startedMs = clock.monotonicMs();
      await relist(podUID).finally(() => this.#slots.release());
      const tookMs = clock.monotonicMs() - startedMs;
      if (tookMs > 0) await sleep(clock, Math.min(restFactor * tookMs, maxRestMs), signal);
    }
    this.#lanes.delete(podUID);
  }
}
