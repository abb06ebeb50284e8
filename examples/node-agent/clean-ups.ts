import type { Logger } from 'kubelet-status-manager';

/** What to undo when the agent ends, in reverse order, including after a start that failed halfway. */
export class CleanUps {
  readonly #steps: { readonly name: string; readonly undo: () => unknown }[] = [];

  /** @param name what to log as failed when `undo` throws or rejects */
  add(name: string, undo: () => unknown): void {
    this.#steps.push({ name, undo });
  }

  /** Runs every step, even when another one fails. */
  async run(logger: Logger): Promise<void> {
    for (const { name, undo } of this.#steps.splice(0).toReversed()) {
      try {
        await undo();
      } catch (error) {
        logger.warn({ step: name, reason: String(error) }, 'Clean-up failed');
      }
    }
  }
}
