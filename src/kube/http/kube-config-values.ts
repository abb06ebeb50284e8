import { resolve } from 'node:path';
import { StatusManagerError } from '../../shared/errors.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import type { ExecConfig } from './kube-config-types.ts';

export function readExec(value: unknown, directory?: string): ExecConfig {
  const exec = record(value) ?? {};
  const command = nonEmptyText(exec['command'], 'users[].user.exec.command');
  // A command with a slash is a file, relative to the kubeconfig; one without is looked up in PATH.
  const isFile = directory !== undefined && command.includes('/');
  return {
    apiVersion: optionalText(exec['apiVersion']),
    command: isFile ? resolve(directory, command) : command,
    args: textList(exec['args']),
    env: readEnv(exec['env']),
    installHint: optionalText(exec['installHint']),
    provideClusterInfo: exec['provideClusterInfo'] === true,
    interactiveMode: optionalText(exec['interactiveMode']),
  };
}

function readEnv(value: unknown): ExecConfig['env'] {
  if (!Array.isArray(value)) return [];
  return value.map((entry: unknown) => {
    const variable = record(entry) ?? {};
    return {
      name: nonEmptyText(variable['name'], 'users[].user.exec.env[].name'),
      value: optionalText(variable['value']) ?? '',
    };
  });
}

export function unsupportedProvider(name: string): StatusManagerError {
  return invalidKubeConfig(
    'users[].user.auth-provider',
    `not to need the legacy auth provider \`${name}\` (use an exec credential plugin, or pass client-node's KubeConfig)`,
  );
}

/** Names the field, never its value: a kubeconfig is full of secrets. */
export function invalidKubeConfig(path: string, expected: string): StatusManagerError {
  return new StatusManagerError('INVALID_ARGUMENT', `Expected \`kubeConfig.${path}\` ${expected}`, {
    path: `kubeConfig.${path}`,
  });
}

export function nonEmptyText(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalidKubeConfig(path, 'to be a non-empty string');
  return value;
}

export function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

/** The entry of this name in a list of a kubeconfig; undefined also when it is not a list. */
export function entryNamed(list: unknown, name: string): Raw | undefined {
  if (!Array.isArray(list)) return undefined;
  return list.map(record).find((entry) => entry?.['name'] === name);
}

export function record(value: unknown): Raw | undefined {
  return isObject(value) ? value : undefined;
}
