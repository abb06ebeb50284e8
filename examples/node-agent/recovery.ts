import type { Clock, Pod, PodInspection, StatusManager, StatusOutcome } from 'kubelet-status-manager';
import isMatch from 'lodash/isMatch.js';
import { uidOnNode } from './pods.ts';

/** How the status manager recovered from an outage. */
export interface RecoveryReport {
  /** From when the API server was back until nothing was unsent. */
  readonly caughtUpMs: number;
  /** The statuses that had waited. Of each pod only the newest is written, because it replaces the others. */
  readonly statuses: number;
  /** How many pods had a status that waited. */
  readonly pods: number;
  /** Pods whose newest status the API server does not have, or got before an older one. */
  readonly lost: readonly string[];
}

/** The statuses that wait to be sent, and the number of their pods. */
export interface Unsent {
  readonly statuses: number;
  readonly pods: number;
}

/** How many statuses of the pod wait to be sent: the versions after the one that was sent last. */
export function unsentStatuses({ version, sentVersion = 0, unsentSince }: PodInspection): number {
  return unsentSince === undefined ? 0 : version - sentVersion;
}

export function countUnsent(pods: readonly PodInspection[]): Unsent {
  const counts = pods.map(unsentStatuses).filter((count) => count > 0);
  return { statuses: counts.reduce((sum, count) => sum + count, 0), pods: counts.length };
}

const periodMs = 50;
/** A status that the API server does not show after this time is lost. */
const maxVerifyMs = 10_000;

export interface RecoveryOptions {
  readonly statusManager: Pick<StatusManager, 'inspect' | 'getPodStatus' | 'subscribe'>;
  /** Reads the pods of the node from the API server. */
  readonly listPods: () => Promise<readonly Pod[]>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'afterFunc'>;
}

/**
 * Measures the recovery from an outage: counts the statuses that wait when the API server is back and,
 * when all are sent, reads the pods from it and compares them with the newest statuses.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #unsubscribe: () => void;
  /** Pod UID → the version sent last. */
  readonly #sent = new Map<string, number>();
  readonly #outOfOrder = new Set<string>();
  /** Counts outages and their ends, so that a measurement notices that it is out of date. */
  #changes = 0;
  #report: RecoveryReport | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#unsubscribe = options.statusManager.subscribe({ onOutcome: (outcome) => this.#checkOrder(outcome) });
  }

  /** About the last outage; undefined until everything that waited was sent. */
  get report(): RecoveryReport | undefined {
    return this.#report;
  }

  /** The API server has gone away. */
  begin(): void {
    this.#changes++;
    this.#report = undefined;
    this.#outOfOrder.clear();
  }

  /** The API server is back. Resolves with undefined if it goes away again before the end of the measurement. */
  async end(): Promise<RecoveryReport | undefined> {
    const { clock } = this.#options;
    const change = ++this.#changes;
    const isCurrent = (): boolean => change === this.#changes;
    const backMs = clock.monotonicMs();

    const waited = new Map<string, string>();
    let statuses = 0;
    for (let unsent = this.#unsentPods(); isCurrent() && unsent.length > 0; unsent = this.#unsentPods()) {
      for (const { podUID: uid, podNamespace, podName } of unsent) waited.set(uid, `${podNamespace}/${podName}`);
      statuses = Math.max(statuses, countUnsent(unsent).statuses);
      await this.#pause();
    }
    const sentMs = clock.monotonicMs();
    let missing = await this.#missing([...waited.keys()]);
    while (isCurrent() && missing.length > 0 && clock.monotonicMs() - sentMs < maxVerifyMs) {
      await this.#pause();
      missing = await this.#missing(missing);
    }
    if (!isCurrent()) return undefined;
    const lost = new Set([...missing.map((uid) => waited.get(uid)!), ...this.#outOfOrder]);
    this.#report = { caughtUpMs: Math.round(sentMs - backMs), statuses, pods: waited.size, lost: [...lost] };
    return this.#report;
  }

  stop(): void {
    this.#changes++;
    this.#unsubscribe();
  }

  #unsentPods(): PodInspection[] {
    return this.#options.statusManager.inspect().pods.filter((pod) => unsentStatuses(pod) > 0);
  }

  /** The versions of a pod ascend, and restart at 1 after its status was dropped. */
  #checkOrder({ podUID: uid, podNamespace, podName, version, outcome }: StatusOutcome): void {
    if (outcome === 'gone' || outcome === 'deleted') this.#sent.delete(uid);
    if (outcome !== 'written' && outcome !== 'unchanged') return;
    if (version <= (this.#sent.get(uid) ?? 0)) this.#outOfOrder.add(`${podNamespace}/${podName}`);
    this.#sent.set(uid, version);
  }

  /**
   * Those of these pods whose newest status the API server does not have; all if it does not respond. A
   * pod may get a newer status in the meantime, and one that was deleted needs none.
   */
  async #missing(uids: readonly string[]): Promise<readonly string[]> {
    const { listPods, statusManager } = this.#options;
    const newest = new Map(uids.map((uid) => [uid, statusManager.getPodStatus(uid)]));
    const pods = await listPods().catch(() => undefined);
    if (pods === undefined) return uids;
    const shown = new Map(pods.map((pod) => [uidOnNode(pod), pod.status ?? {}]));
    return uids.filter((uid) => shown.has(uid) && !isMatch(shown.get(uid)!, newest.get(uid) ?? {}));
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.afterFunc(periodMs, resolve));
  }
}
