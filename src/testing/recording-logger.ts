import type { LogFunction, Logger } from '../shared/logger.ts';

/** One line that was logged. */
export interface LoggedLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps every line, in order, with a copy of its fields. */
export interface RecordingLogger extends Logger {
  readonly lines: readonly LoggedLine[];
  readonly warnings: readonly LoggedLine[];
  readonly errors: readonly LoggedLine[];
}

/**
 * Creates a logger that records its lines.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, recordingLogger } from 'kubelet-status-manager/testing';
 *
 * const logger = recordingLogger();
 * const manager = new StatusManager({ client: new FakePodClient(), podCouldHaveRunningContainers: () => false, logger });
 * console.log(logger.warnings.map(({ message }) => message));
 * ```
 */
export function recordingLogger(): RecordingLogger {
  const lines: LoggedLine[] = [];
  const log =
    (level: keyof Logger): LogFunction =>
    (fields, message) =>
      void lines.push({ level, message, fields: { ...fields } });
  return {
    trace: log('trace'),
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    lines,
    get warnings() {
      return lines.filter(({ level }) => level === 'warn');
    },
    get errors() {
      return lines.filter(({ level }) => level === 'error');
    },
  };
}

const nothing = (): void => {};

/**
 * A logger that discards all lines.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, silentLogger } from 'kubelet-status-manager/testing';
 *
 * const client = new FakePodClient();
 * const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, logger: silentLogger });
 * ```
 */
export const silentLogger: Logger = Object.freeze({
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});
