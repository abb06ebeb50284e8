/** Longer delays are reduced to this. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * The delay of a `Retry-After` header in ms: whole seconds, or an HTTP date relative to `now`
 * (ms since the epoch; without it a date is ignored). Between 0 and 300,000; undefined when the
 * value is neither.
 */
export function parseRetryAfter(value: string, now?: number): number | undefined {
  const text = value.trim();
  if (/^\d+$/.test(text)) return boundRetryAfter(Number(text) * 1000);
  // An HTTP date begins with the day's name; Date.parse alone accepts many other formats.
  if (now === undefined || !/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  // The asctime format has no time zone and means GMT.
  const at = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : boundRetryAfter(at - now);
}

export function boundRetryAfter(delayMs: number): number {
  return Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
}
