import { type Disk, replaceFile } from '../../shared/disk.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { reasonOf } from '../../shared/logger.ts';
import { checksumOf, decodeEnvelope, encodeEnvelope } from './checkpoint-format.ts';

/** Enough for some 100,000 pods. */
const maxDataBytes = 64 * 1024 * 1024;
/** As text in the envelope, each character of the data takes at most twice its bytes. */
const maxCheckpointBytes = 2 * maxDataBytes + 1024;

/** Content of a checkpoint file. */
export interface Checkpoint<T> {
  readonly value: T;
  readonly checksum: number;
}

/**
 * One checkpoint file. Writes are serialised. Calls during a write share the next write, which has the
 * newest data.
 */
export class CheckpointFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #encode: () => string;
  /** Checksum of the data in the file; undefined if there is no file yet, or if it is not known. */
  #lastChecksum: number | undefined;
  #latest: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  /** @param encode returns the current data; called when a write begins */
  constructor(disk: Disk, filePath: string, lastChecksum: number | undefined, encode: () => string) {
    this.#disk = disk;
    this.#path = filePath;
    this.#lastChecksum = lastChecksum;
    this.#encode = encode;
  }

  /**
   * Resolves when the file has the current data or newer. Rejects with `CHECKPOINT_WRITE_FAILED`; the
   * next call retries.
   */
  write(): Promise<void> {
    this.#waiting ??= this.#latest
      .catch(() => {}) // its own callers have received the error
      .then(() => {
        this.#waiting = undefined;
        return this.#writeNow();
      });
    this.#latest = this.#waiting;
    return this.#waiting;
  }

  async #writeNow(): Promise<void> {
    const data = this.#encode();
    try {
      // A larger file would keep the next process from starting.
      if (Buffer.byteLength(data) > maxDataBytes) throw new Error(`over ${maxDataBytes} bytes`);
      const checksum = checksumOf(data);
      if (checksum === this.#lastChecksum) return;
      // A write that fails may have been made.
      this.#lastChecksum = undefined;
      await replaceFile(this.#disk, this.#path, encodeEnvelope(data));
      this.#lastChecksum = checksum;
    } catch (cause) {
      throw new StatusManagerError(
        'CHECKPOINT_WRITE_FAILED',
        `Cannot write the checkpoint ${this.#path}, the change is in memory only: ${reasonOf(cause)}`,
        { cause },
      );
    }
  }
}

/** Creates the directory of a checkpoint, mode 0755. Throws `CHECKPOINT_WRITE_FAILED`. */
export async function makeCheckpointDirectory(disk: Disk, dir: string): Promise<void> {
  try {
    await disk.makeDirectories(dir, 0o755);
  } catch (cause) {
    throw new StatusManagerError('CHECKPOINT_WRITE_FAILED', `Cannot create the checkpoint directory ${dir}`, { cause });
  }
}

/**
 * Resolves with undefined when there is no file. Rejects with `CHECKPOINT_READ_FAILED` when it cannot be read or is not a regular file, with
 * `CORRUPT_CHECKPOINT` when its checksum is wrong or `decode` throws.
 */
export async function readCheckpoint<T>(
  disk: Disk,
  filePath: string,
  decode: (data: string) => T,
): Promise<Checkpoint<T> | undefined> {
  const text = await readText(disk, filePath);
  if (text === undefined) return undefined;
  try {
    const data = decodeEnvelope(text);
    return { value: decode(data), checksum: checksumOf(data) };
  } catch (cause) {
    throw new StatusManagerError(
      'CORRUPT_CHECKPOINT',
      `Cannot use the checkpoint ${filePath}: ${(cause as Error).message}. Drain the node, delete the file and start again`,
      { cause },
    );
  }
}

async function readText(disk: Disk, filePath: string): Promise<string | undefined> {
  try {
    return (await disk.read(filePath, maxCheckpointBytes)).toString();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new StatusManagerError('CHECKPOINT_READ_FAILED', `Cannot read the checkpoint ${filePath}: ${message}`, {
      cause,
    });
  }
}
