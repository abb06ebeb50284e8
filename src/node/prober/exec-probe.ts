import type { Clock } from '../../shared/clock.ts';
import type { Container } from '../../kube/objects/types.ts';
import { expandReferences } from '../container-options/expand-references.ts';
import { ExpansionLimit } from '../container-options/expansion-limit.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { withDeadline } from '../../shared/deadline.ts';
import type { ProbeOutcome } from './prober.ts';

/** Longer output is truncated, as is a longer response body. */
export const maxOutputLength = 10 * 1024;

export interface ExecProbeRequest {
  readonly containerID: string;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

/**
 * The runtime limits the command, and counts from when it runs: on a busy machine, its start alone may take longer than a
 * time-out of a second. If the runtime has not responded this long after the time-out, the call is given up. Source: kubelet
 * `runtimeRequestTimeout`.
 */
const runtimeGraceMs = 120_000;

/**
 * Runs a command in the container; exit code 0 is a success. A time-out is a failure. Rejects if the
 * runtime cannot run it. Source: kubelet `execprobe.Probe`, `RunInContainer`.
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
  return withDeadline(clock, timeoutMs + runtimeGraceMs, signal, async (deadline) => {
    try {
      const running = runtime.execSync(containerID, command, timeoutMs, { signal: deadline.signal });
      const result = await undefinedIfAborted(running, deadline.signal);
      if (result === undefined) return timedOut;
      const { exitCode, stdout, stderr } = result;
      return { result: exitCode === 0 ? 'success' : 'failure', output: (stdout + stderr).slice(0, maxOutputLength) };
    } catch (error) {
      if (clock.monotonicMs() - startedMs >= timeoutMs) return timedOut;
      throw error;
    }
  });
}

/**
 * A command with `$(NAME)` replaced by the values that the container's spec gives its environment
 * variables; a variable with `valueFrom` is empty here. `$$` is a `$`, and an unknown `$(NAME)` stays
 * as it is. Source: kubelet `ExpandContainerCommandOnlyStatic`. @throws ContainerConfigError
 */
export function expandCommand(command: readonly string[], env: Container['env']): string[] {
  const values = new Map(env?.map(({ name, value = '' }) => [name, value]));
  const limit = new ExpansionLimit();
  return command.map((text) => expandReferences(text, (name) => values.get(name), limit));
}
