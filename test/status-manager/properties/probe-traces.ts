import { fileURLToPath } from 'node:url';
import type { Divergence } from '../../parity/compare.ts';
import { type ReplayOptions, replayTrace } from '../../parity/replay.ts';
import { readTraces } from '../../parity/trace.ts';
import { CallbackProbe } from './callback-probe.ts';

const tracesFile = fileURLToPath(new URL('../../parity/testdata/traces.jsonl.gz', import.meta.url));

/** The first trace in which `explain()` or `inspect()` says something wrong in a callback, and how many callbacks there were. */
export async function probeTraces(
  options: Pick<ReplayOptions, 'readBeforePatch'>,
  isProbed: (index: number) => boolean,
): Promise<{ readonly traces: number; readonly callbacks: number; readonly lies: readonly (string | Divergence)[] }> {
  const callbacks = new Set<string>();
  let traces = 0;
  for await (const trace of readTraces(tracesFile)) {
    if (!isProbed(traces++)) continue;
    let probe: CallbackProbe | undefined;
    const probing = (...args: ConstructorParameters<typeof CallbackProbe>) => (probe = new CallbackProbe(...args));
    // One pod at a time, so that a response that has arrived is not one that the manager has not read yet.
    const divergences = await replayTrace(trace, { concurrency: 1, ...options, probing });
    for (const callback of probe!.calls.keys()) callbacks.add(callback);
    const lies = [...divergences, ...[...probe!.lies].map((lie) => `${trace.name}: ${lie}`)];
    if (lies.length > 0) return { traces, callbacks: callbacks.size, lies };
  }
  return { traces, callbacks: callbacks.size, lies: [] };
}
