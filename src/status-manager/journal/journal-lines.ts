import { crc32 } from 'node:zlib';
import { isObject, parseJSON } from '../../shared/json.ts';
import type { JournalEntry } from './journal.ts';

/*
 * A journal file is lines of text: a mark, the CRC-32 of the JSON as 8 hex digits, and the JSON.
 *
 *   live 1c291ca3 {"sequence":7,"entry":{…}}
 *
 * The mark is `live` until the status is written to the API server or replaced by a newer one. Then
 * the mark becomes `past`, and the checksum `--------`: if a power loss leaves only the mark of a line
 * that overwrites this one, the old status is not live again. Both work on a full disk too. If a pod
 * has two live lines, the one with the higher sequence wins.
 */

export interface JournalRecord {
  readonly sequence: number;
  readonly entry: JournalEntry;
}

/** Position of a line in the file, including its newline. */
export interface Slot {
  readonly offset: number;
  readonly bytes: number;
}

export interface LiveLine extends JournalRecord {
  readonly slot: Slot;
}

/** Losses from damaged lines. */
export interface JournalDamage {
  readonly lines: number;
  readonly bytes: number;
  /** Older entries of pods whose newer entry is damaged. */
  readonly dropped: readonly JournalEntry[];
}

export interface JournalContent {
  /** By pod UID, in the order of the file. */
  readonly live: ReadonlyMap<string, LiveLine>;
  /** Lines marked live that must no longer be used, and lines marked past whose checksum is still there. */
  readonly superseded: readonly Slot[];
  /** Lines that are marked past, or whose checksum is. */
  readonly past: readonly Slot[];
  readonly nextSequence: number;
  /** End of the last complete line. */
  readonly endOffset: number;
  /** Bytes after `endOffset`: an append that a crash interrupted. */
  readonly incompleteBytes: number;
  readonly damage: JournalDamage | undefined;
}

