import * as fc from 'fast-check';
import type { PodStatus } from '../../src/types.ts';
import { relatedPodStatusesArbitrary } from '../support/arbitraries.ts';

/** Canonical pod statuses, with unknown members at every level. */
export const statusArbitrary: fc.Arbitrary<PodStatus> = relatedPodStatusesArbitrary({ unknownMembers: true }).map(
  ([status]) => status,
);

/** Other texts for the quantities that `podStatusArbitrary` makes, which Go spells the one way. */
const quantitySpellings: Readonly<Record<string, readonly unknown[]>> = {
  '0': ['0', 0, '0Mi', '0m', ' 0 '],
  '1': ['1', 1, '1000m', '1.0'],
  '500m': ['500m', 0.5, '0.5', '.5'],
  '1k': ['1k', 1000, '1000', '1000.0'],
  '1e3': ['1e3', '1000e0'],
  '1Gi': ['1Gi', '1024Mi', '1048576Ki'],
  '1536Mi': ['1536Mi', '1.5Gi'],
  '100n': ['100n', '0.1u'],
};
const resourceLists: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);
const quantities: ReadonlySet<string> = new Set(['quantity', 'perPod', 'perContainer']);
const times: ReadonlySet<string> = new Set([
  'startTime',
  'lastProbeTime',
  'lastTransitionTime',
  'startedAt',
  'finishedAt',
]);
/** Members of a pod status that Go leaves out when empty, each with an empty value of its kind. */
const emptyMembers: readonly (readonly [string, unknown])[] = [
  ['phase', ''],
  ['message', ''],
  ['observedGeneration', 0],
  ['conditions', []],
  ['podIPs', []],
  ['containerStatuses', []],
  ['initContainerStatuses', []],
  ['allocatedResources', {}],
  ['startTime', '0001-01-01T00:00:00Z'],
  ['resources', undefined],
  ['extendedResourceClaimStatus', undefined],
];

type Pick = (choices: readonly unknown[]) => unknown;

/** The same status as somebody else might spell it: Dates, fractions, offsets, quantities, empty and null members. */
export function respelled(status: PodStatus): fc.Arbitrary<unknown> {
  return fc.infiniteStream(fc.nat(997)).map((stream) => {
    const pick: Pick = (choices) => choices[stream.next().value! % choices.length];
    const other = respell(status, '', pick) as Record<string, unknown>;
    for (const [member, empty] of emptyMembers) if (!(member in status)) other[member] = pick([undefined, null, empty]);
    return other;
  });
}

function respell(value: unknown, member: string, pick: Pick): unknown {
  if (member === 'x-new' || typeof value !== 'object') return respellScalar(value, member, pick);
  if (value === null) return times.has(member) ? pick([null, undefined, '0001-01-01T00:00:00Z']) : null;
  if (Array.isArray(value)) return value.map((element) => respell(element, '', pick));
  const entries = Object.entries(value).map(([name, inner]) => {
    return [name, resourceLists.has(member) ? respellQuantity(inner, pick) : respell(inner, name, pick)] as const;
  });
  return Object.fromEntries(pick([true, false]) ? entries : entries.toReversed());
}

function respellScalar(value: unknown, member: string, pick: Pick): unknown {
  if (typeof value !== 'string') return value;
  if (quantities.has(member)) return respellQuantity(value, pick);
  return times.has(member) ? pick(timeSpellings(value)) : value;
}

function respellQuantity(value: unknown, pick: Pick): unknown {
  return pick(quantitySpellings[value as string] ?? [value]);
}

function timeSpellings(time: string): unknown[] {
  const ms = Date.parse(time);
  const local = (minutes: number) => new Date(ms + minutes * 60_000).toISOString().slice(0, 19);
  return [
    time,
    new Date(ms),
    new Date(ms + 999),
    time.replace('Z', '.123456789Z'),
    time.replace('Z', ',5Z'),
    `${local(90)}+01:30`,
    `${local(-330)}.999-05:30`,
  ];
}
