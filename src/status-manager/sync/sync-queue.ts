/** A routine pod takes turns with urgent ones that were enqueued so much later. */
const ageingMs = 5_000;

/**
 * The pods that are ready to be synced, each at most once. Two tiers, first in first out in each.
 * Urgent pods go first; once a routine pod has aged, every other turn is for routine pods, so that
 * no pod starves; not every turn, because a long backlog would delay pods that become Ready.
 * Divergence: the kubelet has no order but that of its map.
 */
export class SyncQueue {
  /** UID → since when it is ready. A Map keeps the order of insertion. */
  readonly #urgent = new Map<string, number>();
  readonly #routine = new Map<string, number>();
  #wasLastUrgent = false;

  get size(): number {
    return this.#urgent.size + this.#routine.size;
  }

  /** Enqueues the pod; a queued one keeps its place, or moves up when it became urgent. */
  add(uid: string, isUrgent: boolean, nowMs: number): void {
    if (this.#urgent.has(uid)) return;
    if (!isUrgent) {
      if (!this.#routine.has(uid)) this.#routine.set(uid, nowMs);
      return;
    }
    this.#routine.delete(uid);
    this.#urgent.set(uid, nowMs);
  }

  uids(): string[] {
    return [...this.#urgent.keys(), ...this.#routine.keys()];
  }

  /** Since when the pod is queued; undefined when it is not. */
  sinceMs(uid: string): number | undefined {
    return this.#urgent.get(uid) ?? this.#routine.get(uid);
  }

  /** Takes the next pod out of the queue. */
  take(): string | undefined {
    const [urgentUID, urgentSinceMs] = head(this.#urgent);
    const [routineUID, routineSinceMs] = head(this.#routine);
    const isRoutinesTurn = this.#wasLastUrgent && routineSinceMs + ageingMs <= urgentSinceMs;
    const isUrgentNext = urgentUID !== undefined && !isRoutinesTurn;
    const uid = isUrgentNext ? urgentUID : routineUID;
    this.#wasLastUrgent = isUrgentNext;
    if (uid !== undefined) this.remove(uid);
    return uid;
  }

  remove(uid: string): void {
    this.#urgent.delete(uid);
    this.#routine.delete(uid);
  }

  clear(): void {
    this.#urgent.clear();
    this.#routine.clear();
  }
}

function head(tier: Map<string, number>): [string | undefined, number] {
  for (const entry of tier) return entry;
  return [undefined, Number.POSITIVE_INFINITY];
}
