import { execFileSync } from 'node:child_process';

/** The process groups that have a process which is not a zombie. */
export function liveProcessGroups(): Set<number> {
  const groups = new Set<number>();
  for (const line of ps('pgid=,stat=').split('\n')) {
    const [group, state] = line.trim().split(/\s+/);
    if (state !== undefined && !state.startsWith('Z')) groups.add(Number(group));
  }
  return groups;
}

/** The processes whose arguments contain this text. */
export function processesWith(text: string): number[] {
  return ps('pid=,args=')
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => Number.parseInt(line, 10));
}

/** The shim of a container, which is the parent of its process; undefined if either has ended. */
export function shimOf(pid: number): number | undefined {
  const lines = ps('pid=,ppid=,args=').split('\n');
  const parent = lines.map((line) => line.trim().split(/\s+/)).find(([own]) => Number(own) === pid)?.[1];
  const isShim = lines.some((line) => Number.parseInt(line, 10) === Number(parent) && line.includes('shim.js'));
  return isShim ? Number(parent) : undefined;
}

function ps(columns: string): string {
  return execFileSync('ps', ['-A', '-ww', ...columns.split(',').flatMap((column) => ['-o', column])], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
}
