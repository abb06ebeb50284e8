import type { FileHandle } from 'node:fs/promises';
import {
  codeOf,
  type ContainerLogOptions,
  type HostDirectory,
  systemFiles,
  useLogFolder,
  watchFile,
} from '../node/index.ts';
import type { Clock } from '../shared/clock.ts';
import { fixedWidthTime, parseLogLine } from './parse-log-line.ts';

export interface LogReaderOptions {
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Receives the text in the order of the file; the reader waits for it. */
  readonly write: (chunk: Buffer) => Promise<void>;
  /** Whether the container may still write. Called at the end of the file, and if the file is missing. */
  readonly isRunning: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

const blockBytes = 65_536;
const newline = 0x0a;
/** Notifications of changes may be lost. Source: cri-client `logForceCheckPeriod`. */
const forceCheckMs = 1000;

/**
 * Writes the log file of a container. When the file is rotated while it is followed, the old file is read to its end,
 * and then the new one. Rejects if the file does not have the CRI's format; later lines of another format are skipped.
 * Rejects for a link or another file that is not regular. Source: cri-client `ReadLogs`.
 */
export async function readLogs(path: string, options: ContainerLogOptions, reader: LogReaderOptions): Promise<void> {
  await useLogFolder(systemFiles, path, (folder, name) => readLogsIn(folder, name, path, options, reader));
}

async function readLogsIn(
  folder: HostDirectory,
  name: string,
  path: string,
  options: ContainerLogOptions,
  reader: LogReaderOptions,
): Promise<void> {
  const { signal, isRunning } = reader;
  const { tailLines, follow = false } = options;
  const output = new LogOutput(options, reader.write);
  let file = new LogFile(
    await folder.openFile(name).catch(async (error: unknown) => {
      // A log that is being rotated has no file until the runtime opens the new one.
      if (codeOf(error) === 'ENOENT' && (await isRunning())) return folder.openFile(name);
      throw error;
    }),
  );
  let changes: Changes | undefined;
  try {
    await file.seekToTail(tailLines);
    let linesLeft = follow ? Number.POSITIVE_INFINITY : (tailLines ?? Number.POSITIVE_INFINITY);
    // Once false, the rest of the file is read, and the log ends.
    let mayGrow = follow;
    while (!signal.aborted && linesLeft > 0 && !output.isFull) {
      const lines = await file.readLines();
      if (lines.length > 0) {
        const wanted = lines.slice(0, linesLeft);
        linesLeft -= wanted.length;
        await output.write(wanted);
        continue;
      }
      if (!mayGrow) {
        if (!follow) await output.write(file.incompleteLine());
        return;
      }
      // Created before the container's state is queried; the file is read again afterwards, so no write is missed.
      changes ??= new Changes(path, reader.clock);
      const isFirst = changes.isNew();
      const rotated = await file.reopenIfReplaced(folder, name);
      if (rotated !== undefined) {
        file = rotated;
        continue;
      }
      mayGrow = await isRunning();
      if (mayGrow && !isFirst) await changes.next(signal);
    }
  } finally {
    changes?.close();
    await file.close();
  }
}

/** A file that is read line by line. */
class LogFile {
  readonly #file: FileHandle;
  #position = 0;
  /** The beginning of an incomplete line. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Undefined for all lines. An incomplete line at the end does not count. Source: cri-client `findTailLineStartIndex`. */
  async seekToTail(lines: number | undefined): Promise<void> {
    if (lines === undefined) return;
    let { size: position } = await this.#file.stat();
    let left = lines;
    while (position > 0) {
      const length = Math.min(blockBytes, position);
      const { buffer } = await this.#file.read(Buffer.alloc(length), 0, length, position - length);
      for (let i = buffer.lastIndexOf(newline); i >= 0; i = i === 0 ? -1 : buffer.lastIndexOf(newline, i - 1)) {
        if (left-- > 0) continue;
        this.#position = position - length + i + 1;
        return;
      }
      position -= length;
    }
  }

