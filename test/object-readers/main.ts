import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { podStatusMembers } from '../../src/status-manager/status/status-members.ts';
import { generateObjectReaders, tablesOf } from './generate.ts';

/*
 * `npm run object-readers`: says whether `object-readers.ts` is what the tables of status-members.ts
 * give. `-- --write` writes it, which is due after a change of these tables.
 */

// From dist/test/object-readers.
const file = new URL('../../../src/status-manager/status/object-readers.ts', import.meta.url);
const { write } = parseArgs({ options: { write: { type: 'boolean', default: false } } }).values;

const generated = generateObjectReaders(tablesOf(podStatusMembers, 'status').keys());
if (write) writeFileSync(file, generated);
else if (readFileSync(file, 'utf8') !== generated) {
  process.stderr.write('object-readers.ts is out of date: run npm run object-readers -- --write\n');
  process.exitCode = 1;
}
