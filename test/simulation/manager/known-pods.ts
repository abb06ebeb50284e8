interface KnownPod {
  readonly uid: string;
  readonly fromMs: number;
  toMs: number;
}

/** Removed pods are synced for this long, until the caller removes their statuses. */
const removalMs = 5_000;

/** Which pods of a name a process has known, and when. */
export class KnownPods {
  readonly #byName = new Map<string, KnownPod[]>();

  added(name: string, uid: string, atMs: number): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), { uid, fromMs: atMs, toMs: Number.POSITIVE_INFINITY }]);
  }

  removed(name: string, uid: string, atMs: number): void {
    for (const pod of this.#byName.get(name) ?? [])
      if (pod.uid === uid) pod.toMs = Math.min(pod.toMs, atMs + removalMs);
  }

  /** Whether it has known only one of this name between these times. */
  isOne(name: string, fromMs: number, toMs: number): boolean {
    const known = (this.#byName.get(name) ?? []).filter((pod) => pod.fromMs <= toMs && pod.toMs >= fromMs);
    return new Set(known.map(({ uid }) => uid)).size === 1;
  }
}
