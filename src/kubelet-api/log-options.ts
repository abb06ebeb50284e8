import { canonicalTime, epochMsOf } from '../shared/time.ts';
import { HTTPError } from './http-error.ts';
import type { ContainerLogOptions } from '../node/index.ts';

/** @throws HTTPError 400 for a query that cannot be parsed, 422 for an invalid one. Source: `ValidatePodLogOptions` */
export function parseLogOptions(
  query: URLSearchParams,
  nowMs: number,
): ContainerLogOptions & { readonly previous: boolean } {
  // Its deprecated name.
  const tail = query.get('tail');
  const tailLines = tail === 'all' ? undefined : integer(tail ?? query.get('tailLines'));
  const limitBytes = integer(query.get('limitBytes'));
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = query.get('sinceTime') || undefined;
  const stream = query.get('stream') || 'All';
  const sinceTimeMs = sinceTime === undefined ? undefined : timeMs(sinceTime);
  const isInvalid =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) ||
    !['All', 'Stdout', 'Stderr'].includes(stream) ||
    (stream !== 'All' && tailLines !== undefined);
  if (isInvalid) throw new HTTPError(422, '{"message": "Invalid request."}');
  return {
    tailLines,
    limitBytes,
    sinceMs: sinceSeconds === undefined ? sinceTimeMs : nowMs - sinceSeconds * 1000,
    stream: stream === 'All' ? undefined : stream === 'Stdout' ? 'stdout' : 'stderr',
    follow: boolean(query.get('follow')),
    timestamps: boolean(query.get('timestamps')),
    previous: boolean(query.get('previous')),
  };
}

function integer(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^[+-]?\d{1,15}$/.test(text)) refuse();
  return Number(text);
}

/** Source: apimachinery `Convert_Slice_string_To_bool`: anything but these is true. */
function boolean(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

function timeMs(text: string): number {
  const time = canonicalTime(text);
  if (typeof time !== 'string') return refuse();
  return epochMsOf(time);
}

function refuse(): never {
  throw new HTTPError(400, '{"message": "Unable to decode query."}');
}
