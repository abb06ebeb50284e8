import { requireObject } from '../../shared/errors.ts';
import { isClientNodeKubeConfig } from '../client/client-node-api.ts';
import type {
  ClientNodeKubeConfig,
  DelegatedCredentials,
  KubeCluster,
  KubeConfigSource,
  KubeUser,
  ResolvedKubeConfig,
} from './kube-config-types.ts';
import { invalid, optionalText, readExec, record, requiredText, unsupportedProvider } from './kube-config-values.ts';
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

function readClientNodeCluster(source: ClientNodeKubeConfig): KubeCluster {
  const cluster = source.getCurrentCluster();
  if (!cluster) throw invalid('current-context', 'to name a context with a cluster');
  return {
    server: requiredText(cluster.server, 'cluster.server'),
    caData: cluster.caData || undefined,
    caFile: cluster.caFile || undefined,
    tlsServerName: cluster.tlsServerName || undefined,
    skipTLSVerify: cluster.skipTLSVerify === true,
    proxyUrl: cluster.proxyUrl || undefined,
    disableCompression: false,
  };
}

function readClientNodeUser(source: ClientNodeKubeConfig): KubeUser {
  const user = source.getCurrentUser();
  if (!user) return { isOfClientNode: true };
  const provider = record(user.authProvider);
  const providerConfig = record(provider?.['config']);
  const exec = user.exec ?? providerConfig?.['exec'];
  const tokenFile = optionalText(providerConfig?.['tokenFile']);
  const custom = 'custom_authenticators' in source ? source.custom_authenticators : undefined;
  const needsDelegate = (provider !== undefined && !exec && !tokenFile) || (Array.isArray(custom) && custom.length > 0);
  return {
    isOfClientNode: true,
    token: user.token || undefined,
    // In client-node, a token takes precedence over everything; here, `tokenFile` would take precedence over it.
    tokenFile: user.token ? undefined : tokenFile,
    username: user.username || undefined,
    password: user.password || undefined,
    certData: user.certData || undefined,
    certFile: user.certFile || undefined,
    keyData: user.keyData || undefined,
    keyFile: user.keyFile || undefined,
    exec: exec ? readExec(exec) : undefined,
    impersonate: user.impersonateUser ? { user: user.impersonateUser, groups: [], extra: {} } : undefined,
    delegate: needsDelegate
      ? () => readClientNodeCredentials(source, optionalText(provider?.['name']) ?? 'custom')
      : undefined,
  };
}

async function readClientNodeCredentials(
  source: ClientNodeKubeConfig,
  provider: string,
): Promise<DelegatedCredentials> {
  if (!source.applyToHTTPSOptions) throw unsupportedProvider(provider);
  const options: { headers: Record<string, unknown>; cert?: string | Buffer; key?: string | Buffer } = { headers: {} };
  await source.applyToHTTPSOptions(options);
  return { authorization: optionalText(options.headers['Authorization']), cert: options.cert, key: options.key };
}
