import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { codeOf } from './error-code.ts';
import type { HostFiles } from './host-files.ts';

/** Whether the kernel resolves names relative to an open directory, `/proc/self/fd/N/name`, and has `O_PATH`. */
export const isLinux = process.platform === 'linux';

/** Linux `O_PATH`, for which Node.js has no constant: only a reference, so no writer of a FIFO and no driver is involved. */
export const pathOnly = 0x20_00_00;
const referenceFlags = constants.O_NOFOLLOW | (isLinux ? pathOnly : constants.O_NONBLOCK);

/**
 * Opens a file without waiting for anybody. Otherwise, a container that holds a lease of its file (`fcntl F_SETLEASE`) would
 * block one of the four threads of Node.js for 45 s. The error says that the file is busy.
 */
export async function openWithoutWaiting(
  files: HostFiles,
  path: string | Buffer,
  flags: number,
  mode?: number,
): Promise<FileHandle> {
  try {
    return await files.open(path, flags | constants.O_NONBLOCK, mode);
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN') throw error;
    throw Object.assign(new Error('the file is busy: a process holds a lease of it', { cause: error }), {
      code: 'EAGAIN',
    });
  }
}

/** Opens what a path leads to, but not through a link at its end, without reading it. */
export async function openReference(files: HostFiles, path: string | Buffer): Promise<FileHandle> {
  return files.open(path, referenceFlags);
}

/**
 * Opens a regular file for reading. Rejects for a busy file and for a link, and for a FIFO or a device, without opening it:
 * that could block a thread, or start a watchdog of the machine.
 */
export async function openRegularFile(files: HostFiles, path: string | Buffer): Promise<FileHandle> {
  const reference = await openReference(files, path);
  try {
    if (!(await reference.stat()).isFile()) throw new Error('not a regular file');
    if (!isLinux) return await openWithoutWaiting(files, path, constants.O_RDONLY | referenceFlags);
    return await openWithoutWaiting(files, `/proc/self/fd/${reference.fd}`, constants.O_RDONLY);
  } finally {
    await reference.close();
  }
}

/** The last bytes of a regular file. */
export async function readEnd(files: HostFiles, path: string, maxBytes: number): Promise<Buffer> {
  const file = await openRegularFile(files, path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Reads an open file, and closes it. Rejects if it is longer. */
export async function readAll(file: FileHandle, maxBytes: number): Promise<Buffer> {
  try {
    const { size } = await file.stat();
    // One byte too many shows that it has grown.
    const buffer = Buffer.alloc(Math.min(size, maxBytes) + 1);
    let length = 0;
    for (let bytesRead = -1; bytesRead !== 0 && length < buffer.length; length += bytesRead)
      ({ bytesRead } = await file.read(buffer, length, buffer.length - length, length));
    if (length > maxBytes) throw new Error(`the file is larger than ${maxBytes} bytes`);
    return buffer.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** Whether a path leads to something; follows links. */
export async function exists(files: HostFiles, path: string): Promise<boolean> {
  return files.stat(path).then(
    () => true,
    () => false,
  );
}
