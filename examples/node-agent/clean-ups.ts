import type { Logger } from 'kubelet-status-manager';

/** What has to be undone at the end, last first, however far the start got. */
export class CleanUps {
  readonly #steps: { readonly name: string; readonly undo: () => unknown }[] = [];

  /** @param name what failed, should `undo` throw or reject */
  add(name: string, undo: () => unknown): void {
    this.#steps.push({ name, undo });
  }

  /** A step that fails keeps none of the others from running. */
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
