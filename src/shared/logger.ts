/** One level of a pino-shaped logger: structured fields, then a constant message. */
export type LogFunction = (fields: object, message: string) => void;

/** Any pino-shaped logger: pino itself, a child of it, or an object with these five methods. */
export interface Logger {
  trace: LogFunction;
  debug: LogFunction;
  info: LogFunction;
  warn: LogFunction;
  error: LogFunction;
}

/**
 * The log fields of a thrown value: its message and stack, never the object, whose fields and cause
 * may contain secrets.
 */
export function thrownFields(thrown: unknown): { readonly reason: string; readonly stack?: string | undefined } {
  const stack = textOf(thrown, 'stack');
  return stack === undefined ? { reason: reasonOf(thrown) } : { reason: reasonOf(thrown), stack };
}

/** Longer ones are cut. */
const maxTextLength = 16_384;

/** Only the message of a thrown value, because its cause may contain secrets. Never throws, whatever was thrown. */
export function reasonOf(thrown: unknown): string {
  return textOf(thrown, 'message') ?? `threw ${typeof thrown}`;
}

function textOf(thrown: unknown, field: 'message' | 'stack'): string | undefined {
  try {
    const text: unknown = thrown instanceof Error ? thrown[field] : undefined;
    return typeof text === 'string' ? text.slice(0, maxTextLength) : undefined;
  } catch {
    return undefined;
  }
}
