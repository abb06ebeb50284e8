import { readFileSync } from 'node:fs';

/** Of a tick in /proc/PID/stat, everywhere on Linux. */
const tickMs = 10;

/** The user and system time of processes, in milliseconds; undefined where there is no /proc. */
export function cpuMsOf(pids: readonly number[]): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return pids.map(ticksOf).reduce((sum, ticks) => sum + ticks, 0) * tickMs;
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second column, the name of the program, may contain spaces and parentheses.
  const { 11: user, 12: system } = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(user) + Number(system);
}
