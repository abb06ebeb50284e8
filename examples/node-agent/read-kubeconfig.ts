import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import { parse } from 'yaml';
import { AgentError } from './agent-error.ts';

/** A kubeconfig, and the base directory of relative file names in it. */
export interface KubeConfigFile {
  readonly kubeConfig: KubeConfigObject;
  readonly kubeConfigDir: string;
}

/** Reads the file of an option. Error messages never contain its contents. @throws AgentError */
export async function readKubeconfig(file: string, option = '--kubeconfig'): Promise<KubeConfigFile> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw AgentError.from(error, `${option} ${file}`);
  }
  let kubeConfig: KubeConfigObject | null;
  try {
    kubeConfig = parse(text, { logLevel: 'silent' }) as KubeConfigObject | null;
  } catch {
    throw new AgentError(`${option} ${file}: this is not valid YAML`);
  }
  if (typeof kubeConfig?.['current-context'] !== 'string')
    throw new AgentError(`${option} ${file}: this is not a kubeconfig with a current-context`);
  return { kubeConfig, kubeConfigDir: dirname(file) };
}
