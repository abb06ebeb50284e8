import { failureClassTable } from '../sync/failure-classes.ts';
import type { PodCause } from './explanation.ts';
import { epochMsOf } from '../../shared/time.ts';
import { formatText, formatTime } from './format.ts';

type CauseOf<K extends PodCause['kind']> = Extract<PodCause, { readonly kind: K }>;

/** The causes that need no details. */
const clauses = {
  'not-set': 'setPodStatus was not called for it in this run, so this is what the API object shows',
  'no-client': 'the manager has no client',
  'mirror-pod': 'the mirror pod of this static pod is not known, so there is no API object to write to',
  'retry-after': 'the API server has asked this client to pause',
  turn: 'it is queued behind pods in flight',
  syncing: 'its sync is in progress',
  'next-batch': 'the next batch takes it up',
  'pod-deletion-safety': 'the manager holds its terminal phase back while podCouldHaveRunningContainers returns true',
} as const;

const limits = { qps: 'qps and burst', 'max-in-flight': 'maxInFlight' } as const;

/** Why the pod waits, as a clause. */
export function formatCause(
  cause: Exclude<PodCause, CauseOf<'unknown-pod' | 'up-to-date' | 'dropped'>>,
  lastError: string | undefined,
  nowMs: number,
): string {
  switch (cause.kind) {
    case 'connection':
    case 'response':
      return formatRequest(cause, lastError);
    case 'not-running':
      return cause.state === 'created' ? 'start() was not called' : 'stop() was called';
    case 'limiter':
      return `the request waits for the limiter (${limits[cause.limit]})`;
    case 'back-off':
      return formatFailure(cause);
    case 'hot-loop':
      return formatHotLoop(cause, nowMs);
    case 'containers':
      return formatTermination(cause, nowMs);
    case 'finalizers':
      return `the API object waits for ${plural('finalizer', cause.finalizers)} ${cause.finalizers.join(', ')}`;
    default:
      return clauses[cause.kind];
  }
}

function formatTermination({ termination }: CauseOf<'containers'>, nowMs: number): string {
  if (termination === undefined)
    return 'it is being deleted and waits for its containers to stop (terminatePod was not called)';
  const { since, gracePeriodSeconds, gracePeriodEndsAt, lastError, hasRunningContainers = true } = termination;
  const is = epochMsOf(gracePeriodEndsAt) < nowMs ? 'is over' : `ends at ${formatTime(gracePeriodEndsAt, nowMs)}`;
  const parts = [
    hasRunningContainers
      ? `its containers have been stopping since ${formatTime(since, nowMs)}`
      : `its containers have stopped, and its sandbox has been stopping since ${formatTime(since, nowMs)}`,
    `its grace period of ${gracePeriodSeconds} s ${is}`,
    ...(lastError === undefined ? [] : [`last error: ${formatText(lastError)}`]),
  ];
  return parts.join('; ');
}

function formatRequest({ kind, verb }: CauseOf<'connection' | 'response'>, lastError: string | undefined): string {
  const waits = `${verb.toUpperCase()} waits for a ${kind}`;
  return lastError === undefined ? waits : `${waits}; the last try failed (${formatText(lastError)})`;
}

function formatFailure(cause: CauseOf<'back-off'>): string {
  const { statusCode, verb, message } = cause;
  return failureClassTable[cause.class].explain({
    verb: verb.toUpperCase(),
    statusCode,
    message: formatText(withoutCode(message)),
  });
}

function formatHotLoop({ fields, managers, since, timesSent }: CauseOf<'hot-loop'>, nowMs: number): string {
  const what = fields.length === 0 ? 'what is written' : `${plural('field', fields)} ${fields.join(', ')}`;
  const who =
    managers.length === 0
      ? 'the API server or another writer has'
      : `${plural('manager', managers)} ${managers.join(', ')} ${managers.length === 1 ? 'has' : 'have'}`;
  return `since ${formatTime(since, nowMs)} ${who} undone ${what} each time: the manager wrote it ${timesSent} times`;
}

/** `APIError` puts the code and the reason in front; the sentence has the code already. */
function withoutCode(message: string): string {
  return message.replace(/^\d{3} (?:[A-Za-z]+: )?/, '');
}

function plural(noun: string, list: readonly string[]): string {
  return list.length === 1 ? noun : `${noun}s`;
}
