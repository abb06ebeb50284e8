/**
 * How one field of a Kubernetes object is compared and patched, by its JSON name. A list without
 * `mergeKey` and `mergeScalars` is replaced completely. Fields that are in no table are unknown: lists
 * are replaced, objects merged.
 * Source: the `patchStrategy` and `patchMergeKey` tags of `k8s.io/api/core/v1`, v1.37.
 */
export interface PatchSchema {
  /** The known fields of the object, or of every object in the list. */
  readonly fields?: PatchFields;
  /** An object with free keys, all of them known: a map of quantities. */
  readonly map?: true;
  /** A list of objects that is merged element by element: this field identifies an element. */
  readonly mergeKey?: string;
  /** A list that is replaced completely although this field identifies its elements. */
  readonly key?: string;
  /** A list of scalars that is merged as a set. */
  readonly mergeScalars?: true;
  /** A changed element of the merged list names all its fields in `$retainKeys`. */
  readonly retainKeys?: true;
  /** Written as `null` instead of being omitted when it has no value. */
  readonly nullable?: true;
}

export interface PatchFields {
  readonly [field: string]: PatchSchema;
}

const plain: PatchSchema = {};

/** The schema of one field of an object; an empty one when the field is not known. */
export function schemaOfField(schema: PatchSchema, field: string): PatchSchema {
  const { fields } = schema;
  return fields !== undefined && Object.hasOwn(fields, field) ? fields[field]! : plain;
}

/** Whether a patch may remove the field: false if only the server knows it. */
export function isKnownField(schema: PatchSchema, field: string): boolean {
  return schema.map === true || (schema.fields !== undefined && Object.hasOwn(schema.fields, field));
}
