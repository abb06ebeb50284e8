import type { Clock, PodSpec, PodStatusInput } from 'kubelet-status-manager';

/** What happens to the containers of a pod: how each run of each ends. The same for the kubelet and for a cloud. */
export interface Course {
  readonly spec: Partial<PodSpec>;
  /** Undefined: it runs on. `run` counts from 0. */
  readonly end: (
    containerName: string,
    run: number,
  ) => { readonly afterMs: number; readonly exitCode: number } | undefined;
  readonly forMs: number;
  /**
   * A container whose restartCount is not compared, because it has not run in each run of the pod: on a virtual node, it counts
   * the restarts of the pod. Declared in docs/parity.md.
   */
  readonly uncounted?: string | undefined;
}

/** What a pod's status shows, without times, addresses and IDs. */
function shownOf(status: PodStatusInput | null | undefined, uncounted: string | undefined): unknown {
  const end = (terminated: { readonly exitCode?: unknown; readonly reason?: unknown } | null | undefined) =>
    terminated == null ? undefined : [terminated.exitCode, terminated.reason];
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
    ({ name, restartCount, ready, started, state, lastState }) => ({
      ...{ name, ready, started, restartCount: name === uncounted ? undefined : restartCount },
      waiting: state?.waiting == null ? undefined : [state.waiting.reason, state.waiting.message],
      isRunning: state?.running != null,
      terminated: end(state?.terminated),
      lastTerminated: end(lastState?.terminated),
    }),
  );
  const conditions = (status?.conditions ?? [])
    .map(({ type, status: value, reason, message }) => [type, value, reason, message].join(' '))
    .toSorted();
  return { phase: status?.phase, reason: status?.reason, conditions, containers };
}

/** What is shown for at least three seconds, one after the other, and for how long. */
export class Timeline {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #uncounted: string | undefined;
  readonly #entries: { readonly shown: unknown; readonly text: string; readonly atMs: number }[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>, { uncounted }: Pick<Course, 'uncounted'>) {
    this.#clock = clock;
    this.#uncounted = uncounted;
  }

  add(status: PodStatusInput | null | undefined): void {
    const shown = shownOf(status, this.#uncounted);
    const text = JSON.stringify(shown);
    if (this.#entries.at(-1)?.text !== text) this.#entries.push({ shown, text, atMs: this.#clock.monotonicMs() });
  }

  /** @property seconds of the last one: 0 */
  lasting(): { readonly shown: unknown; readonly seconds: number }[] {
    return this.#entries.flatMap(({ shown, atMs }, i) => {
      const nextMs = this.#entries[i + 1]?.atMs;
      if (nextMs === undefined) return { shown, seconds: 0 };
      return nextMs - atMs < 3000 ? [] : { shown, seconds: Math.round((nextMs - atMs) / 1000) };
    });
  }
}
