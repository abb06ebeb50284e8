import { isUnrelatedToNode } from '../../kube/access/node-relationship.ts';
import type { APIError } from '../../kube/client/api-error.ts';
import type { RequestVerb } from '../../kube/client/pod-client.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { statusFields } from '../../shared/log-fields.ts';
import { isBeingDeleted } from '../status/deletion.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import { type PodBackOff, nextBackOff, withoutWait } from './back-off.ts';
import {
  type FailureClassRow,
  type FailureEvent,
  type FailureLogEntry,
  type GroupedFailure,
  failureClassTable,
  unknownError,
} from './failure-classes.ts';
import type { PodRecord } from './pod-records.ts';
import type { NewStatusEvent } from './status-events.ts';
import type { OutcomeDetails } from './status-outcome.ts';
import type { Result, SentResult, SyncFailure } from './sync-result.ts';

/** What follows from the result of a sync. An absent field has no effect. */
export interface Consequences {
  /** The pod's back-off entry from now on; undefined: it does not wait. */
  readonly backOff: PodBackOff | undefined;
  readonly log?: LogEntry | undefined;
  readonly event?: NewStatusEvent | undefined;
  readonly outcome?: OutcomeDetails;
  /** A GET or PATCH of the pod was permitted. */
  readonly isPermitted?: boolean;
  /** A failure that many pods may have at once; it is then logged once for all of them. */
  readonly group?:
    | { readonly failure: GroupedFailure; readonly verb: RequestVerb; readonly reason: string }
    | undefined;
  /** What the result says about the load of the API server. */
  readonly load?: 'served' | { readonly pauseMs: number | undefined } | undefined;
  /** The terminal phase is held back. */
  readonly isHeldBack?: boolean;
  /** The finalizers that keep the object after its DELETE. */
  readonly finalizers?: readonly string[] | undefined;
}

interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn';
  readonly fields: object;
  readonly message: string;
}

/** The facts on which the consequences of a result depend. */
export interface ResultFacts {
  readonly nowMs: number;
  /** Returns a number in [0, 1) for the jitter. */
  readonly random: () => number;
  /** The pod manager's pod; undefined if it has none. */
  readonly pod: Pod | undefined;
  /** Its API object as the pod manager has it: the pod itself or its mirror. */
  readonly apiPod: Pod | undefined;
  /** No status can be written. */
  readonly isOutage: boolean;
  /** Whether so many pods fail like this that they are logged together. */
  readonly isOneOfMany: (failure: GroupedFailure) => boolean;
}

type Known = Pick<PodRecord, 'uid' | 'backOff' | 'lastPatch'>;

/** A pod that fails this long while others are written is logged once at warn. */
const lastingAfterMs = 60_000;

/** A pod that was never written and may be gone is logged at warn after this: it may never have existed. */
const unknownAfterMs = 5_000;

/** What follows from a result for the pod, its user and the API server. Pure. */
export function consequencesOf(result: Result, known: Known, facts: ResultFacts): Consequences {
  switch (result.kind) {
    case 'in-sync':
      return inSync(known, facts);
    case 'deleted':
    case 'deletion-requested':
      return {
        backOff: undefined,
        outcome: { outcome: result.kind },
        finalizers: result.kind === 'deleted' ? undefined : result.finalizers,
      };
    case 'written':
    case 'unchanged':
      return {
        isPermitted: true,
        load: result.kind === 'written' ? 'served' : undefined,
        isHeldBack: result.isHeldBack,
        ...ofSent(result, known, facts),
      };
    case 'failed':
      return ofFailure(result, known, facts);
    default:
      return result satisfies never;
  }
}

function ofSent({ deletionDue, isHotLoop, versioned }: SentResult, known: Known, facts: ResultFacts): Consequences {
  // After a failed DELETE, the pod counts as failed until a DELETE succeeds.
  if (deletionDue !== undefined) return { backOff: known.backOff };
  if (!isHotLoop) return recovery(known, facts);
  const cause = {
    reason: 'hot-loop',
    version: versioned.version,
    message: 'The API server does not keep what is written',
    isShown: facts.pod !== undefined,
  } as const;
  const backOff = nextBackOff(known.backOff, cause, facts.nowMs, facts.random);
  const { fields = [], managers = [] } = known.lastPatch?.hotLoop ?? {};
  const by = managers.length === 0 ? 'the API server or another writer' : managers.join(', ');
  return {
    backOff,
    event: { reason: 'StatusHotLoop', message: `Status fields ${fields.join(', ')} keep being undone by ${by}` },
    outcome: { outcome: 'hot-loop', nextTryInMs: nextTryOf(backOff) },
  };
}

/** No request has succeeded, so the back-off ends only when the `Retry-After` of the last one is over. */
function inSync(known: Known, facts: ResultFacts): Consequences {
  const pause = withoutWait(known.backOff, facts.nowMs);
  return pause === undefined ? recovery(known, facts) : { backOff: pause };
}

