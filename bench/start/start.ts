import { mkdtempSync, rmSync } from 'node:fs';
import nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../bundle.ts';
import { jsonLinesOf } from '../children.ts';
import type { Report } from '../report.ts';

export interface StartOptions {
  readonly processes: number;
  readonly progress: (text: string) => void;
}

const worker = fileURLToPath(new URL('worker.js', import.meta.url));

/** What a process with virtual nodes spends until its modules are loaded. */
export async function benchStart({ processes, progress }: StartOptions): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'ksm-start-'));
  await using _ = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
  const module = fileURLToPath(import.meta.resolve('kubelet-status-manager/virtual-nodes'));
  const bundled = await bundle(module, join(folder, 'bundle.mjs'));
  const cache = { NODE_COMPILE_CACHE: join(folder, 'cache') };
  const starts: readonly { name: string; args: readonly string[]; env?: NodeJS.ProcessEnv; cpuMs: number[] }[] = [
    { name: 'Node.js without a module', args: [], cpuMs: [] },
    { name: 'kubelet-status-manager/virtual-nodes', args: [module], cpuMs: [] },
    { name: 'bundled', args: [bundled], cpuMs: [] },
    ...('enableCompileCache' in nodeModule
      ? [
          { name: 'with NODE_COMPILE_CACHE', args: [module], env: cache, cpuMs: [] },
          { name: 'bundled, with NODE_COMPILE_CACHE', args: [bundled], env: cache, cpuMs: [] },
        ]
      : []),
  ];
  // The first round fills the cache.
  for (let round = 0; round <= processes; round++) {
    progress(`start: round ${round} of ${processes}`);
    for (const { args, env, cpuMs } of starts) {
      const [result] = await jsonLinesOf<{ cpuMs: number }>(process.execPath, [worker, ...args], env);
      if (round > 0) cpuMs.push(result!.cpuMs);
    }
  }
  const plain = starts[1]!;
  return {
    title: 'The start of a program with virtual nodes',
    notes: [
      'The user and system time of a new process until it has loaded `createVirtualNodes`, in turns. Bundled: by rolldown, with its dependencies, into one file.',
    ],
    figures: starts.map(({ name, cpuMs: values }) => {
      return { name, unit: 'ms', values, reference: { name: plain.name, values: plain.cpuMs } };
    }),
  };
}
