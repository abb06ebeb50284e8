/** An action was delayed and may be retried at a certain time. Source: kubelet `BackoffError`. */
export class BackoffError extends Error {
  override readonly name = 'BackoffError';
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
export function minBackoffExpiration(error: unknown): number | undefined {
  if (error instanceof BackoffError) return error.untilMs;
  if (error instanceof AggregateError) {
    const times = error.errors.map(minBackoffExpiration).filter((time) => time !== undefined);
    return times.length > 0 ? Math.min(...times) : undefined;
  }
  return error instanceof Error && error.cause !== undefined ? minBackoffExpiration(error.cause) : undefined;
}
