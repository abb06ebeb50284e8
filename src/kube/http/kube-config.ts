import { requireObject } from '../../shared/errors.ts';
import { isClientNodeKubeConfig } from '../client/client-node-api.ts';
import type {
  ClientNodeKubeConfig,
  DelegatedCredentials,
  KubeCluster,
  KubeConfigSource,
  KubeUser,
  ResolvedKubeConfig,
  Impersonation,
  KubeConfigObject,
} from './kube-config-types.ts';
import {
  invalidKubeConfig,
  optionalText,
  readExec,
  record,
  nonEmptyText,
  unsupportedProvider,
  entryNamed,
  textList,
} from './kube-config-values.ts';
import { resolve } from 'node:path';
import type { Raw } from '../../shared/json.ts';

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
  if (!cluster) throw invalidKubeConfig('current-context', 'to name a context with a cluster');
  return {
    server: nonEmptyText(cluster.server, 'cluster.server'),
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

function readCluster(source: KubeConfigObject, directory: string): KubeCluster {
  const context = readContext(source);
  const name = nonEmptyText(context['cluster'], 'contexts[].context.cluster');
  const cluster = record(entryNamed(source.clusters, name)?.['cluster']);
  if (!cluster) throw invalidKubeConfig('clusters', `to hold the current context's cluster \`${name}\``);
  return {
    server: nonEmptyText(cluster['server'], 'clusters[].cluster.server'),
    caData: optionalText(cluster['certificate-authority-data']),
    caFile: file(cluster['certificate-authority'], directory),
    tlsServerName: optionalText(cluster['tls-server-name']),
    skipTLSVerify: cluster['insecure-skip-tls-verify'] === true,
    proxyUrl: optionalText(cluster['proxy-url']),
    disableCompression: cluster['disable-compression'] === true,
    execExtension: record(entryNamed(cluster['extensions'], 'client.authentication.k8s.io/exec'))?.['extension'],
  };
}

function readUser(source: KubeConfigObject, directory: string): KubeUser {
  const name = optionalText(readContext(source)['user']);
  if (name === undefined) return {};
  const entry = entryNamed(source.users, name);
  if (!entry) throw invalidKubeConfig('users', `to hold the current context's user \`${name}\``);
  const user = record(entry['user']) ?? {};
  const provider = record(user['auth-provider']);
  const providerConfig = record(provider?.['config']);
  const exec = user['exec'] ?? providerConfig?.['exec'];
  const tokenFile = user['tokenFile'] ?? providerConfig?.['tokenFile'];
  if (provider && !exec && !tokenFile) throw unsupportedProvider(optionalText(provider['name']) ?? '');
  return {
    token: optionalText(user['token']),
    tokenFile: file(tokenFile, directory),
    username: optionalText(user['username']),
    password: optionalText(user['password']),
    certData: optionalText(user['client-certificate-data']),
    certFile: file(user['client-certificate'], directory),
    keyData: optionalText(user['client-key-data']),
    keyFile: file(user['client-key'], directory),
    exec: exec ? readExec(exec, directory) : undefined,
    impersonate: readImpersonation(user),
  };
}

function readContext(source: KubeConfigObject): Raw {
  const name = nonEmptyText(source['current-context'], 'current-context');
  const context = record(entryNamed(source.contexts, name)?.['context']);
  if (!context) throw invalidKubeConfig('contexts', `to hold the current context \`${name}\``);
  return context;
}

function readImpersonation(user: Raw): Impersonation | undefined {
  const as = optionalText(user['as']);
  const uid = optionalText(user['as-uid']);
  const groups = textList(user['as-groups']);
  const extra = Object.entries(record(user['as-user-extra']) ?? {}).map(
    ([key, values]) => [key, textList(values)] as const,
  );
  if (as !== undefined) return { user: as, uid, groups, extra: Object.fromEntries(extra) };
  if (uid !== undefined || groups.length > 0 || extra.length > 0) {
    throw invalidKubeConfig('users[].user.as', 'to be set where `as-uid`, `as-groups` or `as-user-extra` is');
  }
  return undefined;
}

function file(value: unknown, directory: string): string | undefined {
  const name = optionalText(value);
  return name === undefined ? undefined : resolve(directory, name);
}
