import { epochMsOf } from '../../shared/time.ts';
import type { PodExplanation, ReadyExplanation } from './explanation.ts';
import { formatCause } from './format-cause.ts';
import { formatDuration, formatText, formatTime } from './format.ts';
import type { UnreadyCause } from './unready-causes.ts';

type Explanation = Omit<PodExplanation, 'sentence' | 'toString'>;

/** The explanation as clauses separated by semicolons. Times are short and in UTC. */
export function sentenceOf(explanation: Explanation, nowMs: number): string {
  const { cause, podUID } = explanation;
  if (cause.kind === 'unknown-pod') return `No pod with UID ${podUID} is known.`;
  if (cause.kind === 'dropped') return `${droppedClauses(explanation, cause, nowMs).join('; ')}.`;
  const clauses = [
    ...subjectClauses(explanation, nowMs),
    ...versionClauses(explanation, nowMs),
    ...nextClauses(explanation, nowMs),
  ];
  return `${clauses.join('; ')}.`;
}

/** The pod's current status and its reason. */
function subjectClauses(explanation: Explanation, nowMs: number): string[] {
  const { cause, podNamespace, podName, phase, status, ready, recoveredAt } = explanation;
  const subject = `${podNamespace}/${podName}`;
  if (cause.kind === 'finalizers')
    return [`${subject} has terminated, and the API server accepted its DELETE at ${formatTime(cause.since, nowMs)}`];
  const word = status === phase ? phase : `${status} (phase ${phase})`;
  const shown = phase === undefined || phase === '' ? 'has no phase' : `is ${word}`;
  const clauses = [`${subject} ${shown}${ready === undefined ? '' : `, ${formatReadiness(ready, nowMs)}`}`];
  if (recoveredAt !== undefined) {
    clauses.push(`an earlier run accepted this status at ${formatTime(recoveredAt, nowMs)} and did not send it`);
  }
  return clauses;
}

/** Whether the cached status was sent, and what it waits for. */
function versionClauses(explanation: Explanation, nowMs: number): string[] {
  const { cause, version, sentVersion, unsentSince, lastError } = explanation;
  const isSettled = cause.kind === 'up-to-date' || cause.kind === 'unknown-pod' || cause.kind === 'dropped';
  const waits = isSettled ? [] : [formatCause(cause, lastError, nowMs)];
  if (version === undefined) return waits;
  const sent = formatSent(explanation, nowMs);
  if (unsentSince === undefined) return [...(sent === undefined ? [] : [`version ${version} was ${sent}`]), ...waits];
  const isOlderSent = sent !== undefined && sentVersion !== undefined && sentVersion < version;
  if (cause.kind === 'hot-loop' && sent !== undefined && !isOlderSent)
    return [`version ${version} was ${sent}`, ...waits];
  return [
    `${formatUnsent(explanation, nowMs - epochMsOf(unsentSince))}: ${waits.join('')}`,
    ...(isOlderSent ? [`the API server has version ${sentVersion}, ${sent}`] : []),
  ];
}

/** Times have whole seconds, so a change may be up to two seconds newer than it seems. */
const justNowMs = 2_000;

/** @param forMs age of the oldest unsent change, which may be older than this version */
function formatUnsent({ version, supersedes }: Explanation, forMs: number): string {
  const supersedesText = supersedes === undefined ? '' : ` supersedes version ${supersedes}`;
  if (forMs < justNowMs)
    return `version ${version} was set just now${supersedesText === '' ? '' : ` and${supersedesText}`}`;
  if (supersedes === undefined) return `version ${version} has been unsent for ${formatDuration(forMs)}`;
  return `version ${version}${supersedesText}, and changes have been unsent for ${formatDuration(forMs)}`;
}

const droppedTexts = {
  deleted: (at: string) => `was deleted on the API server at ${at}`,
  deleting: (at: string) =>
    `is being deleted: removeOrphanedStatuses dropped its status at ${at}, before the API server had responded to its DELETE`,
  removed: (at: string) => `is gone: removeOrphanedStatuses dropped its status at ${at}`,
  recreated: (at: string) =>
    `is gone: the API server has another pod with this name, so the manager dropped its status at ${at}`,
} as const;

