const redrawPeriodMs = 500;
/** Where lines cannot be rewritten. */
const repeatPeriodMs = 30_000;

/** Progress on stderr: one line that is rewritten on a terminal, otherwise a line for each part of the run, and one every 30 s. */
export class Progress {
  readonly #startedAtMs = Date.now();
  #part = '';
  #total = 0;
  #done = 0;
  #timer: NodeJS.Timeout | undefined;

  begin(part: string, total = 0): void {
    this.end();
    this.#part = part;
    this.#total = total;
    this.#done = 0;
    this.#show();
    this.#timer = setInterval(() => this.#show(), process.stderr.isTTY ? redrawPeriodMs : repeatPeriodMs);
  }

  advance(): void {
    this.#done++;
  }

  end(): void {
    clearInterval(this.#timer);
    if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
  }

  #show(): void {
    const seconds = Math.floor((Date.now() - this.#startedAtMs) / 1000);
    const count = this.#total === 0 ? '' : `: ${this.#done} of ${this.#total}`;
    const line = `${this.#part}${count}, ${seconds} s`;
    process.stderr.write(process.stderr.isTTY ? `\r\u001B[K${line}` : `${line}\n`);
  }
}
