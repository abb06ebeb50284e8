import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Pod, PodStatusInput, StatusManager } from 'kubelet-status-manager';

/** One call or event, with its arguments. Empty arguments are omitted from the JSON. */
export interface TraceStep {
  readonly op: string;
  readonly uid?: string;
  readonly pod?: Pod;
  readonly pods?: readonly Pod[];
  readonly status?: PodStatusInput;
  readonly oldStatus?: PodStatusInput;
  readonly namespace?: string;
  readonly name?: string;
  readonly seconds?: number;
  readonly verb?: 'get' | 'patch' | 'delete';
  readonly code?: number;
  readonly times?: number;
  readonly value?: boolean;
  readonly all?: boolean;
  readonly containerID?: string;
  readonly volumeName?: string;
  readonly health?: Parameters<StatusManager['setPodVolumeHealth']>[2];
  readonly uids?: readonly string[];
  readonly reason?: string;
  readonly message?: string;
  readonly generation?: number;
  readonly sandboxes?: readonly { ready?: boolean; hostNetwork?: boolean; noNetwork?: boolean; ip?: string }[];
  readonly runtime?: readonly { name: string; exited?: boolean; exitCode?: number }[];
  readonly expect?: Expectation;
}

/** What the kubelet did in a step. An absent field means "nothing". */
export interface Expectation {
  readonly returns?: unknown;
  readonly signal?: boolean;
  readonly cache?: Readonly<Record<string, unknown>>;
  readonly sent?: Readonly<Record<string, number | null>>;
  readonly requests?: Readonly<Record<string, readonly RecordedRequest[]>>;
  readonly api?: Readonly<Record<string, unknown>>;
  readonly notified?: readonly unknown[];
}

export interface RecordedRequest {
  readonly verb: string;
  readonly body?: unknown;
  readonly uid?: string;
  readonly gracePeriodSeconds?: number;
}

export interface Trace {
  readonly name: string;
  readonly start: string;
  readonly steps: readonly TraceStep[];
}

/** The traces of a file that contains nothing else. */
export function readTraces(file: string): AsyncGenerator<Trace> {
  return readRecords<Trace>(file);
}

/** The JSON values of a `.jsonl` or `.jsonl.gz` file, one per line. */
export async function* readRecords<T>(file: string): AsyncGenerator<T> {
  const bytes = createReadStream(file);
  const input = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  bytes.on('error', (error) => input.destroy(error));
  for await (const line of linesOf(input)) {
    if (line.trim() !== '') yield JSON.parse(line) as T;
  }
}

/** Does not use readline, which on Node 26 also splits lines at U+2028 and U+2029, which JSON strings may contain. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const text of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}
