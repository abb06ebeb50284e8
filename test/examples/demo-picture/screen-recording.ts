/** What is on the screen from a moment on. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly Line[];
}

export interface Line {
  readonly text: string;
  readonly colour: Colour;
}

export type Colour = 'plain' | 'bold' | 'green' | 'yellow' | 'red' | 'gray' | 'cyan';

const colours: { readonly [code: string]: Colour } = {
  1: 'bold',
  31: 'red',
  32: 'green',
  33: 'yellow',
  36: 'cyan',
  90: 'gray',
};

const escape = '\u001B';
/** What LiveTable writes after each redrawing, and before each line. */
const clearScreenDown = `${escape}[J`;
const clearLine = `${escape}[K`;

/** Collects the frames of a LiveTable from what it writes. */
export class ScreenRecording {
  readonly frames: Frame[] = [];
  #unread = '';

  /** @param atMs when this was written */
  write(text: string, atMs: number): void {
    this.#unread += text;
    const end = this.#unread.lastIndexOf(clearScreenDown);
    if (end === -1) return;
    const frame = this.#unread.slice(this.#unread.lastIndexOf('\r', end) + 1, end);
    this.#unread = this.#unread.slice(end + clearScreenDown.length);
    const lines = frame.replaceAll(clearLine, '').split('\n').slice(0, -1);
    this.frames.push({ atMs, lines: lines.map(readLine) });
  }
}

/** A line has at most one colour. */
function readLine(line: string): Line {
  const [start = '', ...rest] = line.split(escape);
  if (rest.length === 0) return { text: line, colour: 'plain' };
  const [, code = ''] = /^\[(\d+)m/.exec(rest[0]!) ?? [];
  const text = start + rest.map((part) => part.replace(/^\[\d+m/, '')).join('');
  return { text, colour: colours[code] ?? 'plain' };
}
