const unitMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** Milliseconds of a duration that is not negative, like `12h` or `1m30s`; undefined for another text. Source: Go `time.ParseDuration`. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  // Sticky: a match begins where the previous one ended.
  const component = /(\d+(?:\.\d*)?)(ms|us|µs|ns|h|m|s)/y;
  let ms = 0;
  while (component.lastIndex < text.length || text === '') {
    const [, amount, unit] = component.exec(text) ?? [];
    if (unit === undefined) return undefined;
    ms += Number(amount) * unitMs[unit]!;
  }
  return ms;
}

/** Truncated to milliseconds: `350ms`, `1.5s`, `2m0.5s`. Source: Go `time.Duration.String`. */
export function formatGoDuration(ms: number): string {
  const total = Math.trunc(ms);
  if (total < 1000) return total === 0 ? '0s' : `${total}ms`;
  const hours = Math.trunc(total / 3_600_000);
  const minutes = Math.trunc(total / 60_000) % 60;
  const seconds = `${(total % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