/** What is known of a pod whose status was dropped. */
function droppedClauses(
  explanation: Explanation,
  { reason, since, isSent }: Extract<Explanation['cause'], { readonly kind: 'dropped' }>,
  nowMs: number,
): string[] {
  const { podNamespace, podName, phase, version, sentVersion } = explanation;
  const sent = formatSent(explanation, nowMs);
  const last = `its last status (${phase ? `${phase}, ` : ''}version ${version})`;
  const clauses = [`${podNamespace}/${podName} ${droppedTexts[reason](formatTime(since, nowMs))}`];
  if (sent === undefined) return [...clauses, `${last} was never sent`];
  if (isSent) return [...clauses, `${last} was ${sent}`];
  const had = sentVersion === undefined ? 'an earlier version' : `version ${sentVersion}`;
  return [...clauses, `${last} was not sent`, `the API server had ${had}, ${sent}`];
}

const sentAsClauses = {
  written: 'written',
  unchanged: 'found on the API server',
  adopted: 'adopted from the API server',
} as const;

function formatSent({ sentAs, sentAt }: Explanation, nowMs: number): string | undefined {
  if (sentAs === undefined || sentAt === undefined) return undefined;
  return `${sentAsClauses[sentAs]} at ${formatTime(sentAt, nowMs)}`;
}

/** What happens next, and other problems. */
function nextClauses(explanation: Explanation, nowMs: number): string[] {
  const { cause, version, nextTryAt, isShownByPodManager, outage, rejected } = explanation;
  const clauses: string[] = [];
  if (cause.kind === 'back-off' && cause.tries > 1) clauses.push(`it has failed ${cause.tries} times in a row`);
  if (nextTryAt !== undefined) {
    const remainingMs = epochMsOf(nextTryAt) - nowMs;
    clauses.push(remainingMs < 1_000 ? 'the next try is due' : `next try in ${formatDuration(remainingMs)}`);
  }
  if (version === undefined) return clauses;
  if (outage !== undefined && cause.kind !== 'up-to-date') {
    const reason = 'message' in cause && cause.message === outage.message ? '' : ` (${formatText(outage.message)})`;
    clauses.push(`the manager has not been able to write a status since ${formatTime(outage.since, nowMs)}${reason}`);
  }
  if (rejected !== undefined) {
    const since = formatTime(rejected.since, nowMs);
    clauses.push(`the manager has rejected what was set since ${since} (${formatText(rejected.reason)})`);
  }
  if (!isShownByPodManager) {
    clauses.push('the pod manager does not show the pod: if it has gone, removeOrphanedStatuses drops its status');
  }
  return clauses;
}

type ContainerCause = Extract<UnreadyCause, { readonly containerName: string }>;

/** `Ready=False since 12:03:02Z because …` */
function formatReadiness({ status, since, causes }: ReadyExplanation, nowMs: number): string {
  const sincePart = since === undefined ? '' : ` since ${formatTime(since, nowMs)}`;
  const because = causes.length === 0 ? '' : ` because ${causes.map(formatUnreadyCause).join(' and ')}`;
  return `Ready=${status}${sincePart}${because}`;
}

function formatUnreadyCause(cause: UnreadyCause): string {
  switch (cause.kind) {
    case 'terminal-phase':
      return cause.phase === 'Succeeded'
        ? 'the pod has completed'
        : `the pod has failed${inBrackets(cause.reason, cause.message)}`;
    case 'readiness-gate':
      return `readiness gate ${cause.conditionType} is ${cause.status === undefined ? 'missing' : `not True but ${cause.status}`}`;
    case 'condition':
      return formatReason(cause.reason, cause.message) ?? 'the status gives no reason';
    default:
      return `${cause.isInitContainer ? 'init container' : 'container'} ${cause.containerName} ${formatContainer(cause)}`;
  }
}

const containerClauses = {
  'container-unknown': 'has no status',
  'startup-probe': 'has not passed its startup probe',
  'readiness-probe': 'has not passed its readiness probe',
  'init-container-running': 'has not completed',
  'container-not-ready': 'is running, and the agent has not set it ready',
} as const;

function formatContainer(cause: ContainerCause): string {
  switch (cause.kind) {
    case 'container-waiting':
      return `is waiting${inBrackets(cause.reason, cause.message)}`;
    case 'container-terminated':
      return `exited with code ${cause.exitCode}${inBrackets(cause.reason, undefined)}`;
    default:
      return containerClauses[cause.kind];
  }
}

function formatReason(reason: string | undefined, message: string | undefined): string | undefined {
  const texts = [reason, message].filter((text) => text !== undefined && text !== '') as string[];
  return texts.length === 0 ? undefined : formatText(texts.join(': '));
}

function inBrackets(reason: string | undefined, message: string | undefined): string {
  const text = formatReason(reason, message);
  return text === undefined ? '' : ` (${text})`;
}
