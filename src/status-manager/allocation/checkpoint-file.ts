import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectories } from '../../shared/make-directories.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { reasonOf } from '../../shared/logger.ts';
import { readRegularFile } from '../../shared/regular-file.ts';
import { checksumOf, decodeEnvelope, encodeEnvelope } from './checkpoint-format.ts';

/** Enough for some 100,000 pods. */
const maxCheckpointBytes = 64 * 1024 * 1024;

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
  readonly #path: string;
  readonly #encode: () => string;
  /** Checksum of the data in the file; undefined if there is no file yet. */
  #lastChecksum: number | undefined;
  #latest: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  /** @param encode returns the current data; called when a write begins */
  constructor(filePath: string, lastChecksum: number | undefined, encode: () => string) {
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
    const checksum = checksumOf(data);
    if (checksum === this.#lastChecksum) return;
    try {
      await replaceFile(this.#path, encodeEnvelope(data));
    } catch (cause) {
      throw new StatusManagerError(
        'CHECKPOINT_WRITE_FAILED',
        `Cannot write the checkpoint ${this.#path}, the change is in memory only: ${reasonOf(cause)}`,
        { cause },
      );
    }
    this.#lastChecksum = checksum;
  }
}

/** Replaces the file atomically, even if the process or the machine crashes. */
async function replaceFile(filePath: string, text: string): Promise<void> {
  const temporary = path.join(path.dirname(filePath), `.${path.basename(filePath)}`);
  await rm(temporary, { force: true });
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, filePath);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Creates the directory of a checkpoint, mode 0755. Throws `CHECKPOINT_WRITE_FAILED`. */
export async function makeCheckpointDirectory(dir: string): Promise<void> {
  try {
    await makeDirectories(dir, 0o755);
  } catch (cause) {
    throw new StatusManagerError('CHECKPOINT_WRITE_FAILED', `Cannot create the checkpoint directory ${dir}`, { cause });
  }
}

/**
 * Resolves with undefined when there is no file. Rejects with `CHECKPOINT_READ_FAILED` when it cannot be read or is not a regular file, with
 * `CORRUPT_CHECKPOINT` when its checksum is wrong or `decode` throws.
 */
export async function readCheckpoint<T>(
  filePath: string,
  decode: (data: string) => T,
): Promise<Checkpoint<T> | undefined> {
  const text = await readText(filePath);
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

async function readText(filePath: string): Promise<string | undefined> {
  try {
    return (await readRegularFile(filePath, maxCheckpointBytes)).toString();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new StatusManagerError('CHECKPOINT_READ_FAILED', `Cannot read the checkpoint ${filePath}: ${message}`, {
      cause,
    });
  }
}
