import { exitCodes } from './options.ts';

/** Under npm one Ctrl-C comes twice: from the terminal, and passed on by npm. */
const sameKeystrokeMs = 500;

/**
 * Resolves when the agent is asked to end, with what asked: a signal, or the reader of its output
 * who has gone. A second signal ends the process at once.
 */
export function waitForStopRequest(): Promise<string> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        firstAtMs ??= performance.now();
        if (performance.now() - firstAtMs > sameKeystrokeMs) process.exit(exitCodes.forced);
        resolve(signal);
      });
    }
    process.stdout.on('error', () => resolve('closed output'));
  });
}
