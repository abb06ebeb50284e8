import { describe, expect, it } from 'vitest';
import { probeTraces } from './probe-traces.ts';

describe('explain() and inspect() in every callback', () => {
  it.each([
    ['by default', {}],
    ['readBeforePatch when-stale', { readBeforePatch: 'when-stale' }],
  ] as const)('say what is true at that moment, through the pod lives of all traces: %s', async (_, options) => {
    const { traces, callbacks, lies } = await probeTraces(options, () => true);
    expect(lies).toEqual([]);
    expect(traces).toBe(300);
    expect(callbacks).toBeGreaterThan(20);
  });
});
