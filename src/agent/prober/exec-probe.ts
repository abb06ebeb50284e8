import type { Clock } from '../../index.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { untilAborted, withDeadline } from '../deadline.ts';
import type { ProbeOutcome } from './probe-outcome.ts';

/** More of what a command prints is cut off, as more of a response's body. */
export const maxOutputLength = 10 * 1024;

export interface ExecProbeRequest {
  readonly containerID: string;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

/**
 * Runs a command in the container; exit code 0 is a success. A command that has not ended in time is
 * a failure, whatever the runtime does with it. Rejects when the runtime could not run it.
 * Source: kubelet `execprobe.Probe`, `RunInContainer`.
 */
export async function probeExec(
  { containerID, command, timeoutMs }: ExecProbeRequest,
  runtime: Pick<ContainerRuntime, 'execSync'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const startedMs = clock.monotonicMs();
  const timedOut: ProbeOutcome = {
    result: 'failure',
    output: `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${timeoutMs / 1000}s`,
  };
  return withDeadline(clock, timeoutMs, signal, async (deadline) => {
    try {
      const running = runtime.execSync(containerID, command, timeoutMs, { signal: deadline.signal });
      const result = await untilAborted(running, deadline.signal);
      if (result === undefined) return timedOut;
      const { exitCode, stdout, stderr } = result;
      return { result: exitCode === 0 ? 'success' : 'failure', output: (stdout + stderr).slice(0, maxOutputLength) };
    } catch (error) {
      // The runtime may be the one that notices that the time is over.
      if (clock.monotonicMs() - startedMs >= timeoutMs) return timedOut;
      throw error;
    }
  });
}
