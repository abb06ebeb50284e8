/**
 * Decides which static pod runs under a full name: one at a time, and those that wait start in the
 * order in which they came. Source: kubelet `allowStaticPodStart`.
 */
export class StaticPodStarts {
  readonly #started = new Map<string, string>();
  readonly #waiting = new Map<string, readonly string[]>();

  /** The UIDs that run, by full name. */
  get started(): ReadonlyMap<string, string> {
    return this.#started;
  }

  /** The UIDs that wait, first come first, by full name. */
  get waiting(): ReadonlyMap<string, readonly string[]> {
    return this.#waiting;
  }

  /** Puts a pod behind those that wait for the name. */
  wait(fullName: string, uid: string): void {
    this.#waiting.set(fullName, [...(this.#waiting.get(fullName) ?? []), uid]);
  }

  /**
   * True when the pod may start, or has started. Pods for which `isWaiting` is false are passed over:
   * they have ended before they could start.
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

  /** The pod has ended, so that the next one may start. Does nothing for a pod that has not started. */
  end(fullName: string, uid: string): void {
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
  }
}
