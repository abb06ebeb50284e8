import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StatusManagerError } from '../../../src/shared/errors.ts';
import { DecodeContext } from '../../../src/status-manager/status/canonical-reader.ts';
import { interpretRows, shapeOf } from '../../../src/status-manager/status/object-reader.ts';
import { objectReaders } from '../../../src/status-manager/status/object-readers.ts';
import { createObjectReader } from '../../../src/status-manager/status/status-field.ts';
import { podStatusFields } from '../../../src/status-manager/status/status-fields.ts';
import { frequentTablesOf, generateObjectReaders, tablesOf } from '../../generated/object-readers.ts';

const tables = [...tablesOf(podStatusFields, 'status')].map(([table, path]) => [path, table] as const);
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
  it('are those of the tables: after a change, run npm run generated -- --write', () => {
    const file = new URL('../../../src/status-manager/status/object-readers.ts', import.meta.url);
    expect(readFileSync(file, 'utf8')).toBe(generateObjectReaders(frequentTablesOf(podStatusFields, 'status')));
  });

  const frequent = new Set(frequentTablesOf(podStatusFields, 'status'));
  it.each(tables.filter(([, table]) => frequent.has(table)))(
    'are used for %s, which most pods have',
    (_path, table) => {
      expect(objectReaders.has(shapeOf(Object.entries(table)))).toBe(true);
    },
  );

  it.each(tables)('read the fields of %s as the loop over their rows does', (_path, table) => {
    const rows = Object.entries(table);
    const generated = createObjectReader(table);
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
