import { type FieldTable, type Rows, shapeOf } from '../../src/status-manager/status/object-reader.ts';

const header = `/*
 * Written by \`npm run generated -- --write\` from the tables of status-fields.ts; do not edit.
 * A reader for each shape of table that most pods have; why they are generated: createObjectReader.
 */
import { keepUnknownFields } from './canonical-reader.ts';
import { type BindReader, isUnset, type RowsOf } from './object-reader.ts';
`;

/** All tables below this one and itself, each once, with the path to it. */
export function tablesOf(
  table: FieldTable,
  path: string,
  found = new Map<FieldTable, string>(),
): Map<FieldTable, string> {
  if (found.has(table)) return found;
  found.set(table, path);
  for (const [name, row] of Object.entries(table))
    if (row.fields !== undefined) tablesOf(row.fields, `${path}.${name}`, found);
  return found;
}

/** Fields that few pods have: the loop of `interpretRows` is fast enough for them. */
const rareFields: ReadonlySet<string> = new Set([
  'allocatedResourcesStatus',
  'claims',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
  'resourceClaimStatuses',
  'volumeHealth',
  'volumeStatus',
]);

/** The tables of `tablesOf` that have a generated reader. */
export function frequentTablesOf(fields: FieldTable, path: string): FieldTable[] {
  const isFrequent = (at: string): boolean => !at.split('.').some((name) => rareFields.has(name));
  return [...tablesOf(fields, path)].filter(([, at]) => isFrequent(at)).map(([table]) => table);
}

/** The text of `object-readers.ts`. No input of a user gets into it. */
export function generateObjectReaders(tables: Iterable<FieldTable>): string {
  const readers = new Map<string, string>();
  for (const table of tables) {
    const rows = Object.entries(table);
    readers.set(shapeOf(rows), readerOf(rows));
  }
  const entries = Array.from(readers, ([shape, reader]) => `  [\n    '${shape}',\n${reader}  ],\n`);
  return `${header}
/** By shape; see \`shapeOf\`. */
export const objectReaders: ReadonlyMap<string, BindReader> = new Map<string, BindReader>([
${entries.join('')}]);
`;
}

function readerOf(rows: Rows): string {
  const read = (i: number): string => `read${i}(raw.${rows[i]![0]}, '${rows[i]![0]}', context)`;
  const bound: string[] = [];
  const values: string[] = [];
  const always: string[] = [];
  const others: string[] = [];
  for (const [i, [name, { presence }]] of rows.entries()) {
    bound.push(`{ read: read${i}${presence === 'not-empty' ? `, empty: empty${i}` : ''} }`);
    if (presence === 'always') {
      always.push(`${name}: ${read(i)},`);
    } else if (presence === 'when-set') {
      others.push(`if (!isUnset(raw.${name})) result.${name} = ${read(i)};`);
    } else {
      values.push(`const value${i} = ${read(i)};`);
      others.push(`if (value${i} !== empty${i}) result.${name} = value${i};`);
    }
  }
  const lines = (indent: number, texts: readonly string[]): string =>
    texts.map((text) => `${' '.repeat(indent)}${text}\n`).join('');
  // V8 gives an object literal room for the fields it has, and `{}` room for four.
  const isUnion = rows.length > 1 && rows.every(([, { presence, fields }]) => presence === 'not-empty' && fields);
  const literal = isUnion
    ? `${rows.map(([name], i) => `value${i} !== empty${i} ? { ${name}: value${i} } : `).join('')}{};\n`
    : always.length === 0
      ? '{};\n'
      : `{\n${lines(10, always)}        };\n`;
  return `    ([${bound.join(', ')}]: RowsOf<${rows.length}>, known) => {
      return (raw, context) => {
${lines(8, values)}        const result: Record<string, unknown> = ${literal}${lines(8, others)}        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
`;
}
