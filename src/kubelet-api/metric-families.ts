export interface MetricFamily {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

/** Collects samples, and formats them as the text of Prometheus. */
export class MetricFamilies<Name extends string> {
  readonly #families: Readonly<Record<Name, MetricFamily>>;
  readonly #samples = new Map<string, string[]>();

  constructor(families: Readonly<Record<Name, MetricFamily>>) {
    this.#families = families;
  }

  /** @param labels values that need no escapes */
  add(name: Name, value: number, labels: Readonly<Record<string, string>> = {}, epochMs?: number): void {
    const texts = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    const sample = `${name}${texts.length === 0 ? '' : `{${texts.join(',')}}`} ${value}`;
    const samples = this.#samples.get(name) ?? [];
    samples.push(epochMs === undefined ? sample : `${sample} ${epochMs}`);
    this.#samples.set(name, samples);
  }

  /** Families without samples are left out. */
  format(): string {
    const families = Object.entries<MetricFamily>(this.#families);
    const lines = families.flatMap(([name, { type, help }]) => {
      const samples = this.#samples.get(name);
      return samples === undefined ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
    });
    return `${lines.join('\n')}\n`;
  }
}
