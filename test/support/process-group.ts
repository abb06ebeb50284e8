import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';

export interface ServerProcess {
  readonly name: string;
  /** Undefined if it could not be started. */
  readonly pid: number | undefined;
  isAlive(): boolean;
  /** The last lines of its output. */
  logTail(): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has exited; immediately if it already had. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/**
 * The servers of one control plane, and a shell that outlives this process. The shell reads from its
 * standard input which processes are running. When that input ends, even because this process was
 * killed, the shell kills them and removes the folder, unless that is to be kept.
 */
export class ProcessGroup {
  readonly #dir: string;
  readonly #keepsFolder: boolean;
  readonly #watchdog: ChildProcess;
  readonly #running = new Map<ChildProcess, ServerProcess>();
  #ended: Promise<void> | undefined;

  constructor(dir: string, { keepsFolder = false } = {}) {
    this.#dir = dir;
    this.#keepsFolder = keepsFolder;
    const script = `trap '' INT TERM HUP; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; [ -z "$1" ] || rm -rf "$1"`;
    this.#watchdog = spawn('/bin/sh', ['-c', script, 'sh', keepsFolder ? '' : dir], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#watchdog.unref();
    // If something has killed the shell, the tests can still continue.
    this.#watchdog.stdin?.on('error', () => {});
    const input = this.#watchdog.stdin as unknown as { unref?: () => void };
    input.unref?.();
  }

  start(name: string, file: string, args: readonly string[]): ServerProcess {
    const logFile = path.join(this.#dir, `${name}.log`);
    const log = openSync(logFile, 'a', 0o600);
    // It has its own process group, so that Ctrl-C in a terminal only reaches the tests, which then stop it.
    const child = spawn(file, args, {
      stdio: ['ignore', log, log],
      detached: true,
      cwd: this.#dir,
    });
    closeSync(log);
    child.unref();
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => {
        this.#running.delete(child);
        this.#tellWatchdog();
        resolve();
      });
      child.once('error', () => {
        this.#running.delete(child);
        resolve();
      });
    });
    const server: ServerProcess = {
      name,
      pid: child.pid,
      isAlive: () => this.#running.has(child),
      logTail: async () => (await readFile(logFile, 'utf8').catch(() => '')).split('\n').slice(-20).join('\n'),
      signal: (name) => void child.kill(name),
      kill: async (signal) => {
        if (!this.#running.has(child)) return;
        // An unreferenced child would not keep this process alive while its exit is awaited.
        child.ref();
        child.kill(signal);
        await exited;
      },
    };
    this.#running.set(child, server);
    this.#tellWatchdog();
    return server;
  }

  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#running.values()].map((server) => server.kill('SIGKILL')));
    if (this.#watchdog.exitCode === null && this.#watchdog.signalCode === null) {
      this.#watchdog.ref();
      const exited = once(this.#watchdog, 'exit');
      this.#watchdog.stdin?.end();
      await exited;
    }
    if (!this.#keepsFolder) await rm(this.#dir, { recursive: true, force: true });
  }

  #tellWatchdog(): void {
    const pids = [...this.#running.keys()].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    this.#watchdog.stdin?.write(`${pids.join(' ')}\n`);
  }
}
