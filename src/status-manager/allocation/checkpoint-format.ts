import { compareUTF8 } from '../status/utf8.ts';
import { objectAt, DecodeContext, quantityAt } from '../status/canonical-reader.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import type { ResourceClaim, ResourceList, ResourceRequirements } from '../../kube/objects/types.ts';
import { frozenResourcesAt, type PodAllocation } from './pod-allocation.ts';
import { isPodResizeStatus, type PodResizeStatus } from './allocation-state.ts';

/*
 * The format of the two checkpoint files, byte for byte that of Go's `json.Marshal`: an envelope with
 * a checksum and the data. Source: kubelet `state.Checkpoint`, `state.PodResourceInfoMap`. The second
 * file is ours: the kubelet no longer stores resize statuses.
 */

const fnvOffsetBasis = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** FNV-1a 32 over what Go's `%#v` makes of the string: its type, then its bytes. */
export function checksumOf(data: string): number {
  const bytes = Buffer.from(`(string)${data}`);
  let hash = fnvOffsetBasis;
  // Not for…of, which takes five times as long.
  for (let i = 0; i < bytes.length; i += 1) hash = Math.imul(hash ^ bytes[i]!, fnvPrime);
  return hash >>> 0;
}

/** The complete text of a checkpoint file. */
export function encodeEnvelope(data: string): string {
  return goStruct([
    ['data', goString(data)],
    ['checksum', String(checksumOf(data))],
  ]);
}

/** The data in a checkpoint file. Throws an Error that says what is wrong with the text. */
export function decodeEnvelope(text: string): string {
  const envelope: unknown = JSON.parse(text);
  if (!isObject(envelope) || !('data' in envelope) || !('checksum' in envelope)) {
    throw new TypeError('it is not an object with `data` and `checksum`');
  }
  const { data, checksum } = envelope;
  if (typeof data !== 'string') throw new TypeError('its `data` is not a string');
  if (checksum !== checksumOf(data)) throw new Error('its checksum does not match its data');
  return data;
}

export function encodeAllocations(allocations: ReadonlyMap<string, PodAllocation>): string {
  return goStruct([['entries', goMap(allocations, encodeAllocation)]]);
}

function encodeAllocation(allocation: PodAllocation): string {
  const { containerResources, podLevelResources, emptyDirVolumeLimits } = allocation;
  return goStruct([
    ['ContainerResources', containerResources ? goMap(containerResources, encodeResources) : 'null'],
    ['PodLevelResources', podLevelResources ? encodeResources(podLevelResources) : 'null'],
    ['EmptyDirVolumeLimits', emptyDirVolumeLimits ? goMap(emptyDirVolumeLimits, encodeNullable) : 'null'],
  ]);
}

function encodeResources({ limits, requests, claims }: ResourceRequirements): string {
  return goStruct([
    ['limits', limits && encodeResourceList(limits)],
    ['requests', requests && encodeResourceList(requests)],
    ['claims', claims && `[${claims.map(encodeClaim).join(',')}]`],
  ]);
}

function encodeResourceList(list: ResourceList): string {
  return goMap(Object.entries(list), goString);
}

function encodeClaim({ name, request }: ResourceClaim): string {
  return goStruct([
    ['name', goString(name)],
    ['request', request ? goString(request) : undefined],
  ]);
}

function encodeNullable(text: string | null): string {
  return text === null ? 'null' : goString(text);
}

/** Throws an Error that says what is wrong with the data. */
export function decodeAllocations(data: string): Map<string, PodAllocation> {
  const raw: unknown = JSON.parse(data);
  // Divergence: the kubelet reads its own older format as empty and loses every allocation.
  if (isObject(raw) && (Object.hasOwn(raw, 'allocationEntries') || Object.hasOwn(raw, 'resizeStatusEntries'))) {
    throw new Error('it has the format of a kubelet before v1.33 (`allocationEntries`, `resizeStatusEntries`)');
  }
  return decodeEntries(raw, (value, podUID, context) =>
    objectAt(value ?? {}, podUID, context, (entry) => ({
      containerResources: mapAt(
        entry.ContainerResources,
        'ContainerResources',
        context,
        (...where) => frozenResourcesAt(...where) ?? {},
      ),
      podLevelResources: frozenResourcesAt(entry.PodLevelResources, 'PodLevelResources', context) ?? null,
      emptyDirVolumeLimits: mapAt(entry.EmptyDirVolumeLimits, 'EmptyDirVolumeLimits', context, quantityAt),
    }))!,
  );
}

export function encodeResizeStatuses(resizeStatuses: ReadonlyMap<string, PodResizeStatus>): string {
  return goStruct([['entries', goMap(resizeStatuses, goString)]]);
}

/** Throws an Error that says what is wrong with the data. */
export function decodeResizeStatuses(data: string): Map<string, PodResizeStatus> {
  return decodeEntries(JSON.parse(data), (value, podUID, context) =>
    isPodResizeStatus(value) ? value : context.refuse(podUID, 'a resize status', value),
  );
}

function decodeEntries<T>(
  raw: unknown,
  read: (value: unknown, podUID: string, context: DecodeContext) => T,
): Map<string, T> {
  const context = new DecodeContext(true, 'data');
  if (!isObject(raw) || !Object.hasOwn(raw, 'entries')) throw new TypeError('its data has no `entries`');
  return mapAt(raw.entries, 'entries', context, read) ?? new Map<string, T>();
}

/** The object at `field` as a map; null when it is null or absent. */
function mapAt<T>(
  value: unknown,
  field: string,
  context: DecodeContext,
  read: (value: unknown, key: string, context: DecodeContext) => T,
): Map<string, T> | null {
  const entries = (map: Raw): Map<string, T> =>
    new Map(Object.keys(map).map((key) => [key, read(map[key], key, context)]));
  return objectAt(value, field, context, entries) ?? null;
}

const goEscaped: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** A JSON string in the bytes of Go's `json.Marshal`. */
export function goString(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => goEscaped[character]!);
}

/** A Go struct: fields in the order given; those whose JSON text is undefined are left out. */
function goStruct(fields: readonly (readonly [name: string, json: string | undefined])[]): string {
  const written = fields.filter(([, json]) => json !== undefined);
  return `{${written.map(([name, json]) => `${goString(name)}:${json}`).join(',')}}`;
}

/** A Go map: its keys sorted by their bytes. */
export function goMap<T>(entries: Iterable<readonly [string, T]>, encode: (value: T) => string): string {
  const sorted = [...entries].sort(([a], [b]) => compareUTF8(a, b));
  return goStruct(sorted.map(([key, value]) => [key, encode(value)]));
}
