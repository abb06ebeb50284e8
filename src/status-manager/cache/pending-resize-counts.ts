import type { PendingResizeCount, PriorityBucket } from '../metrics.ts';
import type { Pod } from '../../kube/objects/types.ts';

/** Maximum number of unknown pods that each `counts()` looks up again; bounds its cost. */
const maxRechecks = 16;

interface Count {
  readonly reason: string;
  readonly priorityBucket: PriorityBucket;
  count: number;
}

/**
 * Counts pods with a pending resize by reason and priority. Updated incrementally: a full recount took
 * 1.3 ms per change with 5,000 pods.
 *
 * Divergence: the kubelet recounts all pods at each change and skips those unknown to the pod manager.
 * Here a pod that the pod manager no longer knows is counted until its conditions are cleared, its
 * status is dropped, or orphaned statuses are removed.
 */
export class PendingResizeCounts {
  /** By reason and bucket, in order of insertion; entries with a count of 0 are removed. */
  readonly #counts = new Map<string, Count>();
  readonly #countedAs = new Map<string, Count>();
  /** Pod UID → reason, for pending pods that the pod manager did not know at the last lookup; oldest lookup first. */
  readonly #unknown = new Map<string, string>();
  readonly #getPod: (uid: string) => Pod | undefined;

  constructor(getPod: (uid: string) => Pod | undefined) {
    this.#getPod = getPod;
  }

  /** @param reason why the pod's resize is pending; undefined when it is not */
  set(uid: string, reason: string | undefined): void {
    this.#remove(uid);
    if (reason !== undefined) this.#lookUp(uid, reason.toLowerCase());
  }

  /** Looks up all pods in the pod manager again. */
  recount(): void {
    for (const [uid, counted] of [...this.#countedAs]) {
      if (this.#getPod(uid) === undefined) this.set(uid, counted.reason);
    }
    for (const [uid, reason] of [...this.#unknown]) this.#lookUp(uid, reason);
  }

  counts(): PendingResizeCount[] {
    for (const [uid, reason] of [...take(this.#unknown, maxRechecks)]) this.#lookUp(uid, reason);
    return Array.from(this.#counts.values(), (count) => ({ ...count }));
  }

  #lookUp(uid: string, reason: string): void {
    const pod = this.#getPod(uid);
    this.#unknown.delete(uid);
    if (pod === undefined) {
      this.#unknown.set(uid, reason);
      return;
    }
    const bucket = priorityBucket(pod);
    const key = `${reason}/${bucket}`;
    const counted = this.#counts.get(key) ?? { reason, priorityBucket: bucket, count: 0 };
    counted.count++;
    this.#counts.set(key, counted);
    this.#countedAs.set(uid, counted);
  }

  #remove(uid: string): void {
    this.#unknown.delete(uid);
    const counted = this.#countedAs.get(uid);
    if (counted === undefined) return;
    this.#countedAs.delete(uid);
    if (--counted.count === 0) this.#counts.delete(`${counted.reason}/${counted.priorityBucket}`);
  }
}

function* take<T>(values: Iterable<T>, limit: number): Generator<T, void> {
  let taken = 0;
  for (const value of values) {
    if (taken++ === limit) return;
    yield value;
  }
}

/** Source: kubelet `metrics.GetPriorityBucketLabel`. */
export function priorityBucket(pod: Pod | undefined): PriorityBucket {
  if (pod === undefined) return 'unknown';
  const priority = pod.spec?.priority ?? 0;
  if (priority === 0) return 'normal';
  if (priority >= 2_000_000_000) return 'system-critical';
  if (priority >= 100_000) return 'high';
  if (priority > 0) return 'medium';
  return priority > -1000 ? 'low' : 'very-low';
}
