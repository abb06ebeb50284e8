/** Picks one of several choices. The caller decides how: with a seed, or with fast-check. */
export type Pick = (choices: readonly unknown[]) => unknown;

const resourceLists: ReadonlySet<string> = new Set(['allocatedResources', 'limits', 'requests']);
const quantities: ReadonlySet<string> = new Set(['quantity', 'perPod', 'perContainer']);
const times: ReadonlySet<string> = new Set([
  'startTime',
  'lastProbeTime',
  'lastTransitionTime',
  'startedAt',
  'finishedAt',
]);

/** Fields of a pod status that Go leaves out when empty, each with an empty value of its kind. */
const emptyFields: readonly (readonly [string, unknown])[] = [
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

/** Canonical quantities whose other formats do not follow from the suffix. */
const specialQuantities: Readonly<Record<string, readonly unknown[]>> = {
  '0': ['0', 0, '0Mi', '0m', ' 0 '],
  '500m': ['500m', 0.5, '0.5', '.5'],
  '1k': ['1k', 1000, '1000', '1000.0'],
  '1e3': ['1e3', '1000e0'],
  '1536Mi': ['1536Mi', '1.5Gi'],
  '100n': ['100n', '0.1u'],
};

/**
 * The same pod status in another valid format: times as Dates or with fractions and offsets, other
 * formats of quantities, other orders of fields, empty and null fields, unknown null fields.
 */
export function reformatStatus(status: object, pick: Pick): object {
  const other = reformat(status, '', pick) as Record<string, unknown>;
  for (const [field, empty] of emptyFields) if (!(field in status)) other[field] = pick([undefined, null, empty]);
  return other;
}

/** The same for a part of a status. `field` is the name of that part. */
export function reformat(value: unknown, field: string, pick: Pick): unknown {
  if (field === 'x-new' || typeof value !== 'object') return reformatScalar(value, field, pick);
  if (value === null) return times.has(field) ? pick([null, undefined, '0001-01-01T00:00:00Z']) : null;
  if (Array.isArray(value)) return value.map((element) => reformat(element, '', pick));
  if (resourceLists.has(field)) return mapFields(value, pick, (quantity) => reformatQuantity(quantity, pick));
  const other = mapFields(value, pick, (inner, name) => reformat(inner, name, pick));
  if (pick([true, false])) other['x-null'] = null;
  return other;
}

function mapFields(
  object: object,
  pick: Pick,
  map: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value, name)] as const);
  return Object.fromEntries(pick([true, false]) ? entries : entries.toReversed());
}

function reformatScalar(value: unknown, field: string, pick: Pick): unknown {
  if (typeof value !== 'string') return value;
  if (quantities.has(field)) return reformatQuantity(value, pick);
  return times.has(field) ? pick(timeFormats(value)) : value;
}

function reformatQuantity(value: unknown, pick: Pick): unknown {
  const text = value as string;
  const [, digits = '', suffix] = /^([1-9]\d{0,5})(m|Mi|Gi)?$/.exec(text) ?? [];
  const number = Number(digits);
  if (specialQuantities[text] !== undefined) return pick(specialQuantities[text]);
  if (digits === '') return text;
  if (suffix === 'm') return pick([text, String(number / 1000), number / 1000, `${digits}000u`]);
  if (suffix === 'Mi') return pick([text, `${number * 1024}Ki`]);
  if (suffix === 'Gi') return pick([text, `${number * 1024}Mi`]);
  return pick([text, number, `${digits}000m`, `${digits}.0`]);
}

function timeFormats(time: string): readonly unknown[] {
  const ms = Date.parse(time);
  const local = (minutes: number): string => new Date(ms + minutes * 60_000).toISOString().slice(0, 19);
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
