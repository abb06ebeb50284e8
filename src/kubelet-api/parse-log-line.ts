import { epochMsOf } from '../shared/time.ts';

/** One line of a log file in the CRI's format. */
export interface LogLine {
  /** RFC 3339 with a fraction, as the runtime wrote it. */
  readonly time: string;
  readonly epochMs: number;
  readonly stream: 'stdout' | 'stderr';
  /** The text with its newline; without it if the line is partial. */
  readonly text: Buffer;
}

const space = 0x20;
const newline = 0x0a;
const rfc3339Nano = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses `2016-10-06T00:17:09.669794202Z stdout P text`. Undefined if the line has another format.
 * Source: cri-client `parseCRILog`.
 */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const timeEnd = line.indexOf(space);
  const streamEnd = line.indexOf(space, timeEnd + 1);
  const tagEnd = line.indexOf(space, streamEnd + 1);
  if (timeEnd < 0 || streamEnd < 0 || tagEnd < 0) return undefined;
  const time = line.toString('latin1', 0, timeEnd);
  const stream = line.toString('latin1', timeEnd + 1, streamEnd);
  if (!rfc3339Nano.test(time) || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  const epochMs = epochMsOf(time);
  if (Number.isNaN(epochMs)) return undefined;
  const [tag] = line.toString('latin1', streamEnd + 1, tagEnd).split(':');
  const isPartial = tag === 'P' && line.at(-1) === newline;
  return { time, epochMs, stream, text: line.subarray(tagEnd + 1, isPartial ? -1 : undefined) };
}

/** With all nine digits of the fraction, so that the times of a log have the same width. Source: `RFC3339NanoFixed`. */
export function fixedWidthTime(time: string): string {
  return time.replace(rfc3339Nano, (_, seconds: string, fraction: string | undefined, zone: string) => {
    return `${seconds}.${(fraction ?? '').padEnd(9, '0')}${zone}`;
  });
}
