import type { PodInspection, StatusManager, StatusOutcome, UpdateResult } from '../../src/status-manager/index.ts';

/** The methods of the manager that a pod's lifecycle calls. */
export type LifeManager = Pick<
  StatusManager,
  'getPodStatus' | 'setPodStatus' | 'setContainerReadiness' | 'setContainerStartup' | 'terminatePod'
>;

export const finalOutcomes: ReadonlySet<StatusOutcome['outcome']> = new Set([
  'written',
  'unchanged',
  'superseded',
  'gone',
]);
/** The newest version, and the one in a PATCH that was aborted. */
const maxOpenWhenUnsent = 2;

/** Checks that each accepted version gets exactly one final outcome, and that every `whenWritten` settles. */
export class OutcomeLedger {
  readonly counts: Record<string, number> = {};
  /** By pod UID: versions that have been accepted and have no final outcome yet. */
  readonly #open = new Map<string, number>();
  readonly #broken: string[] = [];
  #waiting = 0;

  /** Wraps the manager, so that every accepted version is tracked. */
  observe(manager: StatusManager): LifeManager {
    const enter = (podUID: string, result: UpdateResult): UpdateResult => {
      this.entered(manager, podUID, result);
      return result;
    };
    return {
      getPodStatus: (podUID) => manager.getPodStatus(podUID),
      setPodStatus: (pod, status) => enter(pod.metadata!.uid!, manager.setPodStatus(pod, status)),
      setContainerReadiness: (podUID, containerID, ready) =>
        enter(podUID, manager.setContainerReadiness(podUID, containerID, ready)),
      setContainerStartup: (podUID, containerID, started) =>
        enter(podUID, manager.setContainerStartup(podUID, containerID, started)),
      terminatePod: (pod) => enter(pod.metadata!.uid!, manager.terminatePod(pod)),
    };
  }

  /** A setter that is not wrapped has returned. */
  entered(manager: StatusManager, podUID: string, { changed }: UpdateResult): void {
    if (changed) this.#accept(manager, podUID);
  }

  /** Versions from the journal count as accepted. */
  recovered(manager: StatusManager): void {
    for (const { podUID } of manager.recovered) this.#accept(manager, podUID);
  }

  outcome({ outcome, podUID, version }: StatusOutcome): void {
    this.counts[outcome] = (this.counts[outcome] ?? 0) + 1;
    if (!finalOutcomes.has(outcome)) return;
    const open = (this.#open.get(podUID) ?? 0) - 1;
    this.#open.set(podUID, open);
    if (open < 0)
      this.#broken.push(`${podUID}: ${outcome} of version ${version}, but every version already had its outcome`);
  }

  /** Call it after the manager has stopped. Returns a description of every violation. */
  broken(pods: readonly PodInspection[]): string[] {
    const waiting = this.#waiting === 0 ? [] : [`${this.#waiting} whenWritten() are still pending`];
    return [...this.#broken, ...this.withoutOutcome(pods), ...waiting];
  }

  /** Versions that should have a final outcome, whether the manager has stopped or not. */
  withoutOutcome(pods: readonly PodInspection[]): string[] {
    const unsent = new Set(pods.filter(({ unsentSince }) => unsentSince !== undefined).map(({ podUID }) => podUID));
    return [...this.#open]
      .filter(([podUID, open]) => open > (unsent.has(podUID) ? maxOpenWhenUnsent : 0))
      .map(([podUID, open]) => `${podUID}: ${open} versions without a final outcome`);
  }

  #accept(manager: StatusManager, podUID: string): void {
    this.#open.set(podUID, (this.#open.get(podUID) ?? 0) + 1);
    this.#waiting++;
    manager.whenWritten(podUID).then(
      () => this.#waiting--,
      (error: unknown) => this.#broken.push(`whenWritten rejected: ${String(error)}`),
    );
  }
}
