import { describe, expect, it } from 'vitest';
import { probeTraces } from './probe-traces.ts';

describe('explain() and inspect() in every callback', () => {
  it.each([
    ['by default', {}, 0],
    ['readBeforePatch when-stale', { readBeforePatch: 'when-stale' }, 5],
  ] as const)(
    'say what is true at that moment, through the pod lives of every tenth trace: %s',
    async (_, options, remainder) => {
      const { traces, callbacks, lies } = await probeTraces(options, (index) => index % 10 === remainder);
      expect(lies).toEqual([]);
      expect(traces).toBe(300);
      expect(callbacks).toBeGreaterThan(20);
    },
  );
});
