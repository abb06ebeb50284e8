import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs';
import { systemClock } from '../shared/clock.ts';
import { preciseTimeFromEpochMs } from '../shared/time.ts';

export type LogStream = 'stdout' | 'stderr';

/** A longer line is written in several parts, as container runtimes do. */
const maxLineBytes = 16 * 1024;
const newline = 0x0a;

/** Defaults of the kubelet's `fallbackToLogsOnError`. */
const maxTailBytes = 2048;
const maxTailLines = 80;

/**
 * The log file of a container in the CRI format, one line for each line of output: `<time> <stream> <tag> <line>`, where the
 * tag is `F`, or `P` if the next entry continues the line. When the file has reached `maxBytes`, it is renamed to
 * `<file>.1`, and a new one is begun. Output that cannot be written, for example because the disk is full, is lost; an entry
 * of stderr then says how much is missing.
 */
export class CRILog {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #rest: Record<LogStream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  #fd: number;
  #size: number;
  #tail = Buffer.alloc(0);
  #lostBytes = 0;

  constructor(file: string, maxBytes = 10 * 1024 * 1024) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#fd = openSync(file, 'a', 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  /** The last lines of the output, as the termination message of a container may have them. */
  get tail(): string {
    return this.#tail
      .toString()
      .split('\n')
      .slice(-maxTailLines - 1)
      .join('\n');
  }

  write(stream: LogStream, chunk: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-maxTailBytes);
    const entries: Buffer[] = [];
    let rest = Buffer.concat([this.#rest[stream], chunk]);
    for (;;) {
      const end = rest.indexOf(newline);
      const length = end === -1 ? rest.length : end;
      if (length > maxLineBytes) {
        entries.push(this.#entry(stream, 'P', rest.subarray(0, maxLineBytes)));
        rest = rest.subarray(maxLineBytes);
      } else if (end !== -1) {
        entries.push(this.#entry(stream, 'F', rest.subarray(0, end)));
        rest = rest.subarray(end + 1);
      } else break;
    }
    this.#rest[stream] = rest;
    this.#append(Buffer.concat(entries));
  }

  /** Writes the last line if it has no newline. */
  close(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#rest[stream].length > 0) this.#append(this.#entry(stream, 'F', this.#rest[stream]));
    }
    closeSync(this.#fd);
  }

  #entry(stream: LogStream, tag: 'P' | 'F', line: Buffer): Buffer {
    return Buffer.concat([
      Buffer.from(`${preciseTimeFromEpochMs(systemClock.now())} ${stream} ${tag} `),
      line,
      Buffer.of(newline),
    ]);
  }

  #append(entries: Buffer): void {
    if (entries.length === 0) return;
    const lost = this.#lostBytes;
    const notice =
      lost === 0 ? [] : [this.#entry('stderr', 'F', Buffer.from(`[${lost} bytes of the log are missing]`))];
    try {
      if (this.#size >= this.#maxBytes) this.#rotate();
      const complete = Buffer.concat([...notice, entries]);
      const length = writeSync(this.#fd, complete);
      if (length < complete.length) throw new Error('The disk is full');
      this.#size += length;
      this.#lostBytes = 0;
    } catch {
      // The container continues without its log.
      this.#lostBytes += entries.length;
      this.#removePartialEntry();
    }
  }

  /** Otherwise, the next entry would continue it. */
  #removePartialEntry(): void {
    try {
      ftruncateSync(this.#fd, this.#size);
    } catch {
      // The next entry is damaged, too.
    }
  }

  #rotate(): void {
    // It does not exist if it could not be opened after the last renaming.
    if (existsSync(this.#file)) renameSync(this.#file, `${this.#file}.1`);
    const full = this.#fd;
    this.#fd = openSync(this.#file, 'a', 0o600);
    this.#size = 0;
    closeSync(full);
  }
}
