/** Names what has changed between two releases of Kubernetes in what this library ports. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changesBetween, formatChanges, type UpstreamRelease } from './changes.ts';
import { readPorted } from './ported.ts';

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
  const json = execFileSync('go', ['mod', 'download', '-json', `${name}@${release}`], { cwd: work, encoding: 'utf8' });
  return (JSON.parse(json) as { readonly Dir: string }).Dir;
}

function modulesOf(release: string): UpstreamRelease {
  const staged = release.replace('v1.', 'v0.');
  return {
    kubernetes: moduleFolder('k8s.io/kubernetes', release),
    api: moduleFolder('k8s.io/api', staged),
    criAPI: moduleFolder('k8s.io/cri-api', staged),
  };
}

const changes = changesBetween(modulesOf(values.base), modulesOf(target), readPorted());
console.log(`# From ${values.base} to ${target}, in what is ported: ${changes.length} changes`);
for (const [kind, title] of [
  ['function', 'Functions'],
  ['test case', 'Test cases'],
  ['field', 'Fields of the API'],
  ['feature gate', 'Feature gates of the kubelet'],
  ['CRI message', 'Fields of CRI messages, values of enums, and methods'],
] as const) {
  const ofKind = changes.filter((change) => change.kind === kind);
  console.log(`\n## ${title}: ${ofKind.length}\n`);
  for (const line of formatChanges(ofKind)) console.log(`- ${line}`);
}
