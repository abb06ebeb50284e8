import { crc32 } from 'node:zlib';
import { isObject, parseJSON } from '../status/json.ts';
import type { JournalEntry } from './journal.ts';

/** A line says that a status was accepted, or that a pod's newest one is settled. */
export type JournalRecord = { readonly accepted: JournalEntry } | { readonly settled: string };

/** What a journal file holds. */
export interface JournalContent {
  /** Entries that were not settled, by pod UID. */
  readonly entries: ReadonlyMap<string, JournalEntry>;
  /** Bytes behind the last good line: torn by a crash, or corrupt. */
  readonly lostBytes: number;
}

const checksumLength = 8;

/** One line: CRC-32 of the JSON as 8 hex digits, a space, the JSON. */
export function encodeLine(record: JournalRecord): Buffer {
  const json = Buffer.from(JSON.stringify(record));
  return Buffer.concat([Buffer.from(`${checksumOf(json)} `), json, Buffer.from('\n')]);
}

/** Reads up to the first line that is torn or corrupt; nothing behind it can be trusted. */
export function decodeLines(bytes: Buffer): JournalContent {
  const entries = new Map<string, JournalEntry>();
  let offset = 0;
  while (offset < bytes.length) {
    const end = bytes.indexOf(0x0a, offset);
    const record = end < 0 ? undefined : decodeLine(bytes.subarray(offset, end));
    if (record === undefined) break;
    if ('settled' in record) entries.delete(record.settled);
    else entries.set(record.accepted.podUID, record.accepted);
    offset = end + 1;
  }
  return { entries, lostBytes: bytes.length - offset };
}

function decodeLine(line: Buffer): JournalRecord | undefined {
  const json = line.subarray(checksumLength + 1);
  if (line.subarray(0, checksumLength).toString('latin1') !== checksumOf(json)) return undefined;
  const record = parseJSON(json.toString());
  if (!isObject(record)) return undefined;
  if (typeof record.settled === 'string') return { settled: record.settled };
  return isObject(record.accepted) && typeof record.accepted.podUID === 'string'
    ? { accepted: record.accepted as unknown as JournalEntry }
    : undefined;
}

function checksumOf(json: Buffer): string {
  return crc32(json).toString(16).padStart(checksumLength, '0');
}
