import { median } from './statistics.ts';

/** The target for a figure: for its ratio to the reference, or for its value. */
export interface Target {
  readonly of: 'ratio' | 'value';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** A quantity that is measured once in each process or round. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
  /** The reference, measured in the same run on the same machine. */
  readonly reference?: { readonly name: string; readonly values: readonly number[] } | undefined;
  readonly target?: Target | undefined;
}

/** The figures of one benchmark, with an explanation. */
export interface Report {
  readonly title: string;
  /** What was done, how often, and what the rows mean, in complete sentences. */
  readonly notes: readonly string[];
  readonly figures: readonly Figure[];
  /** Plots that are written next to the tables: file name → SVG. */
  readonly plots?: Readonly<Record<string, string>>;
}

/** A figure as it is shown: medians, their ratio, and whether the target is met. */
export interface Summary {
  readonly name: string;
  readonly unit: string;
  readonly samples: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly reference?: string;
  readonly referenceMedian?: number;
  readonly ratio?: number;
  readonly target?: string;
  readonly isMet?: boolean;
}

export function summarize({ name, unit, values, reference, target }: Figure): Summary {
  const ours = median(values);
  const theirs = reference === undefined || reference.values.length === 0 ? undefined : median(reference.values);
  const ratio = theirs === undefined ? undefined : ours / theirs;
  const evaluated = target?.of === 'ratio' ? ratio : ours;
  return {
    name,
    unit,
    samples: values.length,
    median: ours,
    min: Math.min(...values),
    max: Math.max(...values),
    ...(theirs !== undefined && { reference: reference!.name, referenceMedian: theirs, ratio: ratio! }),
    ...(target !== undefined && { target: describeTarget(target) }),
    ...(target !== undefined && evaluated !== undefined && { isMet: isMet(target, evaluated) }),
  };
}

function describeTarget({ of, atMost, atLeast }: Target): string {
  const bound = atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
  return of === 'ratio' ? `${bound} ×` : bound;
}

function isMet(
  { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Target,
  value: number,
): boolean {
  return value <= atMost && value >= atLeast;
}

const columns = ['', 'unit', 'median', 'min … max', 'n', 'compared with', 'ratio', 'target', 'met'] as const;

/** The cells of a report's table, the header first. */
export function tableOf(report: Report): string[][] {
  const rows = report.figures
    .map(summarize)
    .map((summary) => [
      summary.name,
      summary.unit,
      showNumber(summary.median),
      `${showNumber(summary.min)} … ${showNumber(summary.max)}`,
      String(summary.samples),
      summary.referenceMedian === undefined ? '' : `${summary.reference} ${showNumber(summary.referenceMedian)}`,
      summary.ratio === undefined ? '' : summary.ratio.toFixed(2),
      summary.target ?? '',
      summary.isMet === undefined ? '' : summary.isMet ? 'yes' : 'no',
    ]);
  return [[...columns], ...rows];
}

/** Three significant digits; from 1,000 on, a rounded integer. */
function showNumber(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** Pads the columns to the width of their widest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/**
 * The figures as Markdown: those with the same reference and number of samples share a table below a
 * line that names both, so that no line is wider than 100 columns.
 */
export function markdownTables(report: Report): string {
  const groups = new Map<string, Summary[]>();
  for (const summary of report.figures.map(summarize)) {
    const { reference, samples } = summary;
    const caption = `${reference === undefined ? 'Without a reference' : `Compared with ${reference}`}, n = ${samples}:`;
    groups.set(caption, [...(groups.get(caption) ?? []), summary]);
  }
  return Array.from(groups, ([caption, rows]) => `${caption}\n\n${markdownTable(rows)}`).join('\n');
}

function markdownTable(rows: readonly Summary[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const header = ['', 'median', 'range', 'reference', 'ratio', 'target'];
  const cells = rows.map(({ name, unit, median, min, max, referenceMedian, ratio, target, isMet }) => [
    name.replaceAll('|', '\\|'),
    `${showNumber(median)} ${unit}`,
    `${showNumber(min)}–${showNumber(max)}`,
    referenceMedian === undefined ? '' : showNumber(referenceMedian),
    ratio === undefined ? '' : ratio.toFixed(2),
    target === undefined ? '' : `${target}${isMet === undefined ? '' : isMet ? ', met' : ', missed'}`,
  ]);
  return line(header) + line(header.map(() => '---')) + cells.map(line).join('');
}