  /** The next complete lines; none at the end of the file. */
  async readLines(): Promise<Buffer[]> {
    for (;;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(blockBytes), 0, blockBytes, this.#position);
      if (bytesRead === 0) return [];
      this.#position += bytesRead;
      const content = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]);
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = content.indexOf(newline); end >= 0; end = content.indexOf(newline, start)) {
        lines.push(content.subarray(start, end + 1));
        start = end + 1;
      }
      this.#rest = content.subarray(start);
      if (lines.length > 0) return lines;
    }
  }

  /** The text after the last complete line. */
  incompleteLine(): Buffer[] {
    return this.#rest.length > 0 ? [this.#rest] : [];
  }

  /** The file that now has this name, if it is another one and this one has been read to its end. */
  async reopenIfReplaced(folder: HostDirectory, name: string): Promise<LogFile | undefined> {
    const [current, own] = await Promise.all([
      folder.stats(name).catch(() => undefined),
      this.#file.stat({ bigint: true }),
    ]);
    if (current === undefined || (current.ino === own.ino && current.dev === own.dev)) return undefined;
    if (own.size > this.#position) return undefined;
    const file = await folder.openFile(name).catch(() => undefined);
    if (file === undefined) return undefined;
    await this.close();
    return new LogFile(file);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Formats lines and counts bytes. Source: cri-client `logWriter`. */
class LogOutput {
  readonly #options: ContainerLogOptions;
  readonly #write: (chunk: Buffer) => Promise<void>;
  #bytesLeft: number;
  #isNewLine = true;
  #isFormatKnown = false;

  constructor(options: ContainerLogOptions, write: (chunk: Buffer) => Promise<void>) {
    this.#options = options;
    this.#write = write;
    this.#bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  get isFull(): boolean {
    return this.#bytesLeft <= 0;
  }

  async write(lines: readonly Buffer[]): Promise<void> {
    const chunks: Buffer[] = [];
    for (const line of lines) {
      if (this.isFull) break;
      const text = this.#format(line);
      if (text === undefined) continue;
      chunks.push(text.subarray(0, Math.min(text.length, this.#bytesLeft)));
      this.#bytesLeft -= text.length;
    }
    if (chunks.length > 0) await this.#write(Buffer.concat(chunks));
  }

  #format(line: Buffer): Buffer | undefined {
    const { sinceMs, stream, timestamps } = this.#options;
    const parsed = parseLogLine(line);
    if (parsed === undefined && !this.#isFormatKnown) throw new Error('unsupported log format');
    this.#isFormatKnown = true;
    if (parsed === undefined) return undefined;
    const { time, epochMs, text } = parsed;
    const isNewLine = this.#isNewLine;
    this.#isNewLine = text.length === 0 || text.at(-1) === newline;
    if ((sinceMs !== undefined && epochMs < sinceMs) || (stream !== undefined && stream !== parsed.stream))
      return undefined;
    return timestamps === true && isNewLine ? Buffer.concat([Buffer.from(`${fixedWidthTime(time)} `), text]) : text;
  }
}

/** Waits for changes of a file. */
class Changes {
  readonly #clock: Pick<Clock, 'afterFunc'>;
  /** Notifications may be lost, so the file is also read every second. */
  readonly #unwatch: () => void;
  #hasChanged = false;
  #isNew = true;
  #wake: (() => void) | undefined;

  constructor(path: string, clock: Pick<Clock, 'afterFunc'>) {
    this.#clock = clock;
    this.#unwatch = watchFile(path, () => {
      this.#hasChanged = true;
      this.#wake?.();
    });
  }

  /** True the first time it is called. */
  isNew(): boolean {
    const isNew = this.#isNew;
    this.#isNew = false;
    return isNew;
  }

  /** Resolves after a change since the last call, after a second, or when the signal is aborted. */
  async next(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.#hasChanged || signal.aborted) return resolve();
      const timer = this.#clock.afterFunc(forceCheckMs, resolve);
      this.#wake = () => {
        timer.stop();
        resolve();
      };
      signal.addEventListener('abort', this.#wake, { once: true });
    });
    if (this.#wake !== undefined) signal.removeEventListener('abort', this.#wake);
    this.#wake = undefined;
    this.#hasChanged = false;
  }

  close(): void {
    this.#unwatch();
  }
}
