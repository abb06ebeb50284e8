import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type ReplayOptions, replayTrace } from '../../parity/replay.ts';
import { readTraces } from '../../parity/trace.ts';
import { CallbackProbe } from './callback-probe.ts';

const tracesFile = fileURLToPath(new URL('../../parity/testdata/traces.jsonl.gz', import.meta.url));

describe('explain() and inspect() in every callback', () => {
  it.each<[string, ReplayOptions, number]>([
    // One pod at a time, so that a response that has arrived is not one that the manager has not read yet.
    ['by default', { concurrency: 1 }, 0],
    ['readBeforePatch when-stale', { concurrency: 1, readBeforePatch: 'when-stale' }, 1],
  ])(
    'say what is true at that moment, through the pod lives of every second trace: %s',
    async (_, options, parity) => {
      const calls = new Map<string, number>();
      let traces = 0;
      for await (const trace of readTraces(tracesFile)) {
        if (traces++ % 2 !== parity) continue;
        let probe: CallbackProbe | undefined;
        const probing = (...args: ConstructorParameters<typeof CallbackProbe>) => (probe = new CallbackProbe(...args));
        expect(await replayTrace(trace, { ...options, probing })).toEqual([]);
        expect({ trace: trace.name, lies: [...probe!.lies] }).toEqual({ trace: trace.name, lies: [] });
        for (const [callback, count] of probe!.calls) calls.set(callback, (calls.get(callback) ?? 0) + count);
      }
      expect(traces).toBe(300);
      expect(calls.size).toBeGreaterThan(20);
    },
    120_000,
  );
});
