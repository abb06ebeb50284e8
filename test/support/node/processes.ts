import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All processes of the machine. */
export function listProcesses(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), parent, command }];
      } catch {
        return []; // It has ended.
      }
    });
}

/** The descendants of the processes whose command matches, without those processes. */
export function descendantsOf(matches: (command: string) => boolean): ProcessInfo[] {
  const all = listProcesses();
  const found: ProcessInfo[] = [];
  let parents = new Set(all.filter(({ command }) => matches(command)).map(({ pid }) => pid));
  while (parents.size > 0) {
    const children = all.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map(({ pid }) => pid));
  }
  return found;
}

/**
 * Starts a process that outlives this one, with a log in its folder. Ctrl-C reaches only this process.
 *
 * @throws Error if the program cannot be started
 */
export function startProcess(program: string, args: readonly string[], folder: string): number {
  const log = openSync(join(folder, `${basename(program)}.log`), 'a');
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  // Without a process ID, it has not been started.
  child.on('error', () => {});
  if (child.pid === undefined) throw new Error(`${program} cannot be started`);
  return child.pid;
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Sends a signal, and SIGKILL 10 s later; to a frozen process, too. */
export async function endProcess(pid: number, name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  signal(pid, name);
  signal(pid, 'SIGCONT');
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs === 10_000) signal(pid, 'SIGKILL');
    await sleep(20);
  }
}

export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2) !== 'Z';
  } catch {
    return false;
  }
}
