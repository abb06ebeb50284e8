import { crc32 } from 'node:zlib';
import { isObject, parseJSON } from '../../shared/json.ts';
import type { JournalEntry } from './journal.ts';

/*
 * A journal file is lines of text: a mark, the CRC-32 of the JSON as 8 hex digits, and the JSON.
 *
 *   live 1c291ca3 {"sequence":7,"entry":{…}}
 *
 * The mark is `live` until the status is written to the API server or replaced by a newer one, then
 * `past`. Changing the mark overwrites four bytes, so it works on a full disk too. If a pod has two
 * live lines, the one with the higher sequence wins.
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
  /** Lines marked live that must no longer be used. */
  readonly superseded: readonly Slot[];
  /** Lines that are marked past. */
  readonly past: readonly Slot[];
  readonly nextSequence: number;
  /** End of the last complete line. */
  readonly endOffset: number;
  /** Bytes after `endOffset`: an append that a crash interrupted. */
  readonly incompleteBytes: number;
  readonly damage: JournalDamage | undefined;
}

export const pastMark = Buffer.from('past');
export const liveMark = Buffer.from('live');
const markLength = liveMark.length;
const checksumStart = markLength + 1;
const checksumLength = 8;
const jsonStart = checksumStart + checksumLength + 1;
const newline = 0x0a;
const lineGranularityBytes = 128;
/** Cannot occur inside JSON: quotes in its strings are escaped. */
const lineStart = /(?:live|past) [\da-f]{8} \{"sequence":/;

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
 * no outdated entry replaces a damaged one.
 */
export function decodeJournal(content: Buffer): JournalContent {
  const live = new Map<string, LiveLine>();
  const superseded: Slot[] = [];
  const past: Slot[] = [];
  const damaged: Slot[] = [];
  const dropped: JournalEntry[] = [];
  let nextSequence = 1;

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
  const skipDamaged = (slot: Slot): void => {
    damaged.push(slot);
    for (const text of bytesOf(content, slot).toString().split('"')) {
      const line = live.get(text);
      if (line === undefined) continue;
      live.delete(text);
      superseded.push(line.slot);
      dropped.push(line.entry);
    }
  };
  const readLine = (slot: Slot): void => {
    const bytes = bytesOf(content, slot);
    const record = decodeLine(bytes);
    if (record !== undefined) return addLine({ ...record, slot });
    // If a newline is damaged, the next line is still intact.
    const nextLine = isIntact(bytes) ? 0 : indexOfNextLine(bytes);
    const own = nextLine === 0 ? slot : { offset: slot.offset, bytes: nextLine };
    // A line marked past may be partially overwritten; see `JournalFile.overwrite`.
    if (isMarked(bytes, pastMark)) past.push(own);
    else skipDamaged(own);
    if (nextLine > 0) readLine({ offset: slot.offset + nextLine, bytes: slot.bytes - nextLine });
  };

  let endOffset = 0;
  for (let end = content.indexOf(newline); end >= 0; end = content.indexOf(newline, endOffset)) {
    readLine({ offset: endOffset, bytes: end + 1 - endOffset });
    endOffset = end + 1;
  }
  const damagedBytes = damaged.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    live,
    superseded,
    past,
    nextSequence,
    endOffset,
    incompleteBytes: content.length - endOffset,
    damage: damaged.length === 0 ? undefined : { lines: damaged.length, bytes: damagedBytes, dropped },
  };
}

/** The record of a live line; undefined if the line is past or damaged. */
function decodeLine(line: Buffer): JournalRecord | undefined {
  if (!isMarked(line, liveMark) || !isIntact(line)) return undefined;
  const record = parseJSON(jsonOf(line).toString());
  if (!isObject(record) || !Number.isSafeInteger(record.sequence) || !isObject(record.entry)) return undefined;
  if (typeof record.entry.podUID !== 'string' || !isObject(record.entry.status)) return undefined;
  return record as unknown as JournalRecord;
}

function isMarked(line: Buffer, mark: Buffer): boolean {
  return line.subarray(0, markLength).equals(mark);
}

function isIntact(line: Buffer): boolean {
  return line.toString('latin1', checksumStart, checksumStart + checksumLength) === checksumOf(jsonOf(line));
}

/** 0 when there is none. */
function indexOfNextLine(line: Buffer): number {
  const index = line.toString('latin1', 1).search(lineStart);
  return index + 1;
}

function bytesOf(content: Buffer, { offset, bytes }: Slot): Buffer {
  return content.subarray(offset, offset + bytes);
}

function jsonOf(line: Buffer): Buffer {
  return line.subarray(jsonStart, -1);
}

function checksumOf(json: Buffer | string): string {
  return crc32(json).toString(16).padStart(checksumLength, '0');
}
