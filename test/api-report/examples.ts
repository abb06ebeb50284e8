import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EntryPoint, valuesOf } from './surface.ts';

/** What the examples take for granted. */
const globals = `import type { BasicPodManager, Logger, Pod, StatusManager } from 'kubelet-status-manager';
import type { ContainerRuntime, NodeAgent } from 'kubelet-status-manager/agent';
import type { HTTPPodClient, KubeConfigObject } from 'kubelet-status-manager/http';
import type { PodProvider, VirtualNodes } from 'kubelet-status-manager/virtual-nodes';

declare global {
  const agent: NodeAgent;
  const nodes: VirtualNodes;
  const register: import('prom-client').Registry;
  const client: HTTPPodClient;
  const kubeConfig: KubeConfigObject;
  const logger: Logger;
  const manager: StatusManager;
  /** UIDs of pods with mounted volumes. */
  const mounted: Set<string | undefined>;
  const nodeName: string;
  const pod: Pod;
  const podManager: BasicPodManager;
  const podUID: string;
  const provider: PodProvider;
  /** UIDs of pods with running containers. */
  const running: Set<string | undefined>;
  const runtime: ContainerRuntime;
}
`;

/** Compiles every `@example` in `src`. @returns what is wrong with them, and the exported values that have none */
export async function checkExamples(root: string, entryPoints: readonly EntryPoint[]): Promise<string[]> {
  const examples = examplesIn(join(root, 'src'));
  const values = new Set((await Promise.all(entryPoints.map((entry) => valuesOf(root, entry)))).flat());
  const problems = [...values].filter((name) => !examples.has(name)).map((name) => `${name} has no @example.`);

  // Inside the package, so that it can be imported by its name.
  const folder = join(root, 'dist', 'api-examples');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'globals.d.ts'), globals);
  for (const [name, codes] of examples) {
    for (const [index, code] of codes.entries()) {
      writeFileSync(join(folder, `${name}-${index + 1}.ts`), `${code}\nexport {};\n`);
    }
  }
  const compilerOptions = { noEmit: true, rootDir: '../..', noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { cwd: folder, encoding: 'utf8' });
  console.log(`Examples: ${[...examples.values()].flat().length}`);
  if (status !== 0) problems.push(`Examples that do not compile:\n${stdout}`);
  return problems;
}

/** Name of each declaration or field → its examples. */
function examplesIn(folder: string): Map<string, string[]> {
  const examples = new Map<string, string[]>();
  const comment =
    /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(?:\/\/.*\s*)?(?:export |async |const |function |class |readonly )*(\w+)/g;
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts')) continue;
    for (const [, text = '', name = ''] of readFileSync(join(folder, path), 'utf8').matchAll(comment)) {
      const codes = [...text.matchAll(/@example\s*\n\s*\* ```ts\n([^]*?)\n\s*\* ```/g)].map(([, code = '']) =>
        code.replaceAll(/^\s*\* ?/gm, ''),
      );
      if (codes.length > 0) examples.set(name, [...(examples.get(name) ?? []), ...codes]);
    }
  }
  return examples;
}
