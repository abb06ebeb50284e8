import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { Slot } from '../../../src/status-manager/journal/journal-lines.ts';
import { OldLines } from '../../../src/status-manager/journal/old-lines.ts';

const slotAt = (offset: number, bytes = 128): Slot => ({ offset, bytes });

let canMark: boolean;
let marked: number[];
let lines: OldLines;
beforeEach(() => {
  canMark = true;
  marked = [];
  lines = linesWith();
});

function linesWith(free: readonly Slot[] = [], clock = new FakeClock()): OldLines {
  return new OldLines(clock, free, ({ offset }) => {
    if (canMark) marked.push(offset);
    return canMark;
  });
}

/** The position that a line of `bytes` gets. */
function used(bytes: number): number | undefined {
  let offset: number | undefined;
  lines.useFree(bytes, (slot) => {
    offset = slot.offset;
    return true;
  });
  return offset;
}

describe('superseded lines', () => {
  it('are not marked before they are given back, and each once', async () => {
    lines.supersede('a', slotAt(0));
    lines.supersede('a', slotAt(128));
    lines.supersede('b', slotAt(256));
    expect(marked).toEqual([]);
    const superseded = lines.superseded();
    expect(superseded).toEqual([
      { podUID: 'a', slot: slotAt(0) },
      { podUID: 'a', slot: slotAt(128) },
      { podUID: 'b', slot: slotAt(256) },
    ]);
    await lines.markInSlices(superseded);
    await lines.markInSlices(superseded);
    expect(marked).toEqual([0, 128, 256]);
    expect(lines.superseded()).toEqual([]);
  });

  it('of one pod can be marked at once', () => {
    lines.supersede('a', slotAt(0));
    lines.supersede('b', slotAt(128));
    lines.markAllOf('a');
    lines.markAllOf('a');
    lines.markAllOf('unknown');
    expect(marked).toEqual([0]);
    expect(lines.superseded()).toEqual([{ podUID: 'b', slot: slotAt(128) }]);
  });

  it('that came later than the sync stay superseded', async () => {
    lines.supersede('a', slotAt(0));
    const synced = lines.superseded();
    lines.supersede('a', slotAt(128));
    await lines.markInSlices(synced);
    expect(marked).toEqual([0]);
    expect(lines.superseded()).toEqual([{ podUID: 'a', slot: slotAt(128) }]);
  });

  it('are marked 256 in one turn of the event loop', async () => {
    const clock = new FakeClock();
    const turns: number[] = [];
    clock.yieldToEventLoop = () => {
      turns.push(marked.length);
      return Promise.resolve();
    };
    lines = linesWith([], clock);
    for (let i = 0; i < 513; i++) lines.supersede('a', slotAt(i));
    await lines.markInSlices(lines.superseded());
    expect(turns).toEqual([256, 512]);
    expect(marked).toHaveLength(513);
  });
});

describe('lines that cannot be marked', () => {
  it('are tried again, and are not free until they are marked', () => {
    expect(lines.areAllMarked).toBe(true);
    canMark = false;
    lines.mark(slotAt(0));
    lines.retry();
    expect(lines.areAllMarked).toBe(false);
    expect(used(128)).toBeUndefined();
    canMark = true;
    lines.retry();
    expect(lines.areAllMarked).toBe(true);
    expect(marked).toEqual([0]);
    expect(used(128)).toBe(0);
  });
});

describe('free lines', () => {
  it('are used once, the first that is long enough', () => {
    lines = linesWith([slotAt(0, 128), slotAt(128, 256), slotAt(384, 384)]);
    expect([used(129), used(129), used(129), used(128), used(1)]).toEqual([128, 384, undefined, 0, undefined]);
  });

  it('stay free when they cannot be used', () => {
    lines = linesWith([slotAt(0)]);
    expect(lines.useFree(1, () => false)).toBe(false);
    expect(lines.useFree(1, () => true)).toBe(true);
    expect(lines.useFree(1, () => true)).toBe(false);
  });

  it('are those of the new file after it was replaced; nothing of the old one is marked in it', () => {
    lines = linesWith([slotAt(0)]);
    lines.supersede('a', slotAt(128));
    canMark = false;
    lines.mark(slotAt(256));
    canMark = true;
    lines.reset([slotAt(512)]);
    lines.retry();
    expect(lines.superseded()).toEqual([]);
    expect(lines.areAllMarked).toBe(true);
    expect(marked).toEqual([]);
    expect([used(1), used(1)]).toEqual([512, undefined]);
  });
});
