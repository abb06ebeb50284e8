import isEqual from 'lodash/isEqual.js';
import type { RecordedRequest } from './trace.ts';

/** One difference between us and the kubelet. */
export interface Divergence {
  readonly trace: string;
  readonly step: number;
  readonly op: string;
  readonly path: string;
  readonly expected: unknown;
  readonly got: unknown;
}

/** The first differences between two JSON values below `path`, at most `limit`. */
export function differences(
  expected: unknown,
  got: unknown,
  path: string,
  limit = 5,
): Omit<Divergence, 'trace' | 'step' | 'op'>[] {
  if (isEqual(expected, got)) return [];
  if (isContainer(expected) && isContainer(got) && Array.isArray(expected) === Array.isArray(got)) {
    const fields = new Set([...Object.keys(expected), ...Object.keys(got)]);
    return [...fields]
      .flatMap((field) => differences(expected[field], got[field], `${path}.${field}`, limit))
      .slice(0, limit);
  }
  return [{ path, expected, got }];
}

/** A request without null fields that the server's object did not have, because they have no effect. */
export function withoutEmptyNulls(request: RecordedRequest, serverStatus: unknown): RecordedRequest {
  const body = request.body as { metadata?: unknown; status?: unknown } | undefined;
  if (!isContainer(body) || !isContainer(body.status)) return request;
  return { ...request, body: { ...body, status: dropNulls(body.status, serverStatus) } };
}

const mergeKeys: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip' };

function dropNulls(patch: unknown, server: unknown): unknown {
  if (!isContainer(patch) || Array.isArray(patch)) return patch;
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(patch)) {
    const current = isContainer(server) ? server[field] : undefined;
    if (value === null && current === undefined) continue;
    const key = mergeKeys[field];
    if (key !== undefined && Array.isArray(value) && Array.isArray(current)) {
      kept[field] = value.map((element: Record<string, unknown>) =>
        dropNullsOfElement(
          element,
          (current as Record<string, unknown>[]).find((other) => other[key] === element[key]),
        ),
      );
    } else {
      kept[field] = dropNulls(value, current);
    }
  }
  return kept;
}

/** An element that the server does not have is stored completely, including its nulls. */
function dropNullsOfElement(element: unknown, current: unknown): unknown {
  return current === undefined ? element : dropNulls(element, current);
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
