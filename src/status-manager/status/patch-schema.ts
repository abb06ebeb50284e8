/**
 * How one member of a Kubernetes object is compared and patched, by its JSON name. A list without
 * `mergeKey` and `mergeScalars` is replaced completely. Members that are in no table are unknown: lists
 * are replaced, objects merged.
 * Source: the `patchStrategy` and `patchMergeKey` tags of `k8s.io/api/core/v1`, v1.37.
 */
export interface PatchSchema {
  /** The known members of the object, or of every object in the list. */
  readonly members?: PatchMembers;
  /** An object with free keys, all of them known: a map of quantities. */
  readonly map?: true;
  /** A list of objects that is merged element by element: this member identifies an element. */
  readonly mergeKey?: string;
  /** A list that is replaced completely although this member identifies its elements. */
  readonly key?: string;
  /** A list of scalars that is merged as a set. */
  readonly mergeScalars?: true;
  /** A changed element of the merged list names all its members in `$retainKeys`. */
  readonly retainKeys?: true;
  /** Written as `null` instead of being omitted when it has no value. */
  readonly nullable?: true;
}

export interface PatchMembers {
  readonly [member: string]: PatchSchema;
}

const plain: PatchSchema = {};

/** The schema of one member of an object; an empty one when the member is not known. */
export function schemaOfMember(schema: PatchSchema, member: string): PatchSchema {
  const { members } = schema;
  return members !== undefined && Object.hasOwn(members, member) ? members[member]! : plain;
}

/** Whether a patch may remove the member: false if only the server knows it. */
export function isKnownMember(schema: PatchSchema, member: string): boolean {
  return schema.map === true || (schema.members !== undefined && Object.hasOwn(schema.members, member));
}