export const liveMark = Buffer.from('live');
const pastMark = Buffer.from('past');
const pastChecksum = '--------';
/** What a line begins with that is past. */
export const pastHead = Buffer.from(`past ${pastChecksum}`);
const markLength = liveMark.length;
const checksumStart = markLength + 1;
const checksumLength = 8;
const jsonStart = checksumStart + checksumLength + 1;
const newline = 0x0a;
const lineGranularityBytes = 128;
/** The start of a line. It cannot occur inside JSON: quotes in its strings are escaped. */
const jsonPrefix = Buffer.from(' {"sequence":');
const lineHead = /^(?:live|past) (?:[\da-f]{8}|-{8})$/;
const sequenceOf = /\{"sequence":(\d+),/;
const maxHeadBytes = 64;
const quote = 0x22;
/** Longer text is not looked up as a UID. */
const maxUIDBytes = 1024;
/** Free lines are only needed on a full disk. */
const maxPastLines = 100_000;

/**
 * A live line, padded with spaces to `bytes`. The default padding lets a slightly longer status
 * overwrite an older line.
 */
export function encodeLine({ sequence, entry }: JournalRecord, bytes?: number): Buffer {
  const json = JSON.stringify({ sequence, entry });
  const length = jsonStart + Buffer.byteLength(json) + 1;
  const padded = json + ' '.repeat((bytes ?? Math.ceil(length / lineGranularityBytes) * lineGranularityBytes) - length);
  return Buffer.from(`live ${checksumOf(padded)} ${padded}\n`);
}

/**
 * Decodes a journal file. Skips damaged lines and drops older entries of the pods they name, so that
 * no outdated entry replaces a damaged one. Takes linear time, whatever the file has.
 */
export function decodeJournal(content: Buffer): JournalContent {
  const live = new Map<string, LiveLine>();
  const superseded: Slot[] = [];
  const past: Slot[] = [];
  let damagedLines = 0;
  let damagedBytes = 0;
  const dropped: JournalEntry[] = [];
  let nextSequence = 1;
  /** Damaged lines whose sequence can be read. A full disk may have put them before older lines of their pods. */
  const numbered: { readonly line: Buffer; readonly sequence: number }[] = [];

  const addLine = (line: LiveLine): void => {
    const { podUID } = line.entry;
    const other = live.get(podUID);
    const isNewer = other === undefined || line.sequence > other.sequence;
    if (other !== undefined) superseded.push(isNewer ? other.slot : line.slot);
    nextSequence = Math.max(nextSequence, line.sequence + 1);
    if (!isNewer) return;
    // A pod's newest entry is the last in the file.
    live.delete(podUID);
    live.set(podUID, line);
  };
  const skipDamaged = (line: Buffer): void => {
    damagedLines++;
    damagedBytes += line.length;
    dropNamed(line, Infinity);
    const sequence = Number(sequenceOf.exec(line.toString('latin1', 0, maxHeadBytes))?.[1]);
    if (!Number.isSafeInteger(sequence)) return;
    numbered.push({ line, sequence });
    // What is recorded from now on is newer, even if this line stays in the file.
    nextSequence = Math.max(nextSequence, sequence + 1);
  };
  const dropNamed = (line: Buffer, beforeSequence: number): void => {
    for (const text of quotedTexts(line)) {
      const named = live.get(text);
      if (named === undefined || named.sequence >= beforeSequence) continue;
      live.delete(text);
      superseded.push(named.slot);
      dropped.push(named.entry);
    }
  };
  const readLine = (offset: number, end: number): void => {
    const line = content.subarray(offset, end);
    const slot = { offset, bytes: line.length };
    const record = decodeLine(line);
    if (record !== undefined) return addLine({ ...record, slot });
    // A line marked past may be partially overwritten; see `JournalFile.overwrite`.
    if (!isPast(line)) skipDamaged(line);
    // A crash left its checksum.
    else if (isIntact(line)) superseded.push(slot);
    else if (past.length < maxPastLines) past.push(slot);
  };

  let endOffset = 0;
  for (let end = content.indexOf(newline); end >= 0; end = content.indexOf(newline, endOffset)) {
    const line = content.subarray(endOffset, end + 1);
    let offset = endOffset;
    // If a newline is damaged, the next line is still intact.
    for (const start of isIntact(line) ? [] : startsIn(line)) {
      readLine(offset, endOffset + start);
      offset = endOffset + start;
    }
    endOffset = end + 1;
    readLine(offset, endOffset);
  }
  for (const { line, sequence } of numbered) dropNamed(line, sequence);
  return {
    live,
    superseded,
    past,
    nextSequence,
    endOffset,
    incompleteBytes: content.length - endOffset,
    damage: damagedLines === 0 ? undefined : { lines: damagedLines, bytes: damagedBytes, dropped },
  };
}

/** The record of a live line; undefined if the line is past or damaged. */
function decodeLine(line: Buffer): JournalRecord | undefined {
  if (!isMarked(line, liveMark) || line.at(-1) !== newline || !isIntact(line)) return undefined;
  const record = parseJSON(jsonOf(line).toString());
  if (!isObject(record) || !Number.isSafeInteger(record.sequence) || !isObject(record.entry)) return undefined;
  if (typeof record.entry.podUID !== 'string' || !isObject(record.entry.status)) return undefined;
  return record as unknown as JournalRecord;
}

function isMarked(line: Buffer, mark: Buffer): boolean {
  return line.subarray(0, markLength).equals(mark);
}

function isPast(line: Buffer): boolean {
  return isMarked(line, pastMark) || checksumIn(line) === pastChecksum;
}

function isIntact(line: Buffer): boolean {
  return checksumIn(line) === checksumOf(jsonOf(line));
}

function checksumIn(line: Buffer): string {
  return line.toString('latin1', checksumStart, checksumStart + checksumLength);
}

/** Where further lines start after the first byte. */
function* startsIn(line: Buffer): Generator<number, void> {
  const headBytes = jsonStart - 1;
  for (let at = line.indexOf(jsonPrefix, jsonStart); at >= 0; at = line.indexOf(jsonPrefix, at + 1)) {
    if (lineHead.test(line.toString('latin1', at - headBytes, at))) yield at - headBytes;
  }
}

/** The texts before, between and after quotes that may be a UID. */
function* quotedTexts(line: Buffer): Generator<string, void> {
  for (let start = 0, end = 0; end < line.length; start = end + 1) {
    const next = line.indexOf(quote, start);
    end = next < 0 ? line.length : next;
    if (end > start && end - start <= maxUIDBytes) yield line.toString('utf8', start, end);
  }
}

function jsonOf(line: Buffer): Buffer {
  return line.subarray(jsonStart, -1);
}

function checksumOf(json: Buffer | string): string {
  return crc32(json).toString(16).padStart(checksumLength, '0');
}
