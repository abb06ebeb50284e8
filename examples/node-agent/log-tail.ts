const levelNames: { readonly [level: number]: string } = { 30: 'INFO ', 40: 'WARN ', 50: 'ERROR', 60: 'FATAL' };

/** The newest lines of the agent's log as text, for the screen: a stream for pino. */
export class LogTail {
  readonly #maxLines: number;
  readonly #lines: string[] = [];

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  /** @param line a line of JSON */
  write(line: string): void {
    const { level, time, msg, pod, reason } = JSON.parse(line) as {
      readonly level: number;
      readonly time: number;
      readonly msg: string;
      readonly pod?: string;
      readonly reason?: string;
    };
    const clockTime = new Date(time).toTimeString().slice(0, 8);
    const text = [pod && `${pod}:`, msg, reason && `(${reason})`].filter(Boolean).join(' ');
    this.#lines.push(`${clockTime} ${levelNames[level] ?? 'DEBUG'} ${text}`);
    if (this.#lines.length > this.#maxLines) this.#lines.shift();
  }

  /** Forgets the lines, because what they say is over. */
  clear(): void {
    this.#lines.length = 0;
  }

  lines(): readonly string[] {
    return this.#lines;
  }
}
