import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StatusManagerError } from '../../../src/shared/errors.ts';
import { DecodeContext } from '../../../src/status-manager/status/canonical-reader.ts';
import { createObjectReader, interpretRows } from '../../../src/status-manager/status/object-reader.ts';
import type { PatchMembers } from '../../../src/status-manager/status/patch-schema.ts';
import type { MembersOf, StatusMember } from '../../../src/status-manager/status/object-reader.ts';
import { podStatusMembers } from '../../../src/status-manager/status/status-members.ts';

type Table = Readonly<Record<string, StatusMember<unknown>>>;

/** All tables of members below, each once, with the path to it. */
function tablesOf(
  members: PatchMembers,
  path: string,
  found = new Map<PatchMembers, string>(),
): Map<PatchMembers, string> {
  if (found.has(members)) return found;
  found.set(members, path);
  for (const [name, row] of Object.entries(members))
    if (row.members !== undefined) tablesOf(row.members, `${path}.${name}`, found);
  return found;
}

const tables = [...tablesOf(podStatusMembers, 'status')].map(([table, path]) => [path, table as Table] as const);
const value = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, '', 'text', 'True', '2026-01-02T03:04:05.5Z', '1000m', 0, 1, true, false),
  fc.constantFrom<unknown>([], ['a'], [1], {}, { cpu: '1000m' }, [{ name: 'a' }, { name: 'a' }], new Date(0)),
);

function outcomeOf(read: () => object): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof StatusManagerError) return error.path;
    throw error;
  }
}

describe('the generated readers', () => {
  it.each(tables)('read the members of %s as the loop over their rows does', (_path, table) => {
    const rows = Object.entries(table);
    const generated = createObjectReader(table as MembersOf<object>);
    const interpreted = interpretRows(rows);
    const raw = fc.dictionary(fc.constantFrom(...rows.map(([name]) => name), 'x-new', 'constructor'), value);
    fc.assert(
      fc.property(raw, fc.boolean(), (input, strict) => {
        const [ours, theirs] = [generated, interpreted].map((read) =>
          outcomeOf(() => read(input, new DecodeContext(strict, 'status'))),
        );
        // Which of several faults is named first may differ.
        if (typeof theirs === 'string') expect(ours).toBeTypeOf('string');
        else expect(ours).toEqual(theirs);
      }),
    );
  });
});
