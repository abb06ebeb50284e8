import { execFile } from 'node:child_process';

/** Runs a program. Rejects with its output if it fails, is missing or takes too long. */
export type RunCommand = (program: string, args: readonly string[]) => Promise<void>;

/** Source: opencontainers/cgroups `startUnit`, `stopUnit`. */
const timeoutMs = 30_000;

export const runCommand: RunCommand = (program, args) =>
  new Promise((resolve, reject) => {
    execFile(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const reason = error.killed ? `no result after ${timeoutMs / 1000} s` : stderr.trim() || error.message;
      reject(new Error(`${program}: ${reason}`, { cause: error }));
    });
  });
