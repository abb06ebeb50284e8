import { clearScreenDown, moveCursor } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Clock, Timer } from 'kubelet-status-manager';

/** One pod as the table shows it. */
export interface TableRow {
  readonly pod: string;
  readonly phase: string;
  readonly ready: string;
  readonly restarts: string;
  readonly reason: string;
  /** The version of its status that the status manager holds, and the one that it sent last. */
  readonly versions: string;
  /** How long the oldest change has been waiting to be sent. */
  readonly unsent: string;
}

interface Column {
  readonly title: string;
  readonly field: keyof TableRow;
}

const columns: readonly Column[] = [
  { title: 'POD', field: 'pod' },
  { title: 'PHASE', field: 'phase' },
  { title: 'READY', field: 'ready' },
  { title: 'RESTARTS', field: 'restarts' },
  { title: 'CACHED/SENT', field: 'versions' },
  { title: 'UNSENT', field: 'unsent' },
  { title: 'REASON', field: 'reason' },
];

type Colour = 'green' | 'yellow' | 'red' | 'gray' | 'cyan';

const phaseColours: { readonly [phase: string]: Colour } = {
  Pending: 'yellow',
  Running: 'green',
  Succeeded: 'cyan',
  Failed: 'red',
  Deleted: 'gray',
};

function colourOf({ phase, reason }: TableRow): Colour {
  return phase === 'Running' && reason !== '' ? 'yellow' : (phaseColours[phase] ?? 'yellow');
}

/** Columns that a narrow terminal does not show, in the order in which they are left out. */
const optionalColumns: readonly (keyof TableRow)[] = ['versions', 'unsent', 'restarts'];

/**
 * The table as lines, each at most `width` characters wide, at most `height` lines. Where the
 * terminal is too narrow, columns are left out, and then lines are truncated with `…`. Where it is
 * too low, the last line says how many rows are not shown.
 */
export function renderTable(
  rows: readonly TableRow[],
  { width, height, useColours }: { width: number; height: number; useColours: boolean },
): string[] {
  const widthOf = ({ title, field }: Column): number => Math.max(title.length, ...rows.map((row) => row[field].length));
  let shown = columns;
  for (const field of optionalColumns) {
    if (lineWidth(shown.map(widthOf)) <= width) break;
    shown = shown.filter((column) => column.field !== field);
  }
  const widths = shown.map(widthOf);
  const toLine = (cells: readonly string[]): string =>
    truncate(
      cells
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
      width,
    );
  const style = (format: Colour | 'bold', line: string): string => (useColours ? styleText(format, line) : line);

  const capacity = Math.max(0, height - 1);
  const visible = rows.length > capacity ? rows.slice(0, Math.max(0, capacity - 1)) : rows;
  const hidden = rows.length - visible.length;
  return [
    style('bold', toLine(shown.map(({ title }) => title))),
    ...visible.map((row) => style(colourOf(row), toLine(shown.map(({ field }) => row[field])))),
    ...(hidden > 0 ? [style('gray', truncate(`… ${hidden} more pods; enlarge the window to see them`, width))] : []),
  ].slice(0, Math.max(1, height));
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1));
}

function truncate(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

const redrawMs = 250;

/** The table on a terminal, redrawn in place four times a second. */
export class LiveTable {
  readonly #stream: WriteStream;
  readonly #rows: () => readonly TableRow[];
  readonly #footer: () => readonly string[];
  readonly #clock: Clock;
  /** The widths of the lines on the screen. */
  #drawn: readonly number[] = [];
  #timer: Timer | undefined;

  /** @param footer lines below the table; a low window shows fewer of them */
  constructor(
    stream: WriteStream,
    rows: () => readonly TableRow[],
    clock: Clock,
    footer: () => readonly string[] = () => [],
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
    const tableRows = this.#rows();
    const maxHeight = Math.max(1, rows - 1);
    const footer = this.#footer().slice(0, Math.max(0, maxHeight - tableRows.length - 1));
    const table = renderTable(tableRows, {
      width,
      height: maxHeight - footer.length,
      useColours: this.#stream.hasColors(),
    });
    const lines = [...table, ...footer.map((line) => truncate(line, width))];
    // A window that became narrower has wrapped the lines. Lines that have scrolled off the top cannot be redrawn.
    const height = this.#drawn.reduce((sum, drawn) => sum + Math.max(1, Math.ceil(drawn / width)), 0);
    moveCursor(this.#stream, -width, -Math.min(height, rows - 1));
    clearScreenDown(this.#stream);
    this.#stream.write(lines.map((line) => `${line}\n`).join(''));
    this.#drawn = lines.map((line) => stripVTControlCharacters(line).length);
  }
}
