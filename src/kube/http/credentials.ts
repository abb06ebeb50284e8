import isEqual from 'lodash/isEqual.js';
import type { Clock } from '../../shared/clock.ts';
import { boundedCall, CallTimeoutError } from '../../shared/deadline.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { nextDelayMs } from '../../shared/exponential-back-off.ts';
import type { Logger } from '../../shared/logger.ts';
import { readRegularFile, RegularFileError } from '../../shared/regular-file.ts';
import { APIError, describeAPIError } from '../client/api-error.ts';
import { type ExecCredential, runExecPlugin } from './exec-credential.ts';
import type {
  DelegatedCredentials,
  ExecConfig,
  Impersonation,
  KubeCluster,
  KubeUser,
  ResolvedKubeConfig,
} from './kube-config-types.ts';

/** As in client-go for token files. Certificates are read again at the same interval. */
const REREAD_MS = 60_000;
/** Delay before files are read again after a failure. The previous credentials stay in use until then. */
const REREAD_AFTER_FAILURE_MS = 10_000;
/** Minimum interval between runs of a plugin after a 401, for a server that responds with 401 to every request. */
const MIN_FORCED_RELOAD_MS = 5_000;

/** Initial back-off of a plugin that fails; doubled after each failure. */
const execBackOff = { firstMs: 1_000, maxMs: 60_000 };
/** Minimum interval between runs of a plugin that returns expired credentials. */
const minExecLifetimeMs = 5_000;

/** Tokens and keys have a few kilobytes; a bundle of all public certificate authorities has some 300. */
const maxCredentialFileBytes = 4 * 1024 * 1024;

/** PEM; absent fields leave Node's defaults. */
export interface TlsMaterial {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The credentials of a request. Replaced as an object when any field changes; `tls` is replaced only when its content changes. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsMaterial;
  /** Why no credentials are sent; undefined if some are. */
  readonly missing?: string | undefined;
  /** Paths of the certificate and token files, if the credentials come from files. */
  readonly files: { readonly cert?: string | undefined; readonly token?: string | undefined };
}

function noCredentials({ isOfClientNode = false }: KubeUser): string {
  const why = 'no credentials were sent: the user of the kubeconfig has none';
  return isOfClientNode
    ? `${why} in client-node's KubeConfig, which drops \`tokenFile\`: pass the kubeconfig as a plain object instead`
    : why;
}

interface FreshExecCredential extends ExecCredential {
  readonly freshUntilMs: number;
}

/**
 * The last run of the credential plugin.
 * - **not-run**: it runs for the next request. Also the state after a 401 to its credential.
 * - **succeeded**: its credential is used until it expires.
 * - **failed**: requests fail with its error until `untilMs`, without running the plugin again.
 */
type PluginState =
  | { readonly kind: 'not-run' }
  | { readonly kind: 'succeeded'; readonly credential: FreshExecCredential }
  | { readonly kind: 'failed'; readonly error: unknown; readonly backOffMs: number; readonly untilMs: number };

export interface CredentialSourceOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'afterFunc'>;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execTimeoutMs: number;
}

/**
 * The credentials of one kubeconfig user. Files are read again each minute, plugins are run again
 * when their credentials expire, and both after a 401. When a file cannot be read again, the
 * previous credentials stay in use.
 */
export class CredentialSource {
  readonly #config: ResolvedKubeConfig;
  readonly #options: CredentialSourceOptions;
  readonly #closed = new AbortController();
  #current: Credentials | undefined;
  #freshUntilMs = -Infinity;
  #loading: Promise<Credentials> | undefined;
  #lastForcedMs = -Infinity;
  #plugin: PluginState = { kind: 'not-run' };

