import { objectAt, DecodeContext, quantityAt } from '../status/canonical-reader.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import type { ResourceClaim, ResourceList, ResourceRequirements } from '../../kube/types.ts';
import { goMap, goString, goStruct } from './go-json.ts';
import { frozenResourcesAt, type PodAllocation } from './pod-allocation.ts';
import { isPodResizeStatus, type PodResizeStatus } from './allocation-state.ts';

/*
 * The data inside the two checkpoint files, in the bytes of Go's `json.Marshal`.
 * Source: kubelet `state.PodResourceInfoMap`. The second file is ours: the kubelet keeps no resize
 * status any more.
 */

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
  // Divergence: the kubelet reads its own older format as empty, and so forgets every allocation.
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

/** The object at `member` as a map; null when it is null or absent. */
function mapAt<T>(
  value: unknown,
  member: string,
  context: DecodeContext,
  read: (value: unknown, key: string, context: DecodeContext) => T,
): Map<string, T> | null {
  const entries = (map: Raw): Map<string, T> =>
    new Map(Object.keys(map).map((key) => [key, read(map[key], key, context)]));
  return objectAt(value, member, context, entries) ?? null;
}
