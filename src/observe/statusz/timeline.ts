import type { PodCondition, PodStatus } from '../../kube/objects/types.ts';
import type { StatusOutcome } from '../../status-manager/sync/status-outcome.ts';
import type { Clock } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { Timestamp } from './status-document.ts';

/** One event of a pod. */
export type TimelineEntry = { readonly at: Timestamp } & (
  | { readonly kind: 'phase'; readonly from: string | undefined; readonly to: string | undefined }
  | {
      /** A condition was added (`from` is absent), changed its status or reason, or was removed (`to` is absent). */
      readonly kind: 'condition';
      readonly type: string;
      readonly from: string | undefined;
      readonly to: string | undefined;
      readonly reason: string | undefined;
      readonly message: string | undefined;
    }
  | {
      /** The outcome of a version of the status on the API server. */
      readonly kind: 'outcome';
      readonly outcome: StatusOutcome['outcome'];
      readonly version: number;
      /** Why the status was dropped. */
      readonly reason: string | undefined;
      readonly error: string | undefined;
      readonly statusCode: number | undefined;
      readonly nextTryAt: Timestamp | undefined;
      /** How often this happened to this version, one after the other; `at` is the last time. */
      readonly times: number;
    }
);

type Untimed<Entry> = Entry extends unknown ? Omit<Entry, 'at'> : never;

interface PodTimeline {
  /** Oldest first. */
  readonly entries: TimelineEntry[];
  status: PodStatus | undefined;
}

export interface TimelinesOptions {
  readonly clock: Clock;
  /** Maximum number of entries for one pod; the oldest are dropped. */
  readonly length: number;
  /** Whether the manager still knows the pod. */
  readonly isKnown: (podUID: string) => boolean;
}

/** Timelines of pods that are gone are kept until there are this many, or twice as many as known pods. */
const leastPruned = 256;
/** A condition's message can have 32 KiB; longer texts are truncated to this length. */
const maxTextLength = 1_000;

/** The newest events of each pod. Timelines of pods that are gone are dropped later. */
export class Timelines {
  readonly #options: TimelinesOptions;
  readonly #byPod = new Map<string, PodTimeline>();
  #pruneAt = leastPruned;

  constructor(options: TimelinesOptions) {
    this.#options = options;
  }

  /** Oldest first; undefined if nothing is known about the pod. */
  entriesOf(podUID: string): readonly TimelineEntry[] | undefined {
    return this.#byPod.get(podUID)?.entries;
  }

  /** Records the current state without an entry; the next change is compared with it. */
  startFrom(podUID: string, status: PodStatus | undefined): void {
    this.#timelineOf(podUID).status = status;
  }

  statusChanged(podUID: string, status: PodStatus): void {
    const timeline = this.#timelineOf(podUID);
    this.#add(timeline, changesBetween(timeline.status, status));
    timeline.status = status;
  }

  outcome(outcome: StatusOutcome): void {
    const timeline = this.#timelineOf(outcome.podUID);
    const last = timeline.entries.at(-1);
    const isAgain = last?.kind === 'outcome' && last.outcome === outcome.outcome && last.version === outcome.version;
    if (isAgain) timeline.entries.pop();
    const entry: Untimed<TimelineEntry> = {
      kind: 'outcome',
      outcome: outcome.outcome,
      version: outcome.version,
      reason: 'reason' in outcome ? outcome.reason : undefined,
      error: 'error' in outcome ? bounded(outcome.error.message) : undefined,
      statusCode: 'error' in outcome ? outcome.error.statusCode : undefined,
      nextTryAt:
        'nextTryInMs' in outcome ? timeFromEpochMs(this.#options.clock.now() + outcome.nextTryInMs) : undefined,
      times: isAgain ? last.times + 1 : 1,
    };
    this.#add(timeline, [entry]);
  }

  clear(): void {
    this.#byPod.clear();
  }

  #add({ entries }: PodTimeline, added: readonly Untimed<TimelineEntry>[]): void {
    if (added.length === 0) return;
    const at = timeFromEpochMs(this.#options.clock.now());
    // With this order of fields, V8 needs a third of the memory.
    for (const entry of added) entries.push({ at, ...entry });
    entries.splice(0, entries.length - this.#options.length);
  }

  #timelineOf(podUID: string): PodTimeline {
    let timeline = this.#byPod.get(podUID);
    if (timeline === undefined) {
      if (this.#byPod.size >= this.#pruneAt) this.#prune();
      timeline = { entries: [], status: undefined };
      this.#byPod.set(podUID, timeline);
    }
    return timeline;
  }

  #prune(): void {
    for (const podUID of this.#byPod.keys()) if (!this.#options.isKnown(podUID)) this.#byPod.delete(podUID);
    this.#pruneAt = Math.max(leastPruned, 2 * this.#byPod.size);
  }
}

function changesBetween(previous: PodStatus | undefined, status: PodStatus): Untimed<TimelineEntry>[] {
  const changes: Untimed<TimelineEntry>[] = [];
  if (previous?.phase !== status.phase) changes.push({ kind: 'phase', from: previous?.phase, to: status.phase });
  const before = byType(previous);
  const after = byType(status);
  for (const [type, condition] of after) {
    const old = before.get(type);
    if (old?.status === condition.status && old.reason === condition.reason) continue;
    const { status: to, reason, message } = condition;
    changes.push({ kind: 'condition', type, from: old?.status, to, reason, message: message && bounded(message) });
  }
  for (const [type, { status: from }] of before) {
    if (!after.has(type))
      changes.push({ kind: 'condition', type, from, to: undefined, reason: undefined, message: undefined });
  }
  return changes;
}

function byType(status: PodStatus | undefined): Map<string, PodCondition> {
  return new Map(status?.conditions?.map((condition) => [condition.type, condition]));
}

/** Copies the string, because a substring keeps the complete string in memory. */
function bounded(text: string): string {
  return text.length <= maxTextLength ? text : `${Buffer.from(text.slice(0, maxTextLength)).toString()}…`;
}
