import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** File descriptors up to this one are the output of the process; higher ones are files. */
const lastStandardFd = 2;

/** The disk of this process, which can be full. Then no file can grow, but existing bytes can be overwritten. */
export interface Disk {
  isFull: boolean;
}

/** Replaces `fs.writeSync` for the complete process, which is possible because each agent has its own process. */
export function installDisk(): Disk {
  const disk: Disk = { isFull: false };
  const writeSync = fs.writeSync.bind(fs) as (fd: number, ...rest: unknown[]) => number;
  const replacement = (fd: number, bytes: Buffer, offset: number, length: number, position: number): number => {
    if (!disk.isFull || fd <= lastStandardFd) return writeSync(fd, bytes, offset, length, position);
    const free = fs.fstatSync(fd).size - position;
    if (free <= 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    return writeSync(fd, bytes, offset, Math.min(length, free), position);
  };
  fs.writeSync = replacement as typeof fs.writeSync;
  syncBuiltinESMExports();
  return disk;
}
