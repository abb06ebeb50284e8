import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { cpuMsOfThis, mainThreadCPUMsOfThis } from '../cpu.ts';

/**
 * - `run`: all pods in the cloud start to run.
 * - `change`: each container has been restarted once more.
 * - `stop`: all pods have ended with exit code 0.
 * - `save FILE`: writes the state of the cloud, with another restart of the last pod of each node.
 * - `profile`: begins a CPU profile. With PROFILE=1 in the environment, the process begins with one.
 * - `profiled FILE`: ends it, and writes it: as a .cpuprofile, or for `go tool pprof`.
 * - `usage`: nothing but the reply, which every command has.
 */
export type Command = 'run' | 'change' | 'stop' | 'profile' | 'usage' | `profiled ${string}` | `save ${string}`;

/** What a contestant replies to each command. */
export interface Reply {
  /** User and system time since the start of the process. */
  readonly cpuMs: number;
  /** That of the main thread alone; absent where Node.js cannot tell, and without Node.js. */
  readonly mainThreadCPUMs?: number | undefined;
  readonly rssBytes: number;
  /** The number of pods in the cloud. */
  readonly pods: number;
}

/** The reply of this process. */
export function replyOfThis(pods: number): Reply {
  return {
    ...{ cpuMs: cpuMsOfThis(), mainThreadCPUMs: mainThreadCPUMsOfThis() },
    ...{ rssBytes: process.memoryUsage.rss(), pods },
  };
}

/** A process with virtual nodes and a cloud in its memory. */
export interface Contestant {
  readonly pid: number;
  /** Resolves when all nodes are ready. */
  readonly ready: Promise<Reply>;
  ask(command: Command): Promise<Reply>;
  /** Ends the process without a drain. */
  end(): Promise<void>;
}

/** Starts `command PREFIX NODES [STATE]`. It writes a line of JSON when it is ready, and one for each line that it reads. */
export function startContestant(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): Contestant {
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const reply = async (): Promise<Reply> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error(`${file} ended early`);
    return JSON.parse(value) as Reply;
  };
  const ready = reply();
  return {
    pid: child.pid!,
    ready,
    async ask(command) {
      await ready;
      child.stdin.write(`${command}\n`);
      return reply();
    },
    async end() {
      child.stdin.end();
      await exit;
    },
  };
}
