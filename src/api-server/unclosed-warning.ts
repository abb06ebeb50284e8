const idleMs = 30_000;

/**
 * Says what to do when a run of `node --test` does not end: node:test waits for the end of the event loop without a word,
 * and a listening server keeps it from ending. Other runners say so or end.
 */
export class UnclosedWarning {
  readonly #timer: NodeJS.Timeout;

  /** Undefined outside of node:test. */
  static start(url: string): UnclosedWarning | undefined {
    return process.env['NODE_TEST_CONTEXT'] === undefined ? undefined : new UnclosedWarning(url);
  }

  private constructor(url: string) {
    const message =
      `${url} has had no request for ${idleMs / 1000} s. If the tests are over, the process waits for it: call \`close()\` ` +
      'of each APIServer, and `stop()` of each manager and agent';
    this.#timer = setTimeout(() => process.emitWarning(message, { type: 'APIServerWarning' }), idleMs).unref();
  }

  /** The server was used now. */
  postpone(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
