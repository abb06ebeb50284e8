import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A project with nothing but the package, and what prints `written` in it. */
export interface EmptyProject {
  readonly name: string;
  /** To be installed beside the package. */
  readonly packages: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly (readonly string[])[];
}

const use = `
const pod = { metadata: { namespace: 'default', name: 'web', uid: 'web-1' }, spec: { containers: [] } };
const manager = new index.StatusManager({
  client: new testing.FakePodClient([pod]),
  podCouldHaveRunningContainers: () => false,
});
manager.setPodStatus(pod, { phase: 'Running' });
manager.syncBatch(false).then(({ written }) => console.log(written === 1 ? 'written' : 'not written'));
`;

/** @param subpaths of the exports of package.json: `.`, `./http`, … */
export function emptyProjects(subpaths: readonly string[], versionOf: (name: string) => string): EmptyProject[] {
  const modules = subpaths.map((subpath) => ({
    name: subpath === '.' ? 'index' : subpath.slice('./'.length).replaceAll('-', '_'),
    specifier: `kubelet-status-manager${subpath.slice('.'.length)}`,
  }));
  const names = modules.map(({ name }) => name).join(', ');
  const imports = modules.map(({ name, specifier }) => `import * as ${name} from '${specifier}';`).join('\n');
  const requires = modules.map(({ name, specifier }) => `const ${name} = require('${specifier}');`).join('\n');
  const check = `if (![${names}].every((one) => Object.keys(one).length > 0)) throw new Error('An export is empty');`;
  // The optional peer dependencies that a module imports at its top.
  const peers = ['prom-client', '@grpc/grpc-js', 'protobufjs'].map((name) => `${name}@${versionOf(name)}`);
  return [
    {
      name: 'ESM',
      packages: peers,
      files: { 'package.json': '{ "type": "module" }', 'index.js': `${imports}\n${check}${use}` },
      commands: [[process.execPath, 'index.js']],
    },
    {
      name: 'CommonJS',
      packages: peers,
      files: { 'package.json': '{ "type": "commonjs" }', 'index.js': `${requires}\n${check}${use}` },
      commands: [[process.execPath, 'index.js']],
    },
    {
      name: 'TypeScript',
      packages: [...peers, `typescript@${versionOf('typescript')}`, `@types/node@${versionOf('@types/node')}`],
      files: {
        'package.json': '{ "type": "module" }',
        'tsconfig.json': JSON.stringify({
          compilerOptions: {
            target: 'es2023',
            module: 'nodenext',
            strict: true,
            skipLibCheck: false,
            types: ['node'],
            outDir: 'out',
          },
          files: ['index.ts'],
        }),
        'index.ts': `${imports}\n${check}${use}`,
      },
      commands: [[join('node_modules', '.bin', 'tsc')], [process.execPath, join('out', 'index.js')]],
    },
  ];
}

/** @throws Error with the output of the command that failed, or when nothing was written */
export function tryEmptyProject({ packages, files, commands }: EmptyProject, tarball: string, folder: string): void {
  mkdirSync(folder);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const run = ([command, ...args]: readonly string[]): string =>
    execFileSync(command!, args, { cwd: folder, encoding: 'utf8' });
  run(['npm', 'install', '--silent', '--no-audit', '--no-fund', tarball, ...packages]);
  const output = commands.map(run).join('');
  if (!output.includes('written') || output.includes('not written')) throw new Error(`Nothing was written: ${output}`);
}
