import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Held = 'lease' | 'fuse';

const program = fileURLToPath(new URL('hold.py', import.meta.url));
const holders: ChildProcess[] = [];

/** Holds a lease of a file, or mounts a file system that never responds at a folder, until `releaseAll`. */
export async function hold(what: Held, path: string): Promise<void> {
  const holder = spawn('python3', [program, what, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  holders.push(holder);
  const [answer] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as unknown[];
  if (!String(answer).startsWith('holds')) throw new Error(`cannot hold a ${what}`);
}

export async function releaseAll(): Promise<void> {
  for (const holder of holders.splice(0)) {
    const exited = once(holder, 'exit');
    holder.stdin?.end();
    await exited;
  }
}

/** Whether this machine has it: a lease needs Linux and Python, FUSE also root and `/dev/fuse`. */
export function canHold(what: Held): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'hold-'));
  try {
    mkdirSync(join(folder, 'fuse'));
    writeFileSync(join(folder, 'lease'), '');
    const holding = ['python3', program, what, join(folder, what)];
    const result = what === 'fuse' ? spawnSync('unshare', ['--mount', ...holding]) : spawnSync('env', holding);
    return result.status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
