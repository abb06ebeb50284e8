/** @import { NodeRow, PodRow, PodWait, StatusDocument } from '../status-document.ts' */
/** @import { TimelineEntry } from '../timeline.ts' */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * A duration as kubectl prints it: `41s`, `3m20s`, `5h2m`, `2d3h`.
 *
 * @param {number} ms
 */
export function duration(ms) {
  const positive = Math.max(0, ms);
  if (positive < 2 * minute) return `${Math.floor(positive / second)}s`;
  if (positive < hour) return joined(positive, minute, 'm', second, 's');
  if (positive < day) return joined(positive, hour, 'h', minute, 'm');
  return joined(positive, day, 'd', hour, 'h');
}

/**
 * @param {number} ms
 * @param {number} great
 * @param {string} greatUnit
 * @param {number} small
 * @param {string} smallUnit
 */
function joined(ms, great, greatUnit, small, smallUnit) {
  const rest = Math.floor((ms % great) / small);
  return `${Math.floor(ms / great)}${greatUnit}${rest === 0 ? '' : `${rest}${smallUnit}`}`;
}

/** The times have whole seconds, so that an age below two seconds may be none. */
const justNowMs = 2 * second;

/**
 * `just now`, or the age with the words around it: `for 41s`, `41s ago`.
 *
 * @param {string} time
 * @param {number} nowMs
 */
export function age(time, nowMs, before = '', after = '') {
  const ageMs = nowMs - Date.parse(time);
  return ageMs < justNowMs ? 'just now' : `${before}${duration(ageMs)}${after}`;
}

/**
 * The time of day in UTC, with the date when it is not today's.
 *
 * @param {string | number} time
 * @param {number} nowMs
 */
export function clockTime(time, nowMs) {
  const [date, timeOfDay = ''] = new Date(time).toISOString().replace(/\..*/, '').split('T');
  return new Date(nowMs).toISOString().startsWith(`${date}T`) ? timeOfDay : `${date} ${timeOfDay}`;
}

/** @type {Readonly<Record<PodWait['kind'], string>>} */
const waits = {
  'no-client': 'a client, which the manager does not have',
  'not-running': 'the manager, which is not running',
  'mirror-pod': 'mirror pod',
  response: 'response',
  connection: 'connection',
  limiter: 'rate limit (qps)',
  'retry-after': 'pause that the API server asked for',
  turn: 'turn: other pods are in flight',
  syncing: 'nothing: its sync is in progress',
  'back-off': 'back-off',
  'hot-loop': 'back-off: what is written is undone',
  'pod-deletion-safety': 'containers that could be running',
  'next-batch': 'next batch',
  finalizers: 'finalizers',
  containers: 'containers to stop',
  sandbox: 'sandbox to stop',
  provider: 'next try of the provider',
};

/**
 * @param {PodRow} pod
 * @param {number} nowMs
 */
export function waitText({ waitingFor, nextTryAt }, nowMs) {
  if (waitingFor === undefined) return '';
  if (waitingFor.kind === 'provider') return `${waits.provider}, failing ${age(waitingFor.since, nowMs, 'for ')}`;
  if (waitingFor.kind === 'finalizers') return `finalizers: ${waitingFor.finalizers.join(', ')}`;
  if ('gracePeriodEndsAt' in waitingFor) {
    const { gracePeriodSeconds, gracePeriodEndsAt } = waitingFor;
    const isOver = Date.parse(gracePeriodEndsAt) < nowMs;
    return `${waits[waitingFor.kind]}; grace period of ${gracePeriodSeconds}s${isOver ? ' is over' : ''}`;
  }
  const { kind, verb, class: failureClass, statusCode, tries } = waitingFor;
  const parts = [waits[kind]];
  if (kind === 'back-off') {
    parts.push(
      `after ${[verb?.toUpperCase(), statusCode, failureClass].filter((part) => part !== undefined).join(' ')}`,
    );
    if (tries !== undefined && tries > 1) parts.push(`(${tries} times)`);
  } else if (verb !== undefined) {
    parts.push(`to ${verb.toUpperCase()}`);
  }
  const text = parts.join(' ');
  const isPaused = kind === 'back-off' || kind === 'hot-loop' || kind === 'retry-after';
  if (!isPaused || nextTryAt === undefined) return text;
  const remainingMs = Date.parse(nextTryAt) - nowMs;
  return remainingMs < second ? `${text}, next try due` : `${text}, next try in ${duration(remainingMs)}`;
}

/**
 * One line for an entry of the timeline; `detail` has the message of the API server or the kubelet.
 *
 * @param {TimelineEntry} entry
 * @param {number} nowMs
 * @returns {{ readonly text: string, readonly detail: string, readonly isFailure: boolean }}
 */
export function entryText(entry, nowMs) {
  switch (entry.kind) {
    case 'phase':
      return { text: `Phase ${change(entry.from, entry.to)}`, detail: '', isFailure: entry.to === 'Failed' };
    case 'condition': {
      const detail = [entry.reason, entry.message].filter(Boolean).join(': ');
      return { text: `${entry.type} ${change(entry.from, entry.to)}`, detail, isFailure: false };
    }
    default: {
      const { outcome, version, reason, error = '', times, nextTryAt } = entry;
      const parts = [`Version ${version} ${outcomes[outcome]}`];
      if (reason !== undefined) parts.push(`(${reason})`);
      if (times > 1) parts.push(`${times} times`);
      const next = nextTryAt === undefined ? '' : `; next try at ${clockTime(nextTryAt, nowMs)}`;
      return { text: parts.join(' ') + next, detail: error, isFailure: error !== '' || outcome === 'hot-loop' };
    }
  }
}

