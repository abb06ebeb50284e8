import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** TCP_ESTABLISHED in the column `st` of /proc/net/tcp. */
const established = '01';

/** The number of TCP connections of a process; undefined where there is no /proc. */
export function connectionsOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => socketOf(`/proc/${pid}/fd/${fd}`)));
  return ['tcp', 'tcp6']
    .flatMap((protocol) => readFileSync(`/proc/${pid}/net/${protocol}`, 'utf8').split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(({ 3: state, 9: inode }) => state === established && sockets.has(inode)).length;
}

/** The inode of a socket; undefined for any other file. */
function socketOf(file: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(file))?.[1];
  } catch {
    // Closed in the meantime.
    return undefined;
  }
}
