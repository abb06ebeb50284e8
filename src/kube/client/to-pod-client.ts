import { StatusManagerError } from '../../shared/errors.ts';
import { type CoreV1ApiLike, coreV1ApiMethods } from './core-v1-api-like.ts';
import { type CoreV1PodClientOptions, createCoreV1PodClient } from './core-v1-pod-client.ts';
import type { KubeConfigSource } from '../http/kube-config-types.ts';
import { isKubeConfig } from './client-node-api.ts';
import { lazyHTTPPodClient } from './lazy-http-pod-client.ts';
import type { PodClient } from './pod-client.ts';

const podClientMethods = ['getPod', 'patchPodStatus', 'deletePod'] as const satisfies readonly (keyof PodClient)[];

export function isCoreV1ApiLike(value: unknown): value is CoreV1ApiLike {
  return missingMethods(value, coreV1ApiMethods).length === 0;
}

export function isPodClient(value: unknown): value is PodClient {
  return missingMethods(value, podClientMethods).length === 0;
}

/**
 * Resolves the option `client`: returns a `PodClient` unchanged, wraps a `CoreV1Api` or a mock of it, and creates a client
 * for a kubeconfig.
 * @throws {StatusManagerError} INVALID_OPTION, naming the methods that are missing; INVALID_ARGUMENT for an invalid
 *   kubeconfig.
 */
export function toPodClient(
  client: CoreV1ApiLike | PodClient | KubeConfigSource,
  options: CoreV1PodClientOptions = {},
): PodClient {
  if (isPodClient(client)) return client;
  if (isCoreV1ApiLike(client)) return createCoreV1PodClient(client, options);
  if (isKubeConfig(client)) return lazyHTTPPodClient(client, options);
  throw new StatusManagerError('INVALID_OPTION', describeMisfit(client), { path: 'client' });
}

function describeMisfit(client: unknown): string {
  const expected = 'Expected `client` to be a KubeConfig, a CoreV1Api or a PodClient';
  if (typeof client !== 'object' || client === null)
    return `${expected}, got ${client === null ? 'null' : typeof client}`;
  // Names the missing methods of the interface that it resembles more.
  const missingOfAPI = missingMethods(client, coreV1ApiMethods);
  const missingOfPort = missingMethods(client, podClientMethods);
  const missing = missingOfPort.length < missingOfAPI.length ? missingOfPort : missingOfAPI;
  return `${expected}, got an object without ${missing.map((method) => `\`${method}\``).join(', ')}`;
}

function missingMethods(value: unknown, methods: readonly string[]): string[] {
  return methods.filter((method) => !hasMethod(value, method));
}

function hasMethod(value: unknown, method: string): boolean {
  return (
    typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[method] === 'function'
  );
}
