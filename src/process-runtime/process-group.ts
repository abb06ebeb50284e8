import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '../shared/clock.ts';
import { FailureLog, type FailureLogOptions } from '../shared/failure-log.ts';

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

/** If the shell could not be started, for example because there are too many processes or files, it is tried again. */
const retryMs = 1000;

/**
 * Kills process groups when this process ends, even by SIGKILL: a small shell outside of this process reads from a pipe,
 * which the kernel closes when this process ends. The shell acts immediately, so that no process ID can have been reused.
 */
export class ProcessGroupGuard {
  readonly #groups = new Set<number>();
  readonly #clock: Pick<Clock, 'afterFunc'>;
  readonly #starts: FailureLog;
  #guard: ChildProcess | undefined;
  #retry: Timer | undefined;

  /** @param what is killed, for the log */
  constructor(what: string, { clock, logger }: { clock: Clock } & Pick<FailureLogOptions, 'logger'>) {
    this.#clock = clock;
    const shell = `The shell that kills ${what} when this process ends`;
    const messages = { failed: `${shell} cannot be started`, recovered: `${shell} runs again` };
    this.#starts = new FailureLog({ clock, logger, what: messages });
  }

  /** Ensures that the group does not outlive this process. */
  add(pgid: number): void {
    this.#groups.add(pgid);
    if (this.#guard === undefined) this.#start();
    else this.#guard.stdin?.write(`+ ${pgid}\n`);
  }

  /** The group has ended. */
  delete(pgid: number): void {
    this.#groups.delete(pgid);
    this.#guard?.stdin?.write(`- ${pgid}\n`);
  }

  /** Kills the groups that are left. */
  close(): void {
    this.#retry?.stop();
    this.#guard?.stdin?.end();
    this.#guard = undefined;
  }

  #start(): void {
    const guard: ChildProcess = spawn('/bin/sh', ['-c', guardScript], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: {},
    });
    this.#guard = guard;
    guard.unref();
    const startAgain = (): void => {
      if (this.#guard !== guard) return;
      this.#guard = undefined;
      if (this.#groups.size > 0) this.#start();
    };
    guard.stdin?.on('error', () => {}); // it was killed: `exit` follows
    guard.on('spawn', () => this.#starts.succeeded());
    guard.on('error', (error) => {
      if (this.#guard !== guard) return;
      this.#starts.failed(error);
      this.#retry = this.#clock.afterFunc(retryMs, startAgain);
    });
    guard.on('exit', startAgain);
    for (const pgid of this.#groups) guard.stdin?.write(`+ ${pgid}\n`);
  }
}
