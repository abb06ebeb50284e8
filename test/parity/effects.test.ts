import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type ReplayOptions, replayTrace } from './replay.ts';
import { readTraces } from './trace.ts';

const traces = fileURLToPath(new URL('testdata/traces.jsonl.gz', import.meta.url));

describe.skipIf(!existsSync(traces))(
  'if the requests differ by design, their effects are the same as the kubelet’s',
  () => {
    it.each<ReplayOptions>([
      { readBeforePatch: 'when-stale' },
      { patchStrategy: 'json-patch' },
      { readBeforePatch: 'when-stale', patchStrategy: 'json-patch', concurrency: 1 },
    ])(
      '%j',
      async (options) => {
        let steps = 0;
        for await (const trace of readTraces(traces)) {
          steps += trace.steps.length;
          expect(await replayTrace(trace, options)).toEqual([]);
        }
        expect(steps).toBeGreaterThan(1_000);
      },
      60_000,
    );
  },
);
