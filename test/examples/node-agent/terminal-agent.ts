import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ScreenRecording } from '../demo-picture/screen-recording.ts';
import { mainFile } from './run-agent.ts';

const fakeTerminal = fileURLToPath(
  new URL('../../../dist/test/examples/demo-picture/fake-terminal.js', import.meta.url),
);

/** An agent that takes its pipes for a terminal, in its own process, with its own home directory. */
export class TerminalAgent implements AsyncDisposable {
  /** Everything that it has written to the terminal. */
  output = '';
  readonly #home = mkdtempSync(join(tmpdir(), 'na-'));
  readonly #recording = new ScreenRecording();
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<unknown>;

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, ['--import', fakeTerminal, mainFile, ...args], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', HOME: this.#home },
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      this.#recording.write(text, 0);
    });
    this.#closed = once(this.#child, 'close');
  }

  /** Resolves with the lines of the first frame to come that `matches`. */
  async waitForFrame(matches: (lines: readonly string[]) => boolean): Promise<string[]> {
    for (;;) {
      await Promise.race([once(this.#child.stdout, 'data'), this.#closed]);
      const lines = this.#recording.frames.at(-1)?.lines.map(({ text }) => text) ?? [];
      if (matches(lines)) return lines;
      if (this.#child.exitCode !== null) throw new Error(`The agent ended: ${this.output}`);
    }
  }

  press(key: string): void {
    this.#child.stdin.write(key);
  }

  async exitCode(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** What the agent has left in its home directory. */
  leftovers(): string[] {
    const node = join(this.#home, '.node-agent');
    return existsSync(node) ? readdirSync(node) : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#closed;
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 3 });
  }
}
