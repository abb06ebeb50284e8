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
/** How many times longer than a relist took its pod rests after it, up to the longest period between relists of all pods. */
const restFactor = 3;
const maxRestMs = 10_000;

interface Lane {
  isRequested: boolean;
  readonly end: Promise<void>;
}

/**
 * The relists of single pods. No pod waits for the runtime's answer for another one, and a pod is inspected once at a time:
 * requests in the meantime become one relist after it. A relist of a pod with thousands of containers takes long, and such a
 * pod can have an event at any time, so a pod rests after each relist for three times as long as that took.
 */
export class PodRelists {
  readonly #options: PodRelistsOptions;
  readonly #slots: Semaphore;
  /** By UID, of the pods that are inspected, wait for that, or rest. */
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

  /** Resolves when no relist is in progress; only once the signal is aborted does none begin after that. */
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
