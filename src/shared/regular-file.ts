import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

/** Why a file was not read. The message names the file and never quotes its content. */
export type RegularFileErrorCode = 'NOT_A_REGULAR_FILE' | 'FILE_TOO_LARGE';

export class RegularFileError extends Error {
  override readonly name = 'RegularFileError';
  readonly code: RegularFileErrorCode;

  constructor(code: RegularFileErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Opening a FIFO for reading would otherwise block until somebody writes to it. Absent on Windows. */
const openFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a regular file; follows symbolic links. Never blocks on a FIFO, and never reads a device or
 * more than `maxBytes`, even if the file grows in the meantime. Rejects with a `RegularFileError`, or
 * with the error of the file system, for example ENOENT.
 */
export async function readRegularFile(
  path: string,
  maxBytes: number,
  files: { open(path: string, flags: number): Promise<FileHandle> } = { open },
): Promise<Buffer> {
  const handle = await files.open(path, openFlags);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) {
      throw new RegularFileError('NOT_A_REGULAR_FILE', `${path} is ${kindOf(stats)}, not a regular file`);
    }
    if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
    // `end` is inclusive: one byte too many shows that the file has grown.
    const content = await buffer(handle.createReadStream({ end: maxBytes, autoClose: false }));
    if (content.length > maxBytes) throw tooLarge(path, maxBytes);
    return content;
  } finally {
    await handle.close();
  }
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isCharacterDevice() || stats.isBlockDevice()) return 'a device';
  return 'a special file';
}

function tooLarge(path: string, maxBytes: number): RegularFileError {
  return new RegularFileError('FILE_TOO_LARGE', `${path} is larger than ${maxBytes} bytes`);
}
