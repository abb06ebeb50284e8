import { fileURLToPath } from 'node:url';
import { defaultOptions } from '../../src/status-manager/options.ts';
import { jsonLinesOf } from '../children.ts';
import type { Figure, Report } from '../report.ts';
import { median } from '../statistics.ts';
import { linePlot } from '../svg.ts';
import type { ScaleFigures } from './figures.ts';

export interface ScaleOptions {
  readonly processes: number;
  readonly progress: (text: string) => void;
}

/** The cost per pod counts as flat if it grows at most by this factor. */
const flatWithin = 1.25;
const sizes = [1_000, 5_000, 20_000];
const worker = fileURLToPath(new URL('worker.js', import.meta.url));

/** Measures the cost of a pod when there are many in one manager. */
export async function benchScale({ processes, progress }: ScaleOptions): Promise<Report> {
  const measured = new Map<number, ScaleFigures[]>(sizes.map((pods) => [pods, []]));
  for (let round = 1; round <= processes; round++) {
    for (const pods of sizes) {
      progress(`scale: process ${round} of ${processes}, ${pods} pods`);
      measured
        .get(pods)!
        .push(...(await jsonLinesOf<ScaleFigures>(process.execPath, ['--expose-gc', worker, String(pods)])));
    }
  }
  const valuesOf = (pods: number, value: (figures: ScaleFigures, pods: number) => number): number[] =>
    measured.get(pods)!.map((figures) => value(figures, pods));
  const seconds = defaultOptions.syncPeriodMs / 1000;
  const smallest = sizes[0]!;
  const rows = (
    name: string,
    unit: string,
    value: (figures: ScaleFigures, pods: number) => number,
    isFlat = false,
  ): Figure[] =>
    sizes.map((pods) => ({
      name: `${pods.toLocaleString('en-US')} pods: ${name}`,
      unit,
      values: valuesOf(pods, value),
      ...(isFlat &&
        pods !== smallest && {
          reference: { name: `${smallest.toLocaleString('en-US')} pods`, values: valuesOf(smallest, value) },
          target: { of: 'ratio', atMost: flatWithin } as const,
        }),
    }));
  return {
    title: 'Scale: many pods in one manager',
    notes: [
      `Each number is the median of ${processes} processes. An update: from setPodStatus with a changed status until it is written to a client that responds immediately from memory. Idle: a full batch that finds nothing to do, once every ${seconds} s. inspect(): one call when all statuses are written.`,
    ],
    figures: [
      ...rows('an update', 'µs', ({ update }) => update, true),
      ...rows('idle, per second', 'ms', ({ idleBatch }) => idleBatch / seconds),
      ...rows('inspect()', 'ms', ({ inspect }) => inspect),
      ...rows('heap', 'MB', ({ heap }) => heap / 1e6),
      ...rows('heap', 'bytes/pod', ({ heap }, pods) => heap / pods, true),
    ],
    plots: {
      'scale.svg': linePlot({
        title: 'Cost of an update by number of pods',
        xLabel: 'pods in one manager',
        yLabel: 'µs per update',
        points: sizes.map((pods) => [pods, median(valuesOf(pods, ({ update }) => update))]),
      }),
    },
  };
}
