import type { ReadyExplanation } from './explanation.ts';
import { formatText, formatTime } from './format.ts';
import type { UnreadyCause } from './unready-causes.ts';

type ContainerCause = Extract<UnreadyCause, { readonly containerName: string }>;

/** `Ready=False since 12:03:02Z because …` */
export function formatReadiness({ status, since, causes }: ReadyExplanation, nowMs: number): string {
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
