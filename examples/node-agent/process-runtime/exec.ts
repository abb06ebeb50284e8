import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { ExecResult } from 'kubelet-status-manager/agent';
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
export function exec({ command, env, workingDir, signal, guard }: ExecRequest): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const [file = '', ...args] = command;
    const child = spawn(file, args, { cwd: workingDir, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const { pid } = child;
    child.once('error', reject);
    if (pid === undefined) return;
    guard.add(pid);
    const kill = (): void => {
      if (child.exitCode === null && child.signalCode === null) signalProcessGroup(pid, 'SIGKILL');
    };
    const onAbort = (): void => {
      kill();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort);
    const output = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => {
        output[stream] = Buffer.concat([output[stream], chunk.subarray(0, maxOutputBytes - output[stream].length)]);
      });
    }
    child.once('exit', () => {
      signalProcessGroup(pid, 'SIGKILL'); // child processes that are still running, which would keep the pipes open
      guard.delete(pid);
      signal.removeEventListener('abort', onAbort);
    });
    child.once('close', (code, killedBy) => {
      const exitCode = code ?? 128 + constants.signals[killedBy!];
      resolve({ exitCode, stdout: output.stdout.toString(), stderr: output.stderr.toString() });
    });
  });
}
