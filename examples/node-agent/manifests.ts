import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from 'kubelet-status-manager';
import { parseAllDocuments } from 'yaml';
import { AgentError } from './agent-error.ts';

/** Reads the pods from YAML files, and from all YAML files of directories in the order of their names. */
export async function readManifests(paths: readonly string[]): Promise<Pod[]> {
  const pods: Pod[] = [];
  for (const path of paths) {
    for (const file of await listFiles(path)) pods.push(...(await readManifest(file)));
  }
  return pods;
}

async function listFiles(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path))
      .filter((name) => /\.(ya?ml|json)$/.test(name))
      .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    if (names.length === 0) throw new AgentError('no YAML or JSON file in this directory');
    return names.map((name) => join(path, name));
  } catch (error) {
    throw AgentError.from(error, `--manifests ${path}`);
  }
}

async function readManifest(file: string): Promise<Pod[]> {
  try {
    const pods = parseAllDocuments(await readFile(file, 'utf8'))
      .map((document) => {
        if (document.errors[0]) throw document.errors[0];
        return document.toJS() as (Pod & { readonly kind?: string }) | null;
      })
      .filter((object) => object !== null)
      .map((object) => {
        if (object.kind !== 'Pod')
          throw new AgentError(
            `only pods can be created, but this object ${object.kind === undefined ? 'has no kind' : `is a ${object.kind}`}`,
          );
        return object;
      });
    if (pods.length === 0) throw new AgentError('no pod in this file');
    return pods;
  } catch (error) {
    throw AgentError.from(error, `--manifests ${file}`);
  }
}
