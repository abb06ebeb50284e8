import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Of the process' own output; everything above is a file. */
const lastStandardFd = 2;

/** The disk of this process, which can be full: no file grows then, what is within a file can be rewritten. */
export interface Disk {
  isFull: boolean;
}

/** Replaces `fs.writeSync` for the whole process: a process of its own is what an agent has here. */
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
