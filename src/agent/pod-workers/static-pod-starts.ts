/**
 * Decides which static pod runs under a full name: one at a time, in the order in which they were
 * enqueued. Source: kubelet `allowStaticPodStart`.
 */
export class StaticPodStarts {
  readonly #started = new Map<string, string>();
  readonly #waiting = new Map<string, readonly string[]>();

  /** The UIDs of started pods, by full name. */
  get started(): ReadonlyMap<string, string> {
    return this.#started;
  }

  /** The UIDs of waiting pods in order, by full name. */
  get waiting(): ReadonlyMap<string, readonly string[]> {
    return this.#waiting;
  }

  /** Enqueues a pod that waits for the name. */
  wait(fullName: string, uid: string): void {
    this.#waiting.set(fullName, [...(this.#waiting.get(fullName) ?? []), uid]);
  }

  /**
   * True when the pod may start, or has started. Pods for which `isWaiting` is false are skipped,
   * because they have ended before they could start.
   */
  allow(fullName: string, uid: string, isWaiting: (uid: string) => boolean): boolean {
    const startedUID = this.#started.get(fullName);
    if (startedUID !== undefined) return startedUID === uid;

    const waiting = this.#waiting.get(fullName) ?? [];
    const first = waiting.findIndex(isWaiting);
    if (first >= 0 && waiting[first] !== uid) {
      this.#waiting.set(fullName, waiting.slice(first));
      return false;
    }
    const rest = first < 0 ? waiting : waiting.slice(first + 1);
    if (rest.length > 0) this.#waiting.set(fullName, rest);
    else this.#waiting.delete(fullName);
    this.#started.set(fullName, uid);
    return true;
  }

  /** Call it when the pod has ended, so that the next one may start. Does nothing for a pod that has not started. */
  end(fullName: string, uid: string): void {
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
  }
}
