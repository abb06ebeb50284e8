const unitMs: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `20s`, `1m30s`, `500ms`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(ms|s|m|h))+$/.test(text)) return undefined;
  const [, ...units] = text.split(/\d+/);
  const counts = text.split(/[a-z]+/);
  return units.reduce((sum, unit, i) => sum + Number(counts[i]) * unitMs[unit]!, 0);
}
