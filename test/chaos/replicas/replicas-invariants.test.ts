import { describe, expect, it } from 'vitest';
import { checkEpochs, checkUse } from './replicas-invariants.ts';

const call = (replica: string, epoch: number, startMs: number, endMs: number | undefined = startMs + 10) => ({
  ...{ node: 'node-a', replica, epoch, startMs, endMs },
});

describe('checkEpochs', () => {
  it('accepts owners one after the other with higher epochs', () => {
    expect(checkEpochs([call('a', 1, 0), call('a', 1, 50), call('b', 2, 100), call('a', 3, 200)], [])).toEqual([]);
  });

  it.each<[string, Parameters<typeof checkEpochs>[0]]>([
    ['one owner for each epoch', [call('a', 1, 0), call('b', 1, 100)]],
    ['no call with an old epoch', [call('b', 2, 0), call('a', 1, 100)]],
    ['calls of an owner have ended before the next one begins', [call('a', 1, 0, 150), call('b', 2, 100)]],
    [
      'calls of an owner have ended before the next one begins',
      [{ ...call('a', 1, 0), endMs: undefined }, call('b', 2, 100)],
    ],
  ])('finds: %s', (invariant, calls) => {
    expect(checkEpochs(calls, []).map((violation) => violation.invariant)).toEqual([invariant]);
  });

  it('a process that was stopped may send one call that was due when it continues, but no later one', () => {
    const pauses = [{ replica: 'a', fromMs: 10, toMs: 1_000 }];
    expect(checkEpochs([call('b', 2, 900), call('a', 1, 1_050)], pauses)).toEqual([]);
    expect(checkEpochs([call('b', 2, 900), call('a', 1, 1_500)], pauses)).toHaveLength(1);
  });
});

describe('checkUse', () => {
  const windows = [{ name: 'kill', fromMs: 0, toMs: 1_000 }];
  it('accepts calls without long gaps', () => {
    expect(checkUse([call('a', 1, 400), call('b', 2, 800)], ['node-a'], windows, 500)).toEqual([]);
  });

  it.each([[[]], [[call('a', 1, 100)]], [[call('a', 1, 900)]]])('finds a gap', (calls) => {
    expect(checkUse(calls, ['node-a'], windows, 500)).toHaveLength(1);
  });
});