  constructor(config: ResolvedKubeConfig, options: CredentialSourceOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** The credentials to use now; undefined when they have to be loaded. */
  fresh(): Credentials | undefined {
    return this.#options.clock.monotonicMs() < this.#freshUntilMs ? this.#current : undefined;
  }

  /** Starts to load the credentials, or joins a load that has started. */
  load(): Promise<Credentials> {
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /**
   * After a 401 to a request sent with `used`: resolves with other credentials, with which the
   * request is sent once more, or with undefined when there are none.
   */
  async renew(used: Credentials): Promise<Credentials | undefined> {
    if (this.#loading === undefined && this.#current === used) {
      const now = this.#options.clock.monotonicMs();
      if (now - this.#lastForcedMs < MIN_FORCED_RELOAD_MS) return undefined;
      this.#lastForcedMs = now;
      if (this.#plugin.kind === 'succeeded') this.#plugin = { kind: 'not-run' };
      this.#freshUntilMs = -Infinity;
    }
    try {
      const renewed = this.fresh() ?? (await this.load());
      return renewed === used ? undefined : renewed;
    } catch (error) {
      // The caller gets the 401. The next request gets this error.
      this.#options.logger.warn(
        { error: describeAPIError(error).message },
        'Failed to renew the credentials after a 401',
      );
      return undefined;
    }
  }

  /** After a connection failed: certificates may have been rotated, so files and kubeconfig are read before the next request. */
  expire(): void {
    this.#freshUntilMs = -Infinity;
  }

  /** Kills a plugin that runs, and waits for no auth provider. */
  close(): void {
    this.#closed.abort();
  }

  async #loadOnce(): Promise<Credentials> {
    const { clock, logger } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const { credentials, lifetimeMs } = await this.#read(this.#config.user(), this.#config.cluster());
      this.#freshUntilMs = startedMs + lifetimeMs;
      const previous = this.#current;
      if (previous !== undefined && isEqual(credentials, previous)) return previous;
      const { tls } = isEqual(credentials.tls, previous?.tls) && previous !== undefined ? previous : credentials;
      this.#current = { ...credentials, tls };
      return this.#current;
    } catch (error) {
      // The configuration is wrong, or a plugin failed: the previous credentials must not be used.
      if (error instanceof APIError || error instanceof StatusManagerError || this.#current === undefined)
        throw asAPIError(error);
      logger.warn(
        { reason: describeFileError(error) },
        'Failed to read the credentials again, using the previous ones',
      );
      this.#freshUntilMs = startedMs + REREAD_AFTER_FAILURE_MS;
      return this.#current;
    }
  }

  async #read(user: KubeUser, cluster: KubeCluster): Promise<{ credentials: Credentials; lifetimeMs: number }> {
    const ca = await readPem(cluster.caData, cluster.caFile);
    const plugin = user.exec && user.token === undefined ? await this.#runPlugin(user.exec, cluster, ca) : undefined;
    const delegated = user.delegate ? await this.#readDelegate(user.delegate) : undefined;
    const [cert, key, fileToken] = await Promise.all([
      plugin?.cert ?? delegated?.cert?.toString() ?? readPem(user.certData, user.certFile),
      plugin?.key ?? delegated?.key?.toString() ?? readPem(user.keyData, user.keyFile),
      user.tokenFile === undefined ? undefined : this.#readToken(user.tokenFile, user.token),
    ]);
    const token = fileToken ?? user.token ?? plugin?.token;
    const authorization = token === undefined ? (delegated?.authorization ?? basic(user)) : `Bearer ${token}`;
    const files = [cluster.caFile, user.certFile, user.keyFile, user.tokenFile];
    const isReread = delegated !== undefined || files.some((file) => file !== undefined);
    const expiresInMs = (plugin?.freshUntilMs ?? Infinity) - this.#options.clock.monotonicMs();
    return {
      credentials: {
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...impersonationHeaders(user.impersonate),
        },
        tls: { ca, cert, key },
        missing: authorization === undefined && cert === undefined ? noCredentials(user) : undefined,
        files: {
          cert: plugin?.cert === undefined && user.certData === undefined ? user.certFile : undefined,
          token: fileToken === undefined ? undefined : user.tokenFile,
        },
      },
      lifetimeMs: Math.min(isReread ? REREAD_MS : Infinity, expiresInMs),
    };
  }

