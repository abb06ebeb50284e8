import type { CanonicalTime, ResourceList } from '../../kube/objects/types.ts';
import {
  booleanAt,
  int32At,
  int64At,
  lastOfEachKey,
  listAt,
  objectAt,
  quantityAt,
  requiredStringAt,
  resourceListAt,
  scalarListAt,
  stringAt,
  timeAt,
} from './canonical-reader.ts';
import type { Raw } from '../../shared/json.ts';
import {
  type FieldTable,
  interpretRows,
  namesOf,
  type ReadObject,
  shapeOf,
  type StatusField,
} from './object-reader.ts';
import { objectReaders } from './object-readers.ts';
import type { PatchSchema } from './patch-schema.ts';

type Always<T> = StatusField<T> & { readonly presence: 'always'; readonly empty: T };
type Present<T> = StatusField<T> & { readonly presence: 'always' };
type WhenSet<T> = StatusField<T> & { readonly presence: 'when-set' };
type NotEmpty<T> = StatusField<T> & { readonly presence: 'not-empty' };

/**
 * The reader for the objects with these fields. Reading is the hot path, so the objects that most pods
 * have get a generated reader (`object-readers.ts`). `interpretRows` does the same for rare ones, but
 * takes more than twice the time and more memory, because V8 sees objects of all shapes in its one loop.
 */
export function createObjectReader<T extends object>(fields: FieldTable): ReadObject<T> {
  const rows = Object.entries(fields);
  const bind = objectReaders.get(shapeOf(rows));
  return (
    bind === undefined ? interpretRows(rows) : bind(Object.values(fields) as never, namesOf(rows))
  ) as ReadObject<T>;
}

export const text: Always<string> = { read: stringAt, presence: 'always', empty: '' };
/** A string that identifies an entry. */
export const requiredText: Always<string> = { read: requiredStringAt, presence: 'always', empty: '' };
export const boolean: Always<boolean> = { read: booleanAt, presence: 'always', empty: false };
export const int32: Always<number> = { read: int32At, presence: 'always', empty: 0 };
export const int64: Always<number> = { read: int64At, presence: 'always', empty: 0 };
export const time: Always<CanonicalTime> = { read: timeAt, presence: 'always', empty: null, nullable: true };
/** As `int64`, but also keeps an integer that JavaScript does not represent exactly. */
export const anyInteger: Always<number> = {
  ...int64,
  read: (value, field, context) => (Number.isInteger(value) ? (value as number) : int64At(value, field, context)),
};
/** As `time`, but also keeps text that is not a time. */
export const anyTime: Always<CanonicalTime> = {
  ...time,
  read: (value, field, context) =>
    typeof value === 'string' && context.times.format(value) === undefined ? value : timeAt(value, field, context),
};
export const quantity: Always<string | null> = { read: quantityAt, presence: 'always', empty: null, nullable: true };
/** A map of quantities. */
export const quantities: NotEmpty<ResourceList | undefined> = {
  read: resourceListAt,
  presence: 'not-empty',
  map: true,
};

/** One of these words, or empty; others are refused when strict. */
export function enumOf(...words: readonly string[]): Always<string> {
  const known: ReadonlySet<string> = new Set(['', ...words]);
  const expected = `one of ${words.map((word) => `'${word}'`).join(', ')}`;
  return {
    read: (value, field, context) => {
      const word = stringAt(value, field, context);
      if (context.strict && !known.has(word)) context.refuse(field, expected, value);
      return word;
    },
    presence: 'always',
    empty: '',
  };
}

/** Omitted when empty, so it is never null. Go: `omitempty`. */
export function omitEmpty<T>({ read, empty }: Always<T>): NotEmpty<NonNullable<T>> {
  return { read, presence: 'not-empty', empty } as NotEmpty<NonNullable<T>>;
}

/** Omitted when not set; an empty value is kept. Go: a pointer. */
export function whenSet<T>({ read }: Always<T>): WhenSet<T> {
  return { read, presence: 'when-set' };
}

/** An object; omitted when not set. Go: a pointer to a struct. */
export function object<T extends object>(fields: FieldTable): NotEmpty<T | undefined> {
  const readObject = createObjectReader<T>(fields);
  return {
    fields,
    read: (value, field, context) => objectAt(value, field, context, readObject),
    presence: 'not-empty',
  };
}

/** An object that is always present and has at most one of its fields. */
export function union(fields: FieldTable): Present<object> {
  const { read } = object<Raw>(fields);
  const names = Object.keys(fields);
  /** Most are empty and share this object. */
  const none = Object.freeze({});
  return {
    fields,
    read: (value, field, context) => {
      const result = read(value, field, context);
      if (result === undefined) return none;
      if (context.strict && hasSeveral(result, names))
        context.refuse(field, `an object with at most one of ${names.join(', ')}`, value);
      return result;
    },
    presence: 'always',
  };
}

function hasSeveral(object: Raw, names: readonly string[]): boolean {
  let found = 0;
  for (const name of names) if (object[name] !== undefined) found++;
  return found > 1;
}

export interface ListRules extends Pick<PatchSchema, 'key' | 'mergeKey' | 'retainKeys'> {
  /** Rows for the entries of other writers: the caller is not responsible for their values. */
  readonly foreign?: { readonly fields: FieldTable; readonly has: (element: Raw) => boolean };
  /** Only the last of several entries with the same key counts. */
  readonly unique?: true;
}

/** A list of objects; omitted when empty. */
export function list<T extends object>(
  fields: FieldTable,
  { unique, foreign, ...rules }: ListRules = {},
): NotEmpty<T[] | undefined> {
  const readOwn = createObjectReader<T>(fields);
  const readForeign = foreign && createObjectReader<T>({ ...fields, ...foreign.fields });
  const readElement: ReadObject<T> =
    readForeign === undefined ? readOwn : (raw, context) => (foreign?.has(raw) ? readForeign : readOwn)(raw, context);
  const key = unique && ((rules.mergeKey ?? rules.key) as keyof T);
  return {
    ...rules,
    fields,
    read:
      key === undefined
        ? (value, field, context) => listAt(value, field, context, readElement)
        : (value, field, context) => lastOfEachKey(listAt(value, field, context, readElement), key, context),
    presence: 'not-empty',
  };
}

/** A list of objects that Go writes as null when it is nil. */
export function nullableList(fields: FieldTable): Present<object[] | null> {
  const { read } = list(fields);
  return {
    fields,
    nullable: true,
    read: (value, field, context) => read(value, field, context) ?? (Array.isArray(value) ? [] : null),
    presence: 'always',
  };
}

/** A list of strings or numbers; omitted when empty. */
export function listOf<T extends string | number>({ read }: Always<T>): NotEmpty<T[] | undefined> {
  return {
    read: (value, field, context) => scalarListAt(value, field, context, read),
    presence: 'not-empty',
  };
}
