import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Linux `O_PATH`, for which Node.js has no constant: only a reference, so no writer of a FIFO and no driver is involved. */
const referenceFlags =
  process.platform === 'linux' ? 0x20_00_00 | constants.O_NOFOLLOW : constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a regular file for reading. Rejects for a link, and for a FIFO or a device, without opening it: that could block a
 * thread, or start a watchdog of the machine.
 */
async function openRegularFile(path: string): Promise<FileHandle> {
  const reference = await open(path, referenceFlags);
  try {
    if (!(await reference.stat()).isFile()) throw new Error('not a regular file');
    if (process.platform !== 'linux') return await open(path, constants.O_RDONLY | referenceFlags);
    return await open(`/proc/self/fd/${reference.fd}`, constants.O_RDONLY);
  } finally {
    await reference.close();
  }
}

/** The last bytes of a regular file. */
export async function readEnd(path: string, maxBytes: number): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
