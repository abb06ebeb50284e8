import { type ChildProcess, spawn } from 'node:child_process';

/** Sends a signal to all processes of a group. A group that has ended is ignored. */
export function signalProcessGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch (error) {
    // ESRCH: the group is gone. EPERM: on macOS, only zombies are left in the group.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** Reads lines `+ PGID` and `- PGID`. When the pipe is closed, kills the groups that are left. */
const guardScript = `
trap '' HUP INT TERM
groups=
while read -r change pgid; do
  others=
  for group in $groups; do [ "$group" = "$pgid" ] || others="$others $group"; done
  groups=$others
  [ "$change" = - ] || groups="$groups $pgid"
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`;

/**
 * Kills process groups when this process ends, even by SIGKILL: a small shell outside of this process reads from a pipe,
 * which the kernel closes when this process ends. The shell acts immediately, so that no process ID can have been reused.
 */
export class ProcessGroupGuard {
  readonly #groups = new Set<number>();
  #guard: ChildProcess | undefined;

  /** Ensures that the group does not outlive this process. */
  add(pgid: number): void {
    this.#groups.add(pgid);
    if (this.#guard === undefined) this.#start();
    else this.#guard.stdin!.write(`+ ${pgid}\n`);
  }

  /** The group has ended. */
  delete(pgid: number): void {
    this.#groups.delete(pgid);
    this.#guard?.stdin!.write(`- ${pgid}\n`);
  }

  /** Kills the groups that are left. */
  close(): void {
    this.#guard?.stdin!.end();
    this.#guard = undefined;
  }

  #start(): void {
    const guard = spawn('/bin/sh', ['-c', guardScript], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: {},
    });
    this.#guard = guard;
    guard.unref();
    guard.stdin.on('error', () => {}); // it was killed: `exit` follows
    guard.on('error', () => {}); // it could not be started: the groups are unguarded
    guard.on('exit', () => {
      if (this.#guard !== guard) return;
      this.#guard = undefined;
      if (this.#groups.size > 0) this.#start();
    });
    for (const pgid of this.#groups) guard.stdin.write(`+ ${pgid}\n`);
  }
}
