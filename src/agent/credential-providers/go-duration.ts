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
  // Sticky: a match begins where the last one has ended.
  const component = /(\d+(?:\.\d*)?)(ms|us|µs|ns|h|m|s)/y;
  let ms = 0;
  while (component.lastIndex < text.length || text === '') {
    const [, amount, unit] = component.exec(text) ?? [];
    if (unit === undefined) return undefined;
    ms += Number(amount) * unitMs[unit]!;
  }
  return ms;
}
