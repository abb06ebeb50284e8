/** How far an urgent pod may jump ahead of a routine one. */
const ageingMs = 5_000;

/**
 * Pods ready to be synced, each at most once. Two tiers, each FIFO. Urgent pods go first. Once a
 * routine pod has aged, every second turn goes to routine pods, so that no pod starves; only every
 * second, because a long backlog would otherwise delay pods that become Ready.
 * Divergence: the kubelet syncs in the order of its map.
 */
export class SyncQueue {
  /** UID → when it was enqueued; insertion order is FIFO order. */
  readonly #urgent = new Map<string, number>();
  readonly #routine = new Map<string, number>();
  #wasLastUrgent = false;

  get size(): number {
    return this.#urgent.size + this.#routine.size;
  }

  /** Enqueues the pod. A queued pod keeps its position, or moves to the urgent tier. */
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
    const isRoutineNext = this.#wasLastUrgent && routineSinceMs + ageingMs <= urgentSinceMs;
    const isUrgentNext = urgentUID !== undefined && !isRoutineNext;
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
