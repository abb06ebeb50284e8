import { type DecodeContext, keepUnknownMembers } from './canonical-reader.ts';
import type { Raw } from '../../shared/json.ts';
import type { PatchSchema } from './patch-schema.ts';

/** Reads an object in canonical form: known members by their rows, unknown ones unchanged. */
export type ReadObject<T> = (raw: Raw, context: DecodeContext) => T;

/** Reads the value of a member in canonical form. */
export type ReadMember<T> = (value: unknown, member: string, context: DecodeContext) => T;

/** How one member of a status is read, and how it is patched. */
export interface StatusMember<T> extends PatchSchema {
  readonly read: ReadMember<T>;
  /**
   * When the canonical object has the member: `always`, also when the input has not; `when-set`: when the
   * input has it and it is not null; `not-empty`: when `read` gives something other than `empty`.
   */
  readonly presence: 'always' | 'when-set' | 'not-empty';
  readonly empty?: T | undefined;
}

/** One row for each member of `T`: a missing row does not compile, nor does one of another type. */
export type MembersOf<T> = {
  readonly [Member in keyof T]-?: undefined extends T[Member]
    ? StatusMember<T[Member]> & { readonly presence: 'when-set' | 'not-empty' }
    : StatusMember<T[Member]> & { readonly presence: 'always' };
};

type Rows = readonly (readonly [name: string, row: StatusMember<unknown>])[];

/**
 * The reader for the objects with these members. It is generated as source code: this is the hot
 * path, and `interpretRows`, which does the same in a loop, takes more than twice the time and more
 * memory, for V8 cannot tell apart the objects that one loop reads and writes. Node.js can forbid code
 * generation (`--disallow-code-generation-from-strings`); then the loop has to do.
 */
export function createObjectReader<T extends object>(members: MembersOf<T>): ReadObject<T> {
  const rows: Rows = Object.entries(members);
  try {
    return generateReader(rows) as ReadObject<T>;
  } catch (error) {
    if (error instanceof EvalError) return interpretRows(rows) as ReadObject<T>;
    throw error;
  }
}

/** What the generated code does, as a loop. */
export function interpretRows(rows: Rows): ReadObject<object> {
  const known = namesOf(rows);
  return (raw, context) => {
    const result: Record<string, unknown> = {};
    for (const [name, { read, presence, empty }] of rows) {
      if (presence === 'when-set' && isUnset(raw[name])) continue;
      const value = read(raw[name], name, context);
      if (presence !== 'not-empty' || value !== empty) result[name] = value;
    }
    keepUnknownMembers(result, raw, known, context);
    return result;
  };
}

/** The names in the code are those of the table, which are identifiers; no input gets into it. */
function generateReader(rows: Rows): ReadObject<object> {
  const parameters = rows.flatMap((_, i) => [`read${i}`, `empty${i}`]);
  const values = rows.flatMap(([, { read, empty }]) => [read, empty]);
  // oxlint-disable-next-line typescript/no-implied-eval -- see createObjectReader
  const bind = new Function('keepUnknownMembers', 'known', 'isUnset', ...parameters, sourceOf(rows)) as (
    ...bound: unknown[]
  ) => ReadObject<object>;
  return bind(keepUnknownMembers, namesOf(rows), isUnset, ...values);
}

function sourceOf(rows: Rows): string {
  const read = (i: number): string => `read${i}(raw.${rows[i]![0]}, '${rows[i]![0]}', context)`;
  const always: string[] = [];
  const values: string[] = [];
  const others: string[] = [];
  for (const [i, [name, { presence }]] of rows.entries()) {
    if (presence === 'always') {
      always.push(`${name}: ${read(i)}`);
    } else if (presence === 'when-set') {
      others.push(`if (!isUnset(raw.${name})) result.${name} = ${read(i)};`);
    } else {
      values.push(`const value${i} = ${read(i)};`);
      others.push(`if (value${i} !== empty${i}) result.${name} = value${i};`);
    }
  }
  // V8 gives an object literal room for the members it has, and `{}` room for four.
  const isUnion = rows.length > 1 && rows.every(([, { presence, members }]) => presence === 'not-empty' && members);
  const literal = isUnion ? `value0 !== empty0 ? { ${rows[0]![0]}: value0 } : {}` : `{ ${always.join(', ')} }`;
  return `'use strict';
return function readObject(raw, context) {
  ${values.join('\n  ')}
  const result = ${literal};
  ${others.join('\n  ')}
  keepUnknownMembers(result, raw, known, context);
  return result;
};`;
}

function namesOf(rows: Rows): ReadonlySet<string> {
  return new Set(rows.map(([name]) => name));
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}
