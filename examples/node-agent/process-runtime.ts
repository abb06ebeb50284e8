import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Container, Pod } from 'kubelet-status-manager';
import { resolveContainerCommand } from './container-command.ts';
import type { ContainerExit, ContainerRuntime, RunningContainer } from './container-runtime.ts';

/**
 * Runs each container as a process on this machine, in its own process group, so that signals also
 * reach its child processes, which are killed when it ends. The process gets the container's `env`
 * and PATH, but nothing else of the agent's environment. Its output goes to
 * `<directory>/<namespace>_<pod>_<uid>/<container>.<restartCount>.log`.
 */
export class ProcessRuntime implements ContainerRuntime {
  readonly #directory: string;
  readonly #running = new Set<number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(pod: Pod, container: Container, restartCount: number): Promise<RunningContainer> {
    const command = resolveContainerCommand(pod, container);
    const podDirectory = join(this.#directory, `${pod.metadata?.namespace}_${pod.metadata?.name}_${pod.metadata?.uid}`);
    await mkdir(podDirectory, { recursive: true, mode: 0o700 });
    const log = await open(join(podDirectory, `${container.name}.${restartCount}.log`), 'a', 0o600);
    try {
      const child = spawn(command.file, command.args, {
        cwd: command.workingDir ?? podDirectory,
        env: { PATH: process.env['PATH'], HOME: podDirectory, ...command.env },
        stdio: ['ignore', log.fd, log.fd],
        detached: true,
      });
      if (child.pid !== undefined) this.#running.add(child.pid);
      const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
      // once() also rejects on 'error': when the start fails, this rejection must not stay unhandled.
      ended.catch(() => {});
      await once(child, 'spawn');
      const pid = child.pid!;
      return {
        id: `process://${pid}`,
        exited: ended.then(([code, signal]) => {
          this.#running.delete(pid);
          signalProcessGroup(pid, 'SIGKILL'); // child processes that are still running
          return describeExit(code, signal);
        }),
        signal: (name) => {
          if (this.#running.has(pid)) signalProcessGroup(pid, name);
        },
      };
    } finally {
      await log.close();
    }
  }

  /** Kills all processes synchronously: the last resort when the agent itself exits. */
  killAll(): void {
    for (const pid of this.#running) signalProcessGroup(pid, 'SIGKILL');
  }
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): ContainerExit {
  // A process that was killed by a signal reports 128 + the signal's number, as shells and container runtimes do.
  const exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' };
}

function signalProcessGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: the group is gone. EPERM: on macOS, only zombies are left in the group.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
