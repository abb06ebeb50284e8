import { pino } from 'pino';

/** One level of a pino-shaped logger: structured members first, then a constant message. */
export type LogFunction = (fields: object, message: string) => void;

/** Any pino-shaped logger: pino itself, a child of it, or an object with these five methods. */
export interface Logger {
  trace: LogFunction;
  debug: LogFunction;
  info: LogFunction;
  warn: LogFunction;
  error: LogFunction;
}

/** The logger used when none is given: pino on stdout at level `warn`. */
export function defaultLogger(): Logger {
  return pino({ name: 'kubelet-status-manager', level: 'warn' });
}

/**
 * What may be logged of something that was thrown: its text, never the object, whose members and
 * cause may hold secrets.
 */
export function thrownFields(thrown: unknown): { readonly reason: string; readonly stack?: string | undefined } {
  if (!(thrown instanceof Error)) return { reason: `threw ${typeof thrown}` };
  return { reason: thrown.message, stack: thrown.stack };
}
