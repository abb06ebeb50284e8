import { requireObject } from '../../shared/errors.ts';
import { readClientNodeCluster, readClientNodeUser } from './client-node-kube-config.ts';
import type { ClientNodeKubeConfig, KubeConfigSource, ResolvedKubeConfig } from './kube-config-types.ts';
import { readCluster, readUser } from './plain-kube-config.ts';

/**
 * One view of either form of a kubeconfig. Relative file names are resolved against
 * `directory`; client-node has resolved its own.
 */
export function resolveKubeConfig(source: KubeConfigSource, directory: string): ResolvedKubeConfig {
  requireObject('kubeConfig', source);
  return isClientNodeKubeConfig(source)
    ? { cluster: () => readClientNodeCluster(source), user: () => readClientNodeUser(source) }
    : { cluster: () => readCluster(source, directory), user: () => readUser(source, directory) };
}

function isClientNodeKubeConfig(source: KubeConfigSource): source is ClientNodeKubeConfig {
  return 'getCurrentCluster' in source && typeof source.getCurrentCluster === 'function';
}