/** The pod's back-off ends. */
function recovery({ backOff: ended, uid }: Known, { nowMs, pod }: ResultFacts): Consequences {
  if (ended?.isLoggedAtWarn !== true) return { backOff: undefined };
  const { verb, reason: failure, sinceMs, tries: failures } = ended;
  const failedForMs = Math.round(nowMs - sinceMs);
  const fields = { ...podFieldsOf(pod ?? { metadata: { uid } }), verb, failure, failures, failedForMs };
  return { backOff: undefined, log: { level: 'info', fields, message: 'Requests for the pod succeed again' } };
}

function ofFailure({ versioned, verb, failure, error }: SyncFailure, known: Known, facts: ResultFacts): Consequences {
  const { message, statusCode, retryAfterMs: atLeastMs } = error;
  const { version } = versioned;
  const isShown = facts.pod !== undefined;
  const cause = { reason: failure, version, verb, statusCode, message, isShown, atLeastMs };
  const entry = nextBackOff(known.backOff, cause, facts.nowMs, facts.random);
  const nextTryInMs = nextTryOf(entry);
  const row = failureClassTable[failure];
  const line = lineOf(row, error, facts);
  const failedForMs = facts.nowMs - entry.sinceMs;
  const isUnknown =
    row.mayMeanGone && line.level === 'debug' && versioned.sentAtMs === undefined && failedForMs >= unknownAfterMs;
  // A pod that is gone for a moment is not logged, so it does not count.
  const grouped = isUnknown || (line === row && row.level === 'warn') ? row.groupedAs : undefined;
  const isOneOfMany = grouped !== undefined && facts.isOneOfMany(grouped);
  // No permission is missing if the next try succeeds.
  const firstLevel = grouped !== undefined && isUnrelatedToNode(message) ? line.repeatedLevel : line.level;
  // What is known at warn is repeated at debug only.
  const repeatedLevel = entry.isLoggedAtWarn && line.repeatedLevel === 'info' ? 'debug' : line.repeatedLevel;
  const isRepeated =
    known.backOff?.reason === failure && (row.outcome !== 'refused' || known.backOff.message === message);
  const ownLevel = isRepeated ? repeatedLevel : firstLevel;
  const laterLevel = isOneOfMany ? 'debug' : ownLevel;
  // The pod alone has failed for so long that it is logged at warn, once.
  const lasts =
    isUnknown || ((firstLevel === 'info' || (row.isOutage && line === row)) && failedForMs >= lastingAfterMs);
  const level = lasts && !isOneOfMany && !entry.isLoggedAtWarn && !facts.isOutage ? 'warn' : laterLevel;
  return {
    backOff: level === 'warn' ? { ...entry, isLoggedAtWarn: true } : entry,
    log: {
      level,
      fields: { ...statusFields(known.uid, versioned), verb, failure, nextTryInMs, reason: message },
      message: verb === 'delete' ? line.deletionMessage : line.message,
    },
    event: isShown || !row.mayMeanGone ? eventOf(row.event, verb, entry) : undefined,
    outcome:
      row.outcome === 'retried'
        ? { outcome: row.outcome, failure, error, nextTryInMs }
        : { outcome: row.outcome, error, nextTryInMs },
    group: grouped && { failure: grouped, verb, reason: message },
    load: row.pausesClient ? { pauseMs: atLeastMs } : undefined,
  };
}

/** The failure may mean that the pod is gone. */
export function mayBeGone(entry: PodBackOff | undefined): boolean {
  return entry !== undefined && entry.reason !== 'hot-loop' && failureClassTable[entry.reason].mayMeanGone;
}

/** A node's user gets 403, not 404, for a deleted pod. */
function lineOf(row: FailureClassRow, error: APIError, { pod, apiPod }: ResultFacts): FailureLogEntry {
  if (error.kind === 'unknown') return unknownError;
  if (!row.mayMeanGone || row.level === 'debug') return row;
  if (pod === undefined) return { ...row, level: 'debug', repeatedLevel: 'debug' };
  // The API server deletes a terminal pod without a grace period; the watch event follows shortly after.
  const isLeaving = isBeingDeleted(apiPod!) || isPodPhaseTerminal(apiPod!.status?.phase);
  return isLeaving ? { ...row, level: 'info', repeatedLevel: 'info' } : row;
}

function eventOf(
  event: FailureEvent | undefined,
  verb: RequestVerb,
  { failedAtMs, message, sinceMs }: PodBackOff,
): NewStatusEvent | undefined {
  if (event === undefined || failedAtMs - sinceMs < event.afterMs) return undefined;
  if (verb !== 'delete') return { reason: 'FailedStatusUpdate', message: `${event.message}: ${message}` };
  const { deletionMessage } = event;
  if (deletionMessage === undefined) return undefined;
  return { reason: 'StuckTerminating', message: `${deletionMessage}: ${message}`, condition: verb };
}

/** Milliseconds until the same version is retried. */
function nextTryOf({ dueMs, failedAtMs }: PodBackOff): number {
  return Math.ceil(dueMs - failedAtMs);
}
