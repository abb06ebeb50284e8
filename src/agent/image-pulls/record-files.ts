import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Disk, replaceFile } from '../../shared/disk.ts';
import { OneAtATime } from '../../shared/one-at-a-time.ts';

/** A record has about 200 bytes for each Secret that has pulled its image. */
const maxRecordBytes = 1_048_576;
const prefix = 'sha256-';

export interface RecordFilesOptions<T> {
  readonly disk: Disk;
  /** Undefined: the records are in memory only. */
  readonly directory: string | undefined;
  readonly keyOf: (record: T) => string;
  readonly encode: (record: T) => string;
  /** Throws if the text is not a record. */
  readonly decode: (text: string) => T;
}

/**
 * Records by a key, each in a file whose name is a hash of the key. Reads are served from memory. A change is in memory
 * before its write begins, and writes are made one after the other. Source: kubelet `fsPullRecordsAccessor`.
 */
export class RecordFiles<T> {
  readonly #options: RecordFilesOptions<T>;
  /** By file name; a file that cannot be read has undefined. */
  readonly #records = new Map<string, T | undefined>();
  readonly #writes = new OneAtATime();
  /** File names of records whose last write has failed, or has not ended. */
  readonly #unwritten = new Set<string>();

  constructor(options: RecordFilesOptions<T>) {
    this.#options = options;
  }

  /** Reads all files, before any other method is called. Rejects if the folder cannot be created or listed. */
  async load(): Promise<void> {
    const { disk, directory, keyOf, decode } = this.#options;
    if (directory === undefined) return;
    await disk.makeDirectories(directory, 0o700);
    for (const name of await disk.list(directory)) {
      if (!name.startsWith(prefix) || name.endsWith('.tmp')) continue;
      const record = await disk
        .read(join(directory, name), maxRecordBytes)
        .then((content) => decode(content.toString()))
        .catch(() => undefined);
      this.#records.set(name, record !== undefined && fileName(keyOf(record)) === name ? record : undefined);
    }
  }

  /** True also for a file that cannot be read. */
  has(key: string): boolean {
    return this.#records.has(fileName(key));
  }

  /** Undefined if there is none, or if it cannot be read. */
  get(key: string): T | undefined {
    return this.#records.get(fileName(key));
  }

  /** Whether the record's file is as in memory. */
  isWritten(key: string): boolean {
    return !this.#unwritten.has(fileName(key));
  }

  /** Without those that cannot be read. */
  list(): readonly T[] {
    return [...this.#records.values()].filter((record) => record !== undefined);
  }

  /** Replaces the file atomically. */
  async write(record: T): Promise<void> {
    const { disk, directory, keyOf, encode } = this.#options;
    const name = fileName(keyOf(record));
    this.#records.set(name, record);
    if (directory === undefined) return;
    this.#unwritten.add(name);
    await this.#writes.run(undefined, async () => {
      await disk.makeDirectories(directory, 0o700);
      await replaceFile(disk, join(directory, name), encode(record));
      if (this.#records.get(name) === record) this.#unwritten.delete(name);
    });
  }

  async delete(key: string): Promise<void> {
    const name = fileName(key);
    const { disk, directory } = this.#options;
    this.#records.delete(name);
    this.#unwritten.delete(name);
    if (directory === undefined) return;
    await this.#writes.run(undefined, async () => disk.remove(join(directory, name)));
  }
}

function fileName(key: string): string {
  return `${prefix}${createHash('sha256').update(key).digest('hex')}`;
}
