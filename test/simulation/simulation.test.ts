import { describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.ts';
import { settings } from './settings.ts';

const size = { pods: 2, pace: 1, forMs: 10_000 };

describe.each([...settings.values()])('the simulation of $name', (setting) => {
  it('keeps all guarantees with seed 1, and has the same history twice', async () => {
    const first = await runSeed(setting, '1', { size });
    expect(first.violations).toEqual([]);
    const second = await runSeed(setting, '1', { size });
    expect(second.hash).toBe(first.hash);
  }, 180_000);
});
