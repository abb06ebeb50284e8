import { type DecodeContext, keepUnknownFields } from './canonical-reader.ts';
import type { Raw } from '../../shared/json.ts';
import type { PatchSchema } from './patch-schema.ts';

/** Reads an object in canonical form: known fields by their rows, unknown ones unchanged. */
export type ReadObject<T> = (raw: Raw, context: DecodeContext) => T;

/** Reads the value of a field in canonical form. */
export type ReadField<T> = (value: unknown, field: string, context: DecodeContext) => T;

/** How one field of a status is read, and how it is patched. */
export interface StatusField<T> extends PatchSchema {
  readonly fields?: FieldTable;
  readonly read: ReadField<T>;
  /**
   * When the canonical object has the field. `always`: even if the input lacks it. `when-set`: if the
   * input has it and it is not null. `not-empty`: if `read` returns something other than `empty`.
   */
  readonly presence: 'always' | 'when-set' | 'not-empty';
  readonly empty?: T | undefined;
}

/** The rows of an object, by field. */
export type FieldTable = Readonly<Record<string, StatusField<unknown>>>;

/** A table of fields: as many rows as fields, in their order. */
export type Rows = readonly (readonly [name: string, row: StatusField<unknown>])[];

/** As many rows as a generated reader has fields. */
export type RowsOf<
  Count extends number,
  Found extends readonly StatusField<unknown>[] = [],
> = Found['length'] extends Count ? Found : RowsOf<Count, [...Found, StatusField<unknown>]>;

/** Creates the reader for tables of one shape (see `shapeOf`) from as many rows as it has fields. */
export type BindReader = (rows: never, known: ReadonlySet<string>) => ReadObject<object>;

const presenceMarks = { always: '!', 'when-set': '?', 'not-empty': '' } as const;

/** Everything that the code of a reader depends on: names, presences, and which fields have fields. */
export function shapeOf(rows: Rows): string {
  return rows.map(([name, { presence, fields }]) => `${name}${fields ? '{}' : ''}${presenceMarks[presence]}`).join(' ');
}

/** The reader for tables of any shape, at less than half the speed of a generated one. */
export function interpretRows(rows: Rows): ReadObject<object> {
  const known = namesOf(rows);
  return (raw, context) => {
    const result: Record<string, unknown> = {};
    for (const [name, { read, presence, empty }] of rows) {
      if (presence === 'when-set' && isUnset(raw[name])) continue;
      const value = read(raw[name], name, context);
      if (presence !== 'not-empty' || value !== empty) result[name] = value;
    }
    keepUnknownFields(result, raw, known, context);
    return result;
  };
}

export function namesOf(rows: Rows): ReadonlySet<string> {
  return new Set(rows.map(([name]) => name));
}

export function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}
