import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Clock, Timer } from 'kubelet-status-manager';

/** One pod as the table shows it. */
export interface TableRow {
  /** Its name, after its namespace unless that is `default`. */
  readonly pod: string;
  readonly phase: string;
  readonly ready: string;
  readonly restarts: string;
  /** Shown instead of the phase, as by kubectl. */
  readonly reason: string;
  /** The version of its status that the status manager holds. */
  readonly cached: string;
  /** The version that was sent last. */
  readonly sent: string;
  /** How many versions wait to be sent; empty if none does. */
  readonly unsent: string;
}

/** A line of the screen. */
export interface Line {
  readonly text: string;
  readonly format?: Format | undefined;
}

type Format = 'green' | 'yellow' | 'red' | 'gray' | 'cyan' | 'bold';

interface Column {
  readonly title: string;
  readonly cell: (row: TableRow) => string;
  /** As wide as what it usually shows, so that the columns keep their places. */
  readonly width: number;
}

const columns: readonly Column[] = [
  { title: 'POD', cell: ({ pod }) => pod, width: 18 },
  { title: 'READY', cell: ({ ready }) => ready, width: 5 },
  { title: 'STATUS', cell: ({ phase, reason }) => reason || phase, width: 'ContainerCreating'.length },
  { title: 'RESTARTS', cell: ({ restarts }) => restarts, width: 8 },
  { title: 'CACHED', cell: ({ cached }) => cached, width: 6 },
  { title: 'SENT', cell: ({ sent }) => sent, width: 4 },
  { title: 'UNSENT', cell: ({ unsent }) => unsent, width: 6 },
];
const gap = 2;

const phaseFormats: { readonly [phase: string]: Format } = {
  Pending: 'yellow',
  Running: 'green',
  Succeeded: 'cyan',
  Failed: 'red',
  Deleted: 'gray',
};

function formatOf({ phase, reason, unsent }: TableRow): Format {
  return unsent !== '' || (phase === 'Running' && reason !== '') ? 'yellow' : (phaseFormats[phase] ?? 'yellow');
}

/** How wide each column has to be for these rows; none is narrower than in `previous`, so that columns do not jump. */
export function columnWidths(rows: readonly TableRow[], previous: readonly number[] = []): number[] {
  return columns.map(({ cell, width }, at) =>
    Math.max(width, previous[at] ?? 0, ...rows.map((row) => cell(row).length)),
  );
}

/**
 * The table as lines, each at most `width` characters wide, at most `height` lines. Where the
 * terminal is too narrow, names of pods are truncated with `…`, and then the lines. Where it is
 * too low, the last line says how many rows are not shown.
 */
export function renderTable(
  rows: readonly TableRow[],
  { width, height, widths = columnWidths(rows) }: { width: number; height: number; widths?: readonly number[] },
): Line[] {
  const excess = Math.max(0, widths.reduce((sum, one) => sum + one + gap, -gap) - width);
  const podWidth = Math.max(columns[0]!.width, widths[0]! - excess);
  const toLine = (cells: readonly string[]): string => {
    const padded = cells.map((cell, at) =>
      at === 0 ? truncate(cell, podWidth).padEnd(podWidth) : cell.padEnd(widths[at]!),
    );
    return truncate(padded.join(' '.repeat(gap)).trimEnd(), width);
  };
  const capacity = Math.max(0, height - 1);
  const visible = rows.length > capacity ? rows.slice(0, Math.max(0, capacity - 1)) : rows;
  const hidden = rows.length - visible.length;
  const lines: Line[] = [
    { text: toLine(columns.map(({ title }) => title)), format: 'bold' },
    ...visible.map((row) => ({ text: toLine(columns.map(({ cell }) => cell(row))), format: formatOf(row) })),
  ];
  if (hidden > 0) {
    const text = truncate(`… ${hidden} more pods; enlarge the window to see them`, width);
    lines.push({ text, format: 'gray' });
  }
  return lines.slice(0, Math.max(1, height));
}

function truncate(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Breaks a text between its words into lines of at most `width` characters. A longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

const redrawMs = 250;

/** Written before each line, and after the last one. */
const clearLine = '\u001B[K';
const clearScreenDown = '\u001B[J';

/** The table on a terminal, redrawn in place four times a second. */
export class LiveTable {
  readonly #stream: WriteStream;
  readonly #rows: () => readonly TableRow[];
  readonly #footer: (width: number) => readonly Line[];
  readonly #clock: Clock;
  #widths: readonly number[] = [];
  /** The widths of the lines on the screen. */
  #drawn: readonly number[] = [];
  #timer: Timer | undefined;

  /** @param footer lines below the table, for a terminal of this width; a low window shows fewer of them */
  constructor(
    stream: WriteStream,
    rows: () => readonly TableRow[],
    clock: Clock,
    footer: (width: number) => readonly Line[] = () => [],
  ) {
    this.#stream = stream;
    this.#rows = rows;
    this.#footer = footer;
    this.#clock = clock;
  }

  start(): void {
    this.#draw();
    this.#timer = this.#clock.afterFunc(redrawMs, () => this.start());
  }

  /** Leaves the table on the screen as it is now. */
  stop(): void {
    this.#timer?.stop();
    this.#draw();
  }

  #draw(): void {
    // Some terminals do not report their size, which is then 0.
    const width = this.#stream.columns || 80;
    const rows = this.#stream.rows || 24;
    // The cursor is on the line below the table, which must be on the screen too.
    const maxHeight = Math.max(1, rows - 1);
    const tableRows = this.#rows();
    const footer = this.#footer(width).slice(0, Math.max(0, maxHeight - tableRows.length - 1));
    this.#widths = columnWidths(tableRows, this.#widths);
    const table = renderTable(tableRows, { width, height: maxHeight - footer.length, widths: this.#widths });
    const lines = [...table, ...footer.map((line) => ({ ...line, text: truncate(line.text, width) }))];
    // A window that became narrower has wrapped the lines. Lines that have scrolled off the top cannot be redrawn.
    const height = this.#drawn.reduce((sum, drawn) => sum + Math.max(1, Math.ceil(drawn / width)), 0);
    this.#write(lines, Math.min(height, rows - 1));
    this.#drawn = lines.map(({ text }) => text.length);
  }

  /** Overwrites the last `height` lines at once, instead of clearing them first, so that nothing flickers. */
  #write(lines: readonly Line[], height: number): void {
    const useColours = this.#stream.hasColors();
    const up = height === 0 ? '' : `\u001B[${height}A`;
    const drawn = lines.map(({ text, format }) =>
      useColours && format !== undefined ? styleText(format, text) : text,
    );
    this.#stream.write(`${up}\r${drawn.map((line) => `${clearLine}${line}\n`).join('')}${clearScreenDown}`);
  }
}
