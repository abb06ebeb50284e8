import { clearScreenDown, moveCursor } from 'node:readline';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
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

const columns: readonly { readonly title: string; readonly member: keyof TableRow }[] = [
  { title: 'POD', member: 'pod' },
  { title: 'PHASE', member: 'phase' },
  { title: 'READY', member: 'ready' },
  { title: 'RESTARTS', member: 'restarts' },
  { title: 'CACHED/SENT', member: 'versions' },
  { title: 'UNSENT', member: 'unsent' },
  { title: 'REASON', member: 'reason' },
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

/** The table as lines, each at most `width` characters wide. */
export function renderTable(rows: readonly TableRow[], width: number, useColours: boolean): string[] {
  const widths = columns.map(({ title, member }) => Math.max(title.length, ...rows.map((row) => row[member].length)));
  const toLine = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd()
      .slice(0, width);
  const lines = rows.map((row) => {
    const line = toLine(columns.map(({ member }) => row[member]));
    return useColours ? styleText(colourOf(row), line) : line;
  });
  const title = toLine(columns.map((column) => column.title));
  return [useColours ? styleText('bold', title) : title, ...lines];
}

const redrawMs = 250;

/** The table on a terminal, drawn over itself four times a second. */
export class LiveTable {
  readonly #stream: WriteStream;
  readonly #rows: () => readonly TableRow[];
  readonly #clock: Clock;
  #height = 0;
  #timer: Timer | undefined;

  constructor(stream: WriteStream, rows: () => readonly TableRow[], clock: Clock) {
    this.#stream = stream;
    this.#rows = rows;
    this.#clock = clock;
  }

  start(): void {
    this.#draw();
    this.#timer = this.#clock.afterFunc(redrawMs, () => this.start());
  }

  /** Leaves the table as it is now. */
  stop(): void {
    this.#timer?.stop();
    this.#draw();
  }

  #draw(): void {
    // Some terminals do not tell their size, and say 0.
    const columns = this.#stream.columns || 80;
    const rows = this.#stream.rows || 24;
    // What is taller than the screen scrolls away and could not be drawn over.
    const lines = renderTable(this.#rows(), columns, this.#stream.hasColors()).slice(0, Math.max(1, rows - 1));
    moveCursor(this.#stream, -columns, -this.#height);
    clearScreenDown(this.#stream);
    this.#stream.write(lines.map((line) => `${line}\n`).join(''));
    this.#height = lines.length;
  }
}
