import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeJournal, encodeLine } from '../../../src/status-manager/journal/journal-lines.ts';
import { entry } from './journals.ts';

const live = (sequence: number, podUID: string, message = ''): Buffer =>
  encodeLine({ sequence, entry: entry(podUID, message) });
const past = (line: Buffer): Buffer => Buffer.from(line.toString().replace(/^live .{8}/, 'past --------'));
const damaged = (line: Buffer): Buffer => Buffer.from(line.toString().replace('Running', 'Runnimg'));

/** A line with a correct checksum. */
function intact(json: string): Buffer {
  return Buffer.from(`live ${crc32(json).toString(16).padStart(8, '0')} ${json}\n`);
}

describe('a line', () => {
  it('is a mark, the checksum of the rest, and the JSON padded to a multiple of 128 bytes', () => {
    const line = live(7, 'a').toString();
    const [, checksum, json] = /^live ([\da-f]{8}) (\{"sequence":7,"entry":\{.*\}\} *)\n$/.exec(line)!;
    expect(Number.parseInt(checksum!, 16)).toBe(crc32(json!));
    expect(line).toHaveLength(256);
    expect(JSON.parse(json!)).toEqual({ sequence: 7, entry: entry('a') });
  });

  it('has a checksum of 8 digits also when it begins with zeros', () => {
    const lines = Array.from({ length: 100 }, (_, sequence) => live(sequence, 'a'));
    expect(lines.some((line) => line.toString().startsWith('live 0'))).toBe(true);
    expect(lines.map((line) => decodeJournal(line).live.size)).toEqual(lines.map(() => 1));
  });

  it('that replaces another has exactly its length', () => {
    expect(encodeLine({ sequence: 1, entry: entry('a') }, 777)).toHaveLength(777);
  });

  it.each([1, 64])('is not padded further when it has the length already (%i characters more)', (more) => {
    const shortest = live(1, 'a', 'x').toString().trimEnd().length + 1;
    const rest = 'x'.repeat(1 + ((128 - (shortest % 128)) % 128));
    const line = live(1, 'a', rest);
    expect(line.length).toBe(line.toString().trimEnd().length + 1);
    expect(live(1, 'a', rest + 'x'.repeat(more)).length).toBe(line.length + 128);
  });
});

describe('a journal file is read in linear time and bounded space', () => {
  /** The fastest of three, so that other work on the machine does not count. Quadratic time would be minutes. */
  const msToDecode = (content: Buffer): number =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const startedMs = performance.now();
        decodeJournal(content);
        return performance.now() - startedMs;
      }),
    );
  const start = 'live 00000000 {"sequence":';

  it.each<[string, (size: number) => string]>([
    ['starts of lines without newlines', (size) => `${start.repeat(size / start.length)}\n`],
    [
      'starts of past lines without newlines',
      (size) => `${start.replace('live', 'past').repeat(size / start.length)}\n`,
    ],
    ['nothing but quotes', (size) => `${'"'.repeat(size)}\n`],
    ['no newline at all', (size) => start.repeat(size / start.length)],
    ['one long line', (size) => `${start}${'x'.repeat(size)}\n`],
  ])('with %s', (_what, contentOf) => {
    const content = Buffer.from(contentOf(2_000_000));
    expect(msToDecode(content)).toBeLessThan(5_000);
    expect(decodeJournal(content).past.length).toBeLessThanOrEqual(100_000);
  });

  it('the line after many starts of lines is found', () => {
    const content = Buffer.concat([Buffer.from(start.repeat(100_000)), live(7, 'a')]);
    const { damage, live: found } = decodeJournal(content);
    expect([...found.keys()]).toEqual(['a']);
    expect(damage).toEqual({ lines: 100_000, bytes: start.length * 100_000, dropped: [] });
  });
});

