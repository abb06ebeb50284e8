import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { podStatusFields } from '../../src/status-manager/status/status-fields.ts';
import { generateCRIAPI } from './cri-api.ts';
import { generatePodSpecDocument } from './pod-spec-document.ts';
import { generateFeatureGates } from './feature-gates.ts';
import { frequentTablesOf, generateObjectReaders } from './object-readers.ts';

/*
 * `npm run generated`: says which generated files are not what their sources give. `-- --write` writes them,
 * which is due after a change of status-fields.ts, of pod-spec-fields.ts or of test/generated. Two of the sources are Go modules of
 * Kubernetes, at the versions and checksums of test/generated/go: their files need Go.
 */

// From dist/test/generated.
const root = fileURLToPath(new URL('../../../', import.meta.url));
const { write } = new Command('npm run generated --')
  .description(
    'Says which generated files are not what their sources give. Files whose sources are Go modules need go.',
  )
  .option('--write', 'write them anew', false)
  .addHelpText('after', '\nExit code: 0 all are up to date or written, 1 some are not, 2 wrong usage.')
  .exitOverride(exitAfterUsage)
  .parse()
  .opts<{ readonly write: boolean }>();

const go = (...args: readonly string[]): string =>
  execFileSync('go', args, { cwd: join(root, 'test/generated/go'), encoding: 'utf8', maxBuffer: 1 << 24 });

function readCRIAPI(): string {
  const { Dir, Version } = JSON.parse(go('mod', 'download', '-json', 'k8s.io/cri-api')) as Record<string, string>;
  return generateCRIAPI(readFileSync(join(Dir!, 'pkg/apis/runtime/v1/api.proto'), 'utf8'), Version!);
}

/** Of the release of Kubernetes that cri-api is of. */
function readFeatureGates(): string {
  const moduleOf = (path: string): Record<string, string> =>
    JSON.parse(go('mod', 'download', '-json', path)) as Record<string, string>;
  const [, minor = '', patch = ''] = moduleOf('k8s.io/cri-api')['Version']!.split('.');
  const [kubernetes, componentBase] = [
    moduleOf(`k8s.io/kubernetes@v1.${minor}.${patch}`),
    moduleOf(`k8s.io/component-base@v0.${minor}.${patch}`),
  ];
  return generateFeatureGates(kubernetes['Dir']!, componentBase['Dir']!, Number(minor));
}

const generators: Readonly<Record<string, () => string>> = {
  'src/status-manager/status/object-readers.ts': () =>
    generateObjectReaders(frequentTablesOf(podStatusFields, 'status')),
  'docs/internals/pod-spec.md': generatePodSpecDocument,
  'src/cri/cri-api.ts': readCRIAPI,
  'test/generated/feature-gates.json': readFeatureGates,
  'src/kube/objects/kube-types.ts': () => go('run', '.'),
};

for (const [path, generate] of Object.entries(generators)) {
  const file = join(root, path);
  try {
    const generated = generate();
    if (write) writeFileSync(file, generated);
    else if (readFileSync(file, 'utf8') !== generated) {
      console.error(`${path} is out of date: run npm run generated -- --write`);
      process.exitCode = 1;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    console.error(`${path} needs Go (package golang-go of Debian)`);
    process.exitCode = 1;
  }
}
