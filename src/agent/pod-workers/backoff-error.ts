/** An action was delayed and may be retried at a certain time. Source: kubelet `BackOffError`. */
export class BackOffError extends Error {
  override readonly name = 'BackOffError';
  /** In milliseconds since the epoch. */
  readonly untilMs: number;

  constructor(message: string, untilMs: number, options?: ErrorOptions) {
    super(message, options);
    this.untilMs = untilMs;
  }
}

/**
 * The earliest time of the back-off errors in `error`, its causes and the errors of an
 * `AggregateError`; undefined if there is none. Source: kubelet `MinBackoffExpiration`.
 */
export function minBackOffExpiration(error: unknown): number | undefined {
  if (error instanceof BackOffError) return error.untilMs;
  if (error instanceof AggregateError) {
    const times = error.errors.map(minBackOffExpiration).filter((time) => time !== undefined);
    return times.length > 0 ? Math.min(...times) : undefined;
  }
  return error instanceof Error && error.cause !== undefined ? minBackOffExpiration(error.cause) : undefined;
}
