import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  type OpenMetricsContentType,
  type Registry,
} from 'prom-client';
import { StatusManagerError } from '../shared/errors.ts';
import { oncePerTurn } from '../shared/once-per-turn.ts';

/** A registry of prom-client, in either format of its output. */
export type MetricsRegistry = Registry | Registry<OpenMetricsContentType>;

/** A metric whose values are read at each scrape. */
export interface SourcedMetric<Values> {
  readonly Kind: typeof SourcedGauge | typeof GreatestGauge | typeof SourcedCounter;
  readonly help: string;
  readonly labels: readonly string[];
  /** Without labels the value; undefined: it is absent. */
  readonly read: (values: Values) => number | boolean | undefined | readonly Sample<string>[];
}

/** By the names of the metrics. */
export type SourcedMetrics<Values> = Readonly<Record<string, SourcedMetric<Values>>>;

type Read<Values> = SourcedMetric<Values>['read'];

/** A gauge that is the sum of its sources. */
export function sum<Values>(help: string, read: Read<Values>, labels: readonly string[] = []): SourcedMetric<Values> {
  return { Kind: SourcedGauge, help, labels, read };
}

/** A gauge that is the greatest value of its sources. */
export function greatest<Values>(help: string, read: Read<Values>, labels?: readonly string[]): SourcedMetric<Values> {
  return { ...sum(help, read, labels), Kind: GreatestGauge };
}

/** A counter that is the sum of its sources. */
export function counter<Values>(help: string, read: Read<Values>): SourcedMetric<Values> {
  return { ...sum(help, read), Kind: SourcedCounter };
}

interface CommonConfiguration {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
}

/** Registers the metrics. Returns a function that adds a source of their values; its result removes the source. */
export function sourcedMetricsIn<Values extends object>(
  register: MetricsRegistry,
  rows: SourcedMetrics<Values>,
): (readValues: () => Values) => () => void {
  const metrics = Object.entries(rows).map(([name, { Kind, help, labels, read }]) => ({
    metric: metricIn<CommonConfiguration, SourcedGauge | SourcedCounter>(register, Kind, {
      ...{ name, help, labelNames: [...labels] },
    }),
    read,
  }));
  return (readValues) => {
    const values = oncePerTurn(readValues);
    const removals = metrics.map(({ metric, read }) => metric.addSource(() => samplesOf(read(values()))));
    return () => removals.forEach((remove) => remove());
  };
}

function samplesOf(value: number | boolean | undefined | readonly Sample<string>[]): readonly Sample<string>[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [{ labels: {}, value: Number(value) }];
}

export interface Sample<Label extends string> {
  readonly labels: Partial<Record<Label, string>>;
  readonly value: number;
}

/** A gauge whose values are read at each scrape: the sum of its sources. */
export class SourcedGauge<Label extends string = string> extends Gauge<Label> {
  readonly #sources = new Set<() => readonly Sample<Label>[]>();

  constructor(configuration: GaugeConfiguration<Label>) {
    super({ ...configuration, collect: () => this.#collect() });
  }

  /** @returns removes the source */
  addSource(read: () => readonly Sample<Label>[]): () => void {
    this.#sources.add(read);
    return () => void this.#sources.delete(read);
  }

  #collect(): void {
    this.reset();
    const samples = [...this.#sources].flatMap((read) => read());
    this.show(samples);
    // prom-client shows 0 for a metric without labels that has no value.
    if (samples.length === 0) this.remove({});
  }

  protected show(samples: readonly Sample<Label>[]): void {
    for (const { labels, value } of samples) this.inc(labels, value);
  }
}

/** Like SourcedGauge, but shows the greatest value of all sources. */
export class GreatestGauge<Label extends string = string> extends SourcedGauge<Label> {
  protected override show(samples: readonly Sample<Label>[]): void {
    const ascending = samples.toSorted((a, b) => a.value - b.value);
    for (const { labels, value } of ascending) this.set(labels, value);
  }
}

/** A counter whose value is read at each scrape: the sum of its sources. */
export class SourcedCounter extends Counter {
  readonly #sources = new Set<() => readonly Sample<string>[]>();

  constructor(configuration: CounterConfiguration<string>) {
    super({ ...configuration, collect: () => this.#collect() });
  }

  /** @returns removes the source */
  addSource(read: () => readonly Sample<string>[]): () => void {
    this.#sources.add(read);
    return () => void this.#sources.delete(read);
  }

  #collect(): void {
    this.reset();
    const samples = [...this.#sources].flatMap((read) => read());
    for (const { value } of samples) this.inc(value);
    if (samples.length === 0) this.remove({});
  }
}

/** The metric of this name in the registry; registered first when it does not exist. */
export function metricIn<Configuration extends { name: string }, M extends object>(
  register: MetricsRegistry,
  Kind: new (configuration: Configuration) => M,
  configuration: Configuration,
): M {
  const existing: unknown = register.getSingleMetric(configuration.name);
  if (existing === undefined) return new Kind({ ...configuration, registers: [register] });
  if (existing instanceof Kind) return existing;
  throw invalidRegister(`a registry without a foreign metric \`${configuration.name}\``);
}

export function invalidRegister(expected: string): StatusManagerError {
  return new StatusManagerError('INVALID_OPTION', `Expected \`register\` to be ${expected}`, { path: 'register' });
}
