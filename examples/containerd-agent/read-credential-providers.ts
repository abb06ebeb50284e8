import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { RuntimeHelperOptions } from 'kubelet-status-manager/agent';
import { parse } from 'yaml';
import type { ContainerdAgentOptions } from './options.ts';

/** Reads a file, or the .json, .yaml and .yml files of a folder in the order of their names. Source: kubelet `readCredentialProviderConfig`. */
export async function readCredentialProviders({
  imageCredentialProviderConfig: path,
  imageCredentialProviderBinDir: binDirectory,
}: ContainerdAgentOptions): Promise<RuntimeHelperOptions['credentialProviders']> {
  if (path === undefined && binDirectory === undefined) return undefined;
  if (path === undefined || binDirectory === undefined)
    throw new Error('--image-credential-provider-config and --image-credential-provider-bin-dir need each other');
  const files = (await stat(path)).isDirectory() ? await configFiles(path) : [path];
  const configs = await Promise.all(files.map(async (file) => parse(await readFile(file, 'utf8')) as unknown));
  return { configs, binDirectory: resolve(binDirectory) };
}

async function configFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /\.(json|ya?ml)$/.test(name)).toSorted();
  if (names.length === 0) throw new Error(`${folder} has no .json, .yaml or .yml file`);
  return names.map((name) => join(folder, name));
}
