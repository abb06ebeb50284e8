import type { ManagerInspection } from 'kubelet-status-manager';
import { countUnsent, type RecoveryReport } from './recovery.ts';
import { type Line, wrap } from './table.ts';

/** What the lines below the table show. */
export interface FooterFacts {
  readonly inspection: ManagerInspection;
  /** `StatusManager.explain`. */
  readonly explain: (podUID: string) => { readonly sentence: string };
  /** Absent on a cluster of somebody else. */
  readonly outage?: { readonly remainingSeconds: number | undefined; readonly durationSeconds: number } | undefined;
  /** About the last outage. */
  readonly recovery: RecoveryReport | undefined;
  /** The address of the status page. */
  readonly url: string;
  readonly log: readonly string[];
}

/** Room for most explanations, so that the lines below them keep their places. */
const explanationLength = 320;

/** The keys, the state of the API server, the explanation of one pod, and the newest lines of the log. */
export function footerLines(facts: FooterFacts, width: number): Line[] {
  const { inspection, explain, outage, recovery, url, log } = facts;
  const uid = explainedPod(inspection);
  const explanation = uid === undefined ? [] : wrap(explain(uid).sentence, width);
  const padding = Math.max(0, Math.ceil(explanationLength / width) - explanation.length);
  const keys = outage === undefined ? 'q: end.' : `o: stop the API server for ${outage.durationSeconds} s, q: end.`;
  return [
    { text: '' },
    { text: `${keys} ${url}`, format: 'bold' },
    serverLine(inspection, outage?.remainingSeconds, recovery),
    ...[...explanation, ...Array<string>(padding).fill('')].map((text) => ({ text })),
    ...log.map((text): Line => ({ text, format: 'gray' })),
  ];
}

/** The pod whose status has been waiting for the longest time; if none waits, the one whose status was sent last. */
function explainedPod({ pods }: ManagerInspection): string | undefined {
  const [oldest] = pods
    .filter(({ unsentSince }) => unsentSince !== undefined)
    .toSorted((a, b) => a.unsentSince!.localeCompare(b.unsentSince!));
  const [newest] = pods.toSorted((a, b) => (b.sentAt ?? '').localeCompare(a.sentAt ?? ''));
  return (oldest ?? newest)?.podUID;
}

function serverLine(
  inspection: ManagerInspection,
  remainingSeconds: number | undefined,
  recovery: RecoveryReport | undefined,
): Line {
  const { statuses, pods } = countUnsent(inspection.pods);
  const unsent =
    statuses === 0 ? 'Nothing is unsent.' : `Unsent: ${count(statuses, 'status')} of ${count(pods, 'pod')}.`;
  if (remainingSeconds !== undefined) {
    return { text: `The API server is DOWN, back in ${remainingSeconds} s. ${unsent}`, format: 'red' };
  }
  if (recovery === undefined)
    return { text: `The API server is up. ${unsent}`, format: statuses === 0 ? undefined : 'yellow' };
  return {
    text: `The API server is up. ${describeRecovery(recovery)}`,
    format: recovery.lost.length === 0 ? 'green' : 'red',
  };
}

function count(number: number, noun: 'pod' | 'status'): string {
  const plural = noun === 'pod' ? 'pods' : 'statuses';
  return `${number} ${number === 1 ? noun : plural}`;
}

export function describeRecovery({ caughtUpMs, statuses, lost }: RecoveryReport): string {
  const isLost = lost.length === 0 ? 'none lost' : `LOST: ${lost.join(', ')}`;
  return `Caught up in ${(caughtUpMs / 1000).toFixed(1)} s, ${count(statuses, 'status')}, ${isLost}.`;
}
