/** Progress on stderr: one line that is rewritten on a terminal, otherwise a line for each part of the run. */
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
    if (!process.stderr.isTTY) return void process.stderr.write(`${part}\n`);
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), 500);
  }

  advance(): void {
    this.#done++;
  }

  end(): void {
    clearInterval(this.#timer);
    if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
  }

  #draw(): void {
    const seconds = Math.floor((Date.now() - this.#startedAtMs) / 1000);
    const count = this.#total === 0 ? '' : `: ${this.#done} of ${this.#total}`;
    process.stderr.write(`\r\u001B[K${this.#part}${count}, ${seconds} s`);
  }
}
