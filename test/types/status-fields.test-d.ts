/**
 * Compiles, or a field of a status type can be added without its row in the table of fields.
 * Nothing here runs.
 */
import { listOf, object, omitEmpty, optional, quantities, text } from '../../src/status-manager/status/status-field.ts';
import { type FieldsOf } from '../../src/status-manager/status/object-reader.ts';
import { podStatusFields } from '../../src/status-manager/status/status-fields.ts';
import type { PodStatus, ResourceList } from '../../src/kube/objects/types.ts';

interface NewerPodStatus extends PodStatus {
  readonly newField?: string;
}

// @ts-expect-error -- the table has no row for the new field
export const forgotten: FieldsOf<NewerPodStatus> = podStatusFields;
export const added: FieldsOf<NewerPodStatus> = { ...podStatusFields, newField: omitEmpty(text) };

interface Sample {
  readonly a: string;
  readonly b?: string;
  readonly c?: { readonly d?: readonly string[] };
  readonly e?: ResourceList;
}

const rows: FieldsOf<Sample> = {
  a: text,
  b: optional(text),
  c: object<{ readonly d?: readonly string[] }>({ d: listOf(text) }),
  e: quantities,
};
// @ts-expect-error -- a row for a field that the type does not have
export const unknownRow: FieldsOf<Sample> = { ...rows, f: text };
// @ts-expect-error -- reads another type
export const otherType: FieldsOf<Sample> = { ...rows, e: omitEmpty(text) };
// @ts-expect-error -- a field that is always there, left out when empty
export const leftOut: FieldsOf<Sample> = { ...rows, a: omitEmpty(text) };
// @ts-expect-error -- a field that may be absent, always there
export const alwaysThere: FieldsOf<Sample> = { ...rows, b: text };
