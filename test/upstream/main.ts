/** Names what has changed between two releases of Kubernetes in what this library ports. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'string', default: 'v1.37.1' } },
});
const [target] = positionals;
const version = /^v1\.\d+\.\d+/;
if (target === undefined || !version.test(target) || !version.test(values.base)) {
  console.error('usage: npm run upstream -- VERSION [--base VERSION]\nVERSION is a release such as v1.38.0');
  process.exit(2);
}

const work = mkdtempSync(join(tmpdir(), 'upstream-'));
/** The folder of a module, from the cache of Go or its proxy, which checks it with its checksum database. */
function moduleFolder(name: string, release: string): string {
  const staged = name === 'k8s.io/kubernetes' ? release : release.replace('v1.', 'v0.');
  const json = execFileSync('go', ['mod', 'download', '-json', `${name}@${staged}`], { cwd: work, encoding: 'utf8' });
  return (JSON.parse(json) as { readonly Dir: string }).Dir;
}

type Declarations = ReadonlyMap<string, string>;

/** The text of each match in the files below a path by its name; several of one name are one text. */
function declarations(folder: string, paths: readonly string[], pattern: RegExp): Declarations {
  const found = new Map<string, string>();
  for (const file of paths.flatMap((path) => filesBelow(join(folder, path))))
    for (const [text, name = ''] of readFileSync(file, 'utf8').matchAll(pattern))
      found.set(name, `${found.get(name) ?? ''}${text.replaceAll(/\s*\/\/.*$/gm, '')}`);
  return found;
}

function filesBelow(path: string): string[] {
  if (/\.\w+$/.test(path)) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.go'));
  return files.toSorted().map((file) => join(path, file));
}

const functions = /^func (?:\([^)]*\) )?(\w+)[[(][^]*?^}/gm;
const kinds = {
  functions: ['k8s.io/kubernetes', ['pkg/kubelet', 'pkg/probe', 'pkg/api/v1/pod'], functions],
  fields: ['k8s.io/api', ['core/v1/types.go'], /^type (\w+) struct \{[^]*?^}/gm],
  gates: ['k8s.io/kubernetes', ['pkg/features/kube_features.go'], /^\t(?:genericfeatures\.)?(\w+): \{\n[^]*?^\t\},/gm],
  messages: ['k8s.io/cri-api', ['pkg/apis/runtime/v1/api.proto'], /^(?:message|enum|service) (\w+) \{[^]*?^}/gm],
} as const;

function changesOf([module, files, pattern]: (typeof kinds)[keyof typeof kinds]): ReadonlyMap<string, string> {
  const before = declarations(moduleFolder(module, values.base), files, pattern);
  const after = declarations(moduleFolder(module, target!), files, pattern);
  const changes = new Map<string, string>();
  for (const [name, text] of before)
    if (!after.has(name)) changes.set(name, 'removed');
    else if (after.get(name) !== text) changes.set(name, 'changed');
  for (const name of after.keys()) if (!before.has(name)) changes.set(name, 'new');
  return changes;
}

/** Entries of the map, each in one line, by the symbols of Kubernetes before their arrow or dot. */
const entries = readFileSync('test/parity/map.md', 'utf8')
  .replaceAll(/\n {2}/g, ' ')
  .split('\n')
  .filter((line) => line.startsWith('- '));
const counterparts = new Map(
  entries.flatMap((entry) => {
    const [, symbols = '', ours = ''] = /^- (.*?) (?:→|·) (.*)$/.exec(entry) ?? [];
    return [...symbols.matchAll(/`(\w+)`/g)].map(([, symbol = '']) => [symbol, ours] as const);
  }),
);

const changedFunctions = changesOf(kinds.functions);
const tests = [...changedFunctions].filter(([name]) => name.startsWith('Test'));
console.log(`# From ${values.base} to ${target}\n\n## Functions that are ported\n`);
for (const [name, change] of changedFunctions) {
  const ours = counterparts.get(name);
  if (ours === undefined || name.startsWith('Test')) continue;
  const related = tests.filter(([test]) => test.toLowerCase().includes(name.toLowerCase())).map(([test]) => test);
  console.log(
    `- ${name} (${change}): ${ours}; ${related.length > 0 ? `tests: ${related.join(', ')}` : 'no test of its name changed'}`,
  );
}
console.log('\n## Test cases\n');
for (const [name, change] of tests)
  if (counterparts.has(name)) console.log(`- ${name} (${change}): ${counterparts.get(name)}`);
for (const [title, kind] of [
  ['Structs of the API', kinds.fields],
  ['Feature gates', kinds.gates],
  ['CRI messages', kinds.messages],
] as const) {
  console.log(`\n## ${title}\n`);
  for (const [name, change] of changesOf(kind)) console.log(`- ${name} (${change})`);
}
