import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { repository } from '../support/repository.ts';
import { maxExponent, measureGrowth, type Reader } from './growth.ts';
import { others } from './others.ts';
import { rows } from './rows.ts';

/** Everything that is linear takes less than 500 times as long as to write the same as JSON. */
const maxEffort = 2000;

/** Folders whose functions read what others wrote. */
const areas = [
  ...['status', 'explain', 'journal', 'sync'].map((folder) => `status-manager/${folder}`),
  ...['objects', 'pods', 'pod-manager', 'client', 'validation', 'informer'].map((folder) => `kube/${folder}`),
  ...['actions', 'admission', 'allocation', 'container-options', 'eviction', 'image-pulls', 'pleg', 'volumes'].map(
    (folder) => `agent/${folder}`,
  ),
  ...['admission', 'allocation', 'config', 'container-options', 'pod-spec', 'runtime', 'status', 'volumes'].map(
    (folder) => `node/${folder}`,
  ),
  ...['calls', 'kubelet', 'pods', 'replicas'].map((folder) => `virtual-nodes/${folder}`),
];

async function functionsOf(area: string): Promise<[string, unknown][]> {
  const files = readdirSync(join(repository, 'src', area)).filter(
    (name) => name.endsWith('.ts') && name !== 'index.ts',
  );
  const modules = await Promise.all(
    files.map(async (file) => {
      const exports = (await import(join(repository, 'src', area, file))) as Readonly<Record<string, unknown>>;
      return Object.entries(exports).map(([name, value]) => [`${area}/${file} ${name}`, value] as [string, unknown]);
    }),
  );
  return modules.flat().filter(([, value]) => typeof value === 'function' && !/^class\b/.test(String(value)));
}

it.each(areas)('each function of %s is measured, or it is said why not', async (area) => {
  const measured = new Set<unknown>(rows.map(({ subject }) => subject));
  const excepted = Object.values(others).flatMap((files) =>
    Object.entries(files).flatMap(([file, names]) => names.split(' ').map((name) => `${file} ${name}`)),
  );
  const unmeasured = (await functionsOf(area)).filter(([, value]) => !measured.has(value)).map(([name]) => name);
  expect(unmeasured.toSorted()).toEqual(
    excepted.filter((name) => name.startsWith(`${area}/`) && !name.slice(area.length + 1).includes('/')).toSorted(),
  );
});

describe('the work for what others wrote grows at most like n log n', () => {
  it.each(rows.map((row) => [row.subject.name, row.shape, row as Reader] as const))(
    '%s: %s',
    async (_name, _shape, row) => {
      const measured = [await measureGrowth(row)];
      // On a busy machine, the smallest of several measurements counts, of more and more runs.
      for (let runs = 4; runs <= 32 && measured.at(-1)!.exponent >= maxExponent; runs *= 2)
        measured.push(await measureGrowth(row, runs));
      expect(Math.min(...measured.map(({ exponent }) => exponent))).toBeLessThan(maxExponent);
      expect(Math.min(...measured.map(({ effort }) => effort))).toBeLessThan(maxEffort);
    },
  );
});