/** @type {Readonly<Record<Extract<TimelineEntry, { kind: 'outcome' }>['outcome'], string>>} */
const outcomes = {
  written: 'written',
  unchanged: 'not sent: the API server showed it already',
  superseded: 'superseded by a newer one',
  gone: 'dropped by the manager',
  reconciled: 'written again',
  'deletion-requested': 'sent; deletion requested, finalizers keep the pod',
  deleted: 'sent; the pod was deleted',
  'hot-loop': 'written, and undone by another writer',
  refused: 'refused by the API server',
  forbidden: 'forbidden by the API server',
  retried: 'failed',
};

/**
 * @param {string | undefined} from
 * @param {string | undefined} to
 */
function change(from, to) {
  if (to === undefined) return `removed (was ${from})`;
  return from === undefined || from === to ? to : `${from} → ${to}`;
}

/**
 * The problems of the manager, one sentence each. Without ages, because screen readers read each
 * change aloud.
 *
 * @param {StatusDocument} status
 * @param {number} nowMs
 */
export function problemsOf(status, nowMs) {
  const { state, requestFailure, informer, journalFailure, problems: others } = status;
  const problems = [...others];
  if (requestFailure !== undefined) {
    const { since, verb, statusCode, message } = requestFailure;
    const code = statusCode === undefined ? 'without a response' : `with ${statusCode}`;
    problems.push(
      `The manager has not been able to write a status since ${clockTime(since, nowMs)}Z: ${verb.toUpperCase()} fails ${code} (${message}).`,
    );
  }
  const refused = requestFailure === undefined ? refusedWrites(status.pods) : [];
  if (refused.length > 0) {
    const since = refused.map(({ unsentSince = '' }) => unsentSince).sort()[0] ?? '';
    problems.push(
      `The API server refuses every write of a status with 403; the oldest is unsent since ${clockTime(since, nowMs)}Z (${refused[0]?.lastError}).`,
    );
  }
  if (state !== 'running') problems.push(managerStates[state]);
  if (informer !== undefined) problems.push(...problemsOfInformer(informer, nowMs));
  if (journalFailure !== undefined) {
    const { failingSince, reason } = journalFailure;
    problems.push(
      `The journal has not recorded statuses since ${clockTime(failingSince, nowMs)}Z (${reason}): a crash would lose them.`,
    );
  }
  return problems;
}

/** @param {readonly NodeRow[]} nodes */
export function nodesSummary(nodes) {
  const running = nodes.filter(({ state }) => state === 'running').length;
  const failing = nodes.filter(({ problem }) => problem !== undefined).length;
  const total = `${nodes.length.toLocaleString('en')} virtual ${nodes.length === 1 ? 'node' : 'nodes'}`;
  return `${total}: ${running} running in this process, ${failing} with a problem`;
}

/** @param {NodeRow} node */
export function nodeState({ state, owner }) {
  if (state !== 'notOwned') return state;
  return owner === undefined ? 'not owned' : 'in another process';
}

/** @type {Readonly<Record<Exclude<StatusDocument['state'], 'running'>, string>>} */
const managerStates = {
  created: 'The status manager has not been started: no status is written until start() is called.',
  stopping: 'The status manager is stopping: statuses that are set now may not be written.',
  stopped: 'The status manager has been stopped: no status is written any more.',
};

/**
 * The pods whose status is refused with 403, if no other unsent status could be written.
 *
 * @param {readonly PodRow[]} pods
 */
function refusedWrites(pods) {
  const unsent = pods.filter(({ unsentSince }) => unsentSince !== undefined);
  const isRefused = (/** @type {PodRow} */ { waitingFor }) =>
    waitingFor?.kind === 'back-off' && waitingFor.statusCode === 403;
  const isInFlight = (/** @type {PodRow} */ { waitingFor }) =>
    waitingFor?.kind === 'response' || waitingFor?.kind === 'connection';
  return unsent.every((pod) => isRefused(pod) || isInFlight(pod)) ? unsent.filter(isRefused) : [];
}

/** The length of an error in the table: as much as fits into its lines. */
const shownErrorLength = 136;

/**
 * Shortens an error in its middle: its reason and object are at the beginning, and for a 403 the verb is at the end.
 *
 * @param {string} error
 */
export function shortError(error) {
  if (error.length <= shownErrorLength) return error;
  const head = Math.ceil(shownErrorLength * 0.4);
  return `${error.slice(0, head)} … ${error.slice(head - shownErrorLength)}`;
}

/**
 * @param {NonNullable<StatusDocument['informer']>} informer
 * @param {number} nowMs
 */
function problemsOfInformer({ isSynced, failure }, nowMs) {
  const why =
    failure === undefined ? '' : `it has failed since ${clockTime(failure.failingSince, nowMs)}Z: ${failure.reason}`;
  if (!isSynced) return [`The informer has not listed the pods yet${why && `; ${why}`}.`];
  return why === '' ? [] : [`The informer does not see changes of pods; ${why}.`];
}
