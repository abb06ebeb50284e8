import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { ContainerIO, ExecResult } from '../node/index.ts';
import { LimitedOutput } from '../shared/limited-output.ts';
import type { Environment } from './container-files.ts';
import { type ProcessGroupGuard, signalProcessGroup } from './process-group.ts';

/** Further output is dropped, as in the kubelet's probes; the command continues. */
const maxOutputBytes = 64 * 1024;

export interface ExecRequest {
  readonly command: readonly string[];
  readonly env: Environment;
  readonly workingDir: string;
  /** Kills the command; the call then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Kills the command if the agent ends before it. */
  readonly guard: ProcessGroupGuard;
}

/** Runs a command in a process group of its own, which is killed when the command has ended. */
export async function exec(request: ExecRequest): Promise<ExecResult> {
  const [stdout, stderr] = [new LimitedOutput(maxOutputBytes), new LimitedOutput(maxOutputBytes)];
  const exitCode = await execWithStreams(request, { stdout, stderr });
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

/** Like `exec`, with the streams of a client. Resolves with the exit code. */
export function execWithStreams(
  { command, env, workingDir, signal, guard }: ExecRequest,
  { stdin, stdout, stderr }: Pick<ContainerIO, 'stdin' | 'stdout' | 'stderr'>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const [file = '', ...args] = command;
    const child = spawn(file, args, {
      ...{ cwd: workingDir, env, detached: true },
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const { pid } = child;
    child.once('error', reject);
    if (pid === undefined) return;
    guard.add(pid);
    const kill = (): void => {
      if (child.exitCode === null && child.signalCode === null) signalProcessGroup(pid, 'SIGKILL');
    };
    const onAbort = (): void => {
      kill();
      // A process that has left the group would keep them open.
      for (const pipe of child.stdio) pipe?.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort);
    if (child.stdin !== null) {
      child.stdin.on('error', () => {}); // the command need not read it
      stdin?.pipe(child.stdin);
    }
    for (const [from, to] of [
      [child.stdout, stdout],
      [child.stderr, stderr],
    ] as const) {
      if (to === undefined) from?.resume();
      else from?.pipe(to, { end: false });
    }
    child.once('exit', () => {
      signalProcessGroup(pid, 'SIGKILL'); // child processes that are still running, which would keep the pipes open
      guard.delete(pid);
    });
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', onAbort);
      resolve(code ?? 128 + constants.signals[killedBy!]);
    });
  });
}