  /** When the file cannot be read, the `token` of the kubeconfig is used at first, and the previous token later. */
  async #readToken(file: string, fallback: string | undefined): Promise<string> {
    try {
      const token = (await readCredentialFile(file)).toString().trim();
      if (token !== '') return token;
      throw Object.assign(new Error('the token file is empty'), { code: 'EMPTY', path: file });
    } catch (error) {
      if (fallback === undefined || this.#current !== undefined) throw error;
      return fallback;
    }
  }

  async #readDelegate(delegate: NonNullable<KubeUser['delegate']>): Promise<DelegatedCredentials> {
    const { clock, execTimeoutMs: timeoutMs } = this.#options;
    const { signal } = this.#closed;
    const what = "client-node's auth provider";
    try {
      return await boundedCall(what, { clock, timeoutMs, signals: [signal] }, delegate);
    } catch (error) {
      if (error instanceof StatusManagerError) throw error;
      // Omits its message and `cause`: they may contain the output of a command, including the token.
      const name = error instanceof Error ? error.name : typeof error;
      const message = error instanceof CallTimeoutError ? error.message : `${what} failed (${name})`;
      throw new APIError(message, { kind: signal.aborted ? 'aborted' : 'network' });
    }
  }

  async #runPlugin(exec: ExecConfig, cluster: KubeCluster, ca: string | undefined): Promise<FreshExecCredential> {
    const { clock, env, execTimeoutMs: timeoutMs, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    const last = this.#plugin;
    if (last.kind === 'succeeded' && nowMs < last.credential.freshUntilMs) return last.credential;
    if (last.kind === 'failed' && nowMs < last.untilMs) throw last.error;
    try {
      const options = { env, timeoutMs, signal: this.#closed.signal, clock, logger };
      const caData = ca && Buffer.from(ca).toString('base64');
      const credential = await runExecPlugin(exec, { ...cluster, caData }, options);
      const lifetimeMs = Math.max(minExecLifetimeMs, (credential.expiresAtMs ?? Infinity) - clock.now());
      const fresh = { ...credential, freshUntilMs: clock.monotonicMs() + lifetimeMs };
      this.#plugin = { kind: 'succeeded', credential: fresh };
      return fresh;
    } catch (error) {
      const backOffMs = nextDelayMs(last.kind === 'failed' ? last.backOffMs : 0, execBackOff);
      this.#plugin = { kind: 'failed', error, backOffMs, untilMs: clock.monotonicMs() + backOffMs };
      throw error;
    }
  }
}

/** Reads a certificate, key or token file. Rejects as `readRegularFile` does. */
function readCredentialFile(file: string): Promise<Buffer> {
  return readRegularFile(file, maxCredentialFileBytes);
}

async function readPem(base64: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (base64 !== undefined) return Buffer.from(base64, 'base64').toString();
  return file === undefined ? undefined : (await readCredentialFile(file)).toString();
}

function basic({ username, password }: KubeUser): string | undefined {
  return username === undefined
    ? undefined
    : `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
}

function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
  if (as === undefined) return {};
  const headers: Record<string, string | string[]> = { 'impersonate-user': as.user };
  if (as.uid !== undefined) headers['impersonate-uid'] = as.uid;
  if (as.groups.length > 0) headers['impersonate-group'] = [...as.groups];
  for (const [key, values] of Object.entries(as.extra))
    headers[`impersonate-extra-${escapeHeaderKey(key)}`] = [...values];
  return headers;
}

/** Percent-encodes what is not allowed in a header name, and `%` itself; the API server decodes it. Source: client-go `headerKeyEscape`. */
function escapeHeaderKey(key: string): string {
  return key.replace(/[^A-Za-z0-9!#$&'*+.^_`|~-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

function asAPIError(error: unknown): unknown {
  if (error instanceof APIError || error instanceof StatusManagerError) return error;
  return new APIError(`credentials could not be read: ${describeFileError(error)}`, { kind: 'network' });
}

/** Names the file and the reason, never the content. */
function describeFileError(error: unknown): string {
  if (error instanceof RegularFileError) return error.message;
  const { code, path } = error as { code?: unknown; path?: unknown };
  if (typeof code !== 'string') return describeAPIError(error).message;
  return typeof path === 'string' ? `${code} ${path}` : code;
}
