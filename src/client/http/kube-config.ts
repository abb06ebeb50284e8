import { resolve } from 'node:path';
import { StatusManagerError } from '../../errors.ts';

/** `{ name, value }` as an exec plugin's environment lists it. */
export interface ExecEnvVar {
  readonly name: string;
  readonly value: string;
}

/** How to run a credential plugin. Source: client.authentication.k8s.io `ExecConfig`. */
export interface ExecConfig {
  readonly apiVersion?: string | undefined;
  readonly command: string;
  readonly args?: readonly string[] | null | undefined;
  readonly env?: readonly ExecEnvVar[] | null | undefined;
  readonly installHint?: string | undefined;
  readonly provideClusterInfo?: boolean | undefined;
  readonly interactiveMode?: string | undefined;
}

/** The cluster entry in use, whichever form it came in; file names are absolute. */
export interface KubeCluster {
  readonly server: string;
  /** Base64 of PEM; wins over the file. */
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string | undefined;
  readonly disableCompression: boolean;
  /** What the cluster entry keeps for exec plugins, under the extension `client.authentication.k8s.io/exec`. */
  readonly execExtension?: unknown;
}

/** The user entry in use, whichever form it came in; file names are absolute. */
export interface KubeUser {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly certData?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyData?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly exec?: ExecConfig | undefined;
  readonly impersonate?: Impersonation | undefined;
  /** Asks client-node's own authenticator (gcp, azure, oidc, custom ones). */
  readonly delegate?: (() => Promise<DelegatedCredentials>) | undefined;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface DelegatedCredentials {
  readonly authorization?: string | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/** What is read of client-node's `Cluster`. */
export interface ClientNodeCluster {
  readonly server: string;
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify?: boolean | undefined;
  readonly proxyUrl?: string | undefined;
}

/** What is read of client-node's `User`. */
export interface ClientNodeUser {
  readonly token?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly certData?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyData?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly exec?: unknown;
  readonly authProvider?: unknown;
  readonly impersonateUser?: string | undefined;
}

/** A `KubeConfig` of `@kubernetes/client-node`, 1.x or 2.x, by what is used of it. */
export interface ClientNodeKubeConfig {
  getCurrentCluster(): ClientNodeCluster | null;
  getCurrentUser(): ClientNodeUser | null;
  applyToHTTPSOptions?(options: object): Promise<void>;
}

/** A kubeconfig as parsed from its YAML or JSON. */
export interface KubeConfigObject {
  readonly clusters?: readonly { readonly name: string; readonly cluster: object }[] | null | undefined;
  readonly users?: readonly { readonly name: string; readonly user?: object | null | undefined }[] | null | undefined;
  readonly contexts?: readonly { readonly name: string; readonly context: object }[] | null | undefined;
  readonly 'current-context'?: string | undefined;
}

export type KubeConfigSource = ClientNodeKubeConfig | KubeConfigObject;

/** Reads cluster and user anew at each call, so that what the owner of the configuration changed is seen. */
export interface ResolvedKubeConfig {
  cluster(): KubeCluster;
  user(): KubeUser;
}

/**
 * One view of either form of a kubeconfig. Relative file names are taken from `directory`; a
 * client-node instance has made its own absolute.
 */
export function resolveKubeConfig(source: KubeConfigSource, directory: string): ResolvedKubeConfig {
  return isClientNodeKubeConfig(source)
    ? { cluster: () => readClientNodeCluster(source), user: () => readClientNodeUser(source) }
    : { cluster: () => readCluster(source, directory), user: () => readUser(source, directory) };
}

export function isClientNodeKubeConfig(source: KubeConfigSource): source is ClientNodeKubeConfig {
  return 'getCurrentCluster' in source && typeof source.getCurrentCluster === 'function';
}

function readClientNodeCluster(source: ClientNodeKubeConfig): KubeCluster {
  const cluster = source.getCurrentCluster();
  if (!cluster) throw invalid('current-context', 'to name a context with a cluster');
  return {
    server: requireText(cluster.server, 'cluster.server'),
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
  if (!user) return {};
  const provider = record(user.authProvider);
  const providerConfig = record(provider?.['config']);
  const exec = user.exec ?? providerConfig?.['exec'];
  const tokenFile = optionalText(providerConfig?.['tokenFile']);
  const custom = 'custom_authenticators' in source ? source.custom_authenticators : undefined;
  const needsDelegate = (provider !== undefined && !exec && !tokenFile) || (Array.isArray(custom) && custom.length > 0);
  return {
    token: user.token || undefined,
    // client-node lets a token win over everything; the kubeconfig's own `tokenFile` would win over it.
    tokenFile: user.token ? undefined : tokenFile,
    username: user.username || undefined,
    password: user.password || undefined,
    certData: user.certData || undefined,
    certFile: user.certFile || undefined,
    keyData: user.keyData || undefined,
    keyFile: user.keyFile || undefined,
    exec: exec ? readExec(exec) : undefined,
    impersonate: user.impersonateUser ? { user: user.impersonateUser, groups: [], extra: {} } : undefined,
    delegate: needsDelegate ? () => askClientNode(source, optionalText(provider?.['name']) ?? 'custom') : undefined,
  };
}

async function askClientNode(source: ClientNodeKubeConfig, provider: string): Promise<DelegatedCredentials> {
  if (!source.applyToHTTPSOptions) throw unsupportedProvider(provider);
  const options: { headers: Record<string, unknown>; cert?: string | Buffer; key?: string | Buffer } = { headers: {} };
  await source.applyToHTTPSOptions(options);
  return { authorization: optionalText(options.headers['Authorization']), cert: options.cert, key: options.key };
}

function readCluster(source: KubeConfigObject, directory: string): KubeCluster {
  const context = readContext(source);
  const name = requireText(context['cluster'], 'contexts[].context.cluster');
  const cluster = record(source.clusters?.find((entry) => entry.name === name)?.cluster);
  if (!cluster) throw invalid('clusters', `to hold the current context's cluster \`${name}\``);
  return {
    server: requireText(cluster['server'], 'clusters[].cluster.server'),
    caData: optionalText(cluster['certificate-authority-data']),
    caFile: file(cluster['certificate-authority'], directory),
    tlsServerName: optionalText(cluster['tls-server-name']),
    skipTLSVerify: cluster['insecure-skip-tls-verify'] === true,
    proxyUrl: optionalText(cluster['proxy-url']),
    disableCompression: cluster['disable-compression'] === true,
    execExtension: readExecExtension(cluster['extensions']),
  };
}

function readUser(source: KubeConfigObject, directory: string): KubeUser {
  const name = optionalText(readContext(source)['user']);
  if (name === undefined) return {};
  const entry = source.users?.find((candidate) => candidate.name === name);
  if (!entry) throw invalid('users', `to hold the current context's user \`${name}\``);
  const user = record(entry.user) ?? {};
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

function readContext(source: KubeConfigObject): Record<string, unknown> {
  const name = requireText(source['current-context'], 'current-context');
  const context = record(source.contexts?.find((entry) => entry.name === name)?.context);
  if (!context) throw invalid('contexts', `to hold the current context \`${name}\``);
  return context;
}

function readImpersonation(user: Record<string, unknown>): Impersonation | undefined {
  const as = optionalText(user['as']);
  const uid = optionalText(user['as-uid']);
  const groups = textList(user['as-groups']);
  const extra = Object.entries(record(user['as-user-extra']) ?? {}).map(
    ([key, values]) => [key, textList(values)] as const,
  );
  if (as !== undefined) return { user: as, uid, groups, extra: Object.fromEntries(extra) };
  if (uid !== undefined || groups.length > 0 || extra.length > 0) {
    throw invalid('users[].user.as', 'to be set where `as-uid`, `as-groups` or `as-user-extra` is');
  }
  return undefined;
}

function readExec(value: unknown, directory?: string): ExecConfig {
  const exec = record(value);
  const command = requireText(exec?.['command'], 'users[].user.exec.command');
  // A command with a slash is a file, relative to the kubeconfig; one without is looked up in PATH.
  const isFile = directory !== undefined && command.includes('/');
  return { ...exec, command: isFile ? resolve(directory, command) : command };
}

function readExecExtension(extensions: unknown): unknown {
  if (!Array.isArray(extensions)) return undefined;
  return record(extensions.find((entry: unknown) => record(entry)?.['name'] === 'client.authentication.k8s.io/exec'))?.[
    'extension'
  ];
}

function unsupportedProvider(name: string): StatusManagerError {
  return invalid(
    'users[].user.auth-provider',
    `not to need the legacy auth provider \`${name}\` (use an exec credential plugin, or pass client-node's KubeConfig)`,
  );
}

/** Names what is wrong, never a value: a kubeconfig is full of secrets. */
function invalid(path: string, expected: string): StatusManagerError {
  return new StatusManagerError('INVALID_ARGUMENT', `Expected \`kubeConfig.${path}\` ${expected}`, {
    path: `kubeConfig.${path}`,
  });
}

function requireText(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(path, 'to be a non-empty string');
  return value;
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

function file(value: unknown, directory: string): string | undefined {
  const name = optionalText(value);
  return name === undefined ? undefined : resolve(directory, name);
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
