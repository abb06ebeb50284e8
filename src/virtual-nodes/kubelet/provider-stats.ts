import { type PodStats, requirePodStats } from '../../node/index.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { plainCopy } from '../../shared/plain-data.ts';
import { Expiry } from '../../shared/time.ts';
import type { ProviderCalls } from '../calls/provider-calls.ts';

export interface ProviderStatsOptions {
  readonly calls: Pick<ProviderCalls, 'bounded'>;
  readonly clock: Clock;
  /** Aborted when the process stops its nodes. */
  readonly signal: AbortSignal;
}

/** Source: kubelet, `housekeepingInterval` of cAdvisor. */
const maxAgeMs = 10_000;

/** The statistics of all pods, from at most one call of the provider in ten seconds. */
export class ProviderStats {
  readonly #options: ProviderStatsOptions;
  #last: { readonly stats: Promise<readonly PodStats[]>; readonly expiry: Expiry } | undefined;

  constructor(options: ProviderStatsOptions) {
    this.#options = options;
  }

  /** Rejects if the call fails or times out; the next request then calls the provider again. */
  list(): Promise<readonly PodStats[]> {
    const { calls, clock, signal } = this.#options;
    if (this.#last !== undefined && !this.#last.expiry.isOver) return this.#last.stats;
    const stats = calls.bounded('stats', signal, async (options, provider) =>
      requirePodStats(plainCopy((await provider.stats?.(options)) ?? [], 'stats()'), 'stats()'),
    );
    const last = { stats, expiry: new Expiry(clock, maxAgeMs) };
    this.#last = last;
    stats.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    return stats;
  }
}

/** The statistics of `pods` and of containers in their specs. Names are those of the API server. */
export function podStatsOf(pods: readonly ValidPod[], stats: readonly PodStats[]): PodStats[] {
  const byUID = new Map(stats.map((one) => [one.podRef.uid, one]));
  return pods.flatMap(({ metadata: { uid, name, namespace }, spec }) => {
    const found = byUID.get(uid);
    if (found === undefined) return [];
    const names = new Set(spec?.containers?.map((container) => container.name));
    return {
      ...found,
      podRef: { uid, name, namespace },
      containers: found.containers.filter((one) => names.has(one.name)),
    };
  });
}