describe('a journal file', () => {
  it('without lines has nothing, and its first sequence is 1', () => {
    expect(decodeJournal(Buffer.alloc(0))).toEqual({
      ...{ live: new Map(), superseded: [], past: [], nextSequence: 1, endOffset: 0, incompleteBytes: 0 },
      damage: undefined,
    });
  });

  it('has of each pod the entry of the highest sequence, wherever it is in the file', () => {
    const lines = [live(5, 'a', 'new'), live(2, 'a', 'old'), live(3, 'b', 'old'), live(4, 'b', 'new')];
    const content = decodeJournal(Buffer.concat(lines));
    const found = Array.from(content.live, ([uid, { sequence, slot }]) => [uid, sequence, slot.offset]);
    expect(found).toEqual([
      ['a', 5, 0],
      ['b', 4, 768],
    ]);
    expect(content.superseded).toEqual([
      { offset: 256, bytes: 256 },
      { offset: 512, bytes: 256 },
    ]);
    expect(content).toMatchObject({ nextSequence: 6, endOffset: 1024, incompleteBytes: 0, damage: undefined });
  });

  it('keeps the first of two lines with the same sequence', () => {
    const content = decodeJournal(Buffer.concat([live(1, 'a', 'first'), live(1, 'a', 'other')]));
    expect(content.live.get('a')).toMatchObject({ entry: { status: { message: 'first' } }, slot: { offset: 0 } });
    expect(content.superseded).toEqual([{ offset: 256, bytes: 256 }]);
  });

  it('lists the pods in the order of their newest lines', () => {
    const content = decodeJournal(Buffer.concat([live(1, 'a'), live(2, 'b'), live(3, 'a')]));
    expect([...content.live.keys()]).toEqual(['b', 'a']);
  });

  it('says where the lines are that are past, complete or half overwritten, and counts none as damaged', () => {
    const content = decodeJournal(Buffer.concat([past(live(1, 'a')), past(damaged(live(2, 'b'))), live(3, 'c')]));
    expect(content.past).toEqual([
      { offset: 0, bytes: 256 },
      { offset: 256, bytes: 256 },
    ]);
    expect([...content.live.keys()]).toEqual(['c']);
    expect(content.damage).toBeUndefined();
  });

  it('counts a past line as superseded if a crash left its checksum, so that its head is written again', () => {
    const content = decodeJournal(Buffer.from(live(1, 'a').toString().replace('live', 'past')));
    expect(content).toMatchObject({ superseded: [{ offset: 0, bytes: 256 }], past: [], damage: undefined });
  });

  it('does not have an old status again of which only the new mark is left of what overwrote it', () => {
    const old = Buffer.from(
      live(1, 'a')
        .toString()
        .replace(/^live .{8}/, 'live --------'),
    );
    const content = decodeJournal(Buffer.concat([old, live(2, 'b')]));
    expect([...content.live.keys()]).toEqual(['b']);
    expect(content.past).toEqual([{ offset: 0, bytes: 256 }]);
    expect(content.damage).toBeUndefined();
  });

  it('ends with the last newline: what follows was not written to its end', () => {
    const content = decodeJournal(Buffer.concat([live(1, 'a'), live(2, 'b').subarray(0, 100)]));
    expect(content).toMatchObject({ endOffset: 256, incompleteBytes: 100, damage: undefined });
    expect([...content.live.keys()]).toEqual(['a']);
  });

  it('counts damaged lines and their bytes, and drops the older entries of the pods that they name', () => {
    const lines = [live(1, 'a', 'old'), live(2, 'b'), damaged(live(3, 'a', 'new')), Buffer.from('?\n')];
    const content = decodeJournal(Buffer.concat(lines));
    expect([...content.live.keys()]).toEqual(['b']);
    expect(content.superseded).toEqual([{ offset: 0, bytes: 256 }]);
    expect(content.damage).toEqual({ lines: 2, bytes: 258, dropped: [entry('a', 'old')] });
  });

  it('drops older entries also after a damaged line, where a full disk has put it before them, and no newer ones', () => {
    const newer = damaged(live(9, 'a', 'newer'));
    const lines = [newer, live(7, 'a', 'older')];
    expect(decodeJournal(Buffer.concat(lines))).toMatchObject({ live: new Map(), nextSequence: 10 });
    expect(decodeJournal(Buffer.concat(lines)).damage).toMatchObject({ lines: 1, dropped: [entry('a', 'older')] });
    const withNewest = decodeJournal(Buffer.concat([...lines, live(10, 'a', 'newest')]));
    expect(withNewest.live.get('a')?.entry).toEqual(entry('a', 'newest'));
    expect(withNewest.damage).toMatchObject({ lines: 1, dropped: [] });
  });

  it('has the line after a damaged newline, whether the first of both is live or past', () => {
    const open = (line: Buffer): Buffer => Buffer.from(line.toString().replace('\n', '?'));
    const content = decodeJournal(
      Buffer.concat([open(live(1, 'a')), live(2, 'b'), open(past(live(3, 'c'))), live(4, 'd')]),
    );
    expect(Array.from(content.live.values(), ({ slot }) => slot)).toEqual([
      { offset: 256, bytes: 256 },
      { offset: 768, bytes: 256 },
    ]);
    expect(content.past).toEqual([{ offset: 512, bytes: 256 }]);
    expect(content.damage).toEqual({ lines: 1, bytes: 256, dropped: [] });
  });

  it('does not look for another line inside an intact one', () => {
    const quoted = 'live 00000000 {"sequence":';
    const line = intact(`{"sequence":1,"entry":{"podUID":"a","status":{}},"x":"${quoted}"}`);
    const content = decodeJournal(Buffer.from(line.toString().replace(/^live/, 'past')));
    expect(content.superseded).toHaveLength(1);
    expect(content.damage).toBeUndefined();
  });

  it.each([
    ['no JSON', '{"sequence":1'],
    ['no object', 'null'],
    ['a sequence that is no integer', '{"sequence":1.5,"entry":{"podUID":"a","status":{}}}'],
    ['no entry', '{"sequence":1}'],
    ['no pod UID', '{"sequence":1,"entry":{"status":{}}}'],
    ['no status', '{"sequence":1,"entry":{"podUID":"a"}}'],
  ])('counts a line with a correct checksum but %s as damaged', (_what, json) => {
    const content = decodeJournal(intact(json));
    expect(content.live.size).toBe(0);
    expect(content.damage).toMatchObject({ lines: 1 });
  });

  it('has a line with a correct checksum and all that is needed', () => {
    expect(decodeJournal(intact('{"sequence":1,"entry":{"podUID":"a","status":{}}}')).live.size).toBe(1);
  });
});
