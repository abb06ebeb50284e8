import { spawn } from 'node:child_process';
import type { Clock, Timer } from '../../clock.ts';
import { canonicalTime, epochMsOf } from '../../status/canonical-time.ts';
import { ApiError } from '../api-error.ts';
import { readCredentialFile } from './credential-file.ts';
import type { ExecConfig, KubeCluster } from './kube-config-types.ts';
import { optionalText } from './kube-config-values.ts';

const API_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** To read what a plugin has printed before it ended. */
const OUTPUT_GRACE_MS = 500;

/** What a plugin returned; `expiresAtMs` in milliseconds since the epoch, absent when it holds until a 401. */
export interface ExecCredential {
  readonly token?: string | undefined;
  /** PEM, with `key`. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

export interface ExecOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Kills the plugin. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'afterFunc'>;
}

/**
 * Runs a credential plugin once, without a terminal and without a shell. Its stderr is this
 * process's: that is where plugins explain themselves, and what they say may not be for logs.
 * Rejects with an `ApiError` that never quotes what the plugin printed.
 * Source: client-go `plugin/pkg/client/auth/exec`.
 */
export async function runExecPlugin(
  exec: ExecConfig,
  cluster: KubeCluster,
  options: ExecOptions,
): Promise<ExecCredential> {
  const apiVersion = exec.apiVersion ?? 'client.authentication.k8s.io/v1';
  if (!API_VERSIONS.includes(apiVersion)) throw failure(exec, `has the unsupported apiVersion \`${apiVersion}\``);
  if (exec.interactiveMode === 'Always') throw failure(exec, 'needs a terminal (interactiveMode Always)');

  const info = {
    kind: 'ExecCredential',
    apiVersion,
    spec: {
      interactive: false,
      ...(exec.provideClusterInfo ? { cluster: await describeCluster(cluster) } : {}),
    },
  };
  const env: Record<string, string | undefined> = { ...options.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  for (const { name, value } of exec.env) env[name] = value;
  return readCredential(exec, await run(exec, env, options));
}

async function describeCluster(cluster: KubeCluster): Promise<object> {
  const caData =
    cluster.caData ??
    (cluster.caFile === undefined ? undefined : (await readCredentialFile(cluster.caFile)).toString('base64'));
  return {
    server: cluster.server,
    ...(cluster.tlsServerName === undefined ? {} : { 'tls-server-name': cluster.tlsServerName }),
    ...(cluster.skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(caData === undefined ? {} : { 'certificate-authority-data': caData }),
    ...(cluster.proxyUrl === undefined ? {} : { 'proxy-url': cluster.proxyUrl }),
    ...(cluster.disableCompression ? { 'disable-compression': true } : {}),
    ...(cluster.execExtension === undefined ? {} : { config: cluster.execExtension }),
  };
}

function run(exec: ExecConfig, env: Record<string, string | undefined>, options: ExecOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const plugin = spawn(exec.command, [...exec.args], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: options.timeoutMs,
      signal: options.signal,
      killSignal: 'SIGKILL',
      windowsHide: true,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    let problem: string | undefined;
    plugin.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_OUTPUT_BYTES) chunks.push(chunk);
      else {
        problem = `printed more than ${MAX_OUTPUT_BYTES} bytes`;
        plugin.kill('SIGKILL');
      }
    });
    plugin.on('error', (error: NodeJS.ErrnoException) => {
      const hint = error.code === 'ENOENT' && exec.installHint ? `; ${exec.installHint}` : '';
      problem ??= `could not be run (${error.code ?? error.name})${hint}`;
    });
    // A child of the plugin may keep the pipe open, and `close` would wait for it.
    let outputGrace: Timer | undefined;
    plugin.on('exit', (_code, killedBy) => {
      if (killedBy !== null) plugin.stdout.destroy();
      else outputGrace = options.clock.afterFunc(OUTPUT_GRACE_MS, () => plugin.stdout.destroy());
    });
    plugin.on('close', (code, killedBy) => {
      outputGrace?.stop();
      if (options.signal.aborted)
        reject(new ApiError(`credential plugin \`${exec.command}\` was aborted`, { kind: 'aborted' }));
      else if (problem !== undefined) reject(failure(exec, problem));
      else if (killedBy !== null)
        reject(failure(exec, `did not end within ${options.timeoutMs} ms, or was killed (${killedBy})`));
      else if (code !== 0) reject(failure(exec, `ended with exit code ${code}`));
      else resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
}

interface ExecCredentialOutput {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  } | null;
}

function readCredential(exec: ExecConfig, output: string): ExecCredential {
  let credential: ExecCredentialOutput | null;
  try {
    credential = JSON.parse(output) as ExecCredentialOutput | null;
  } catch {
    throw failure(exec, 'did not print JSON');
  }
  if (typeof credential !== 'object' || credential?.kind !== 'ExecCredential')
    throw failure(exec, 'did not print an ExecCredential');
  if (exec.apiVersion !== undefined && credential.apiVersion !== exec.apiVersion) {
    throw failure(exec, `did not return the apiVersion \`${exec.apiVersion}\``);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = credential.status ?? {};
  const cert = optionalText(clientCertificateData);
  const key = optionalText(clientKeyData);
  if ((cert === undefined) !== (key === undefined))
    throw failure(exec, 'gave a certificate without its key, or a key without certificate');
  if (optionalText(token) === undefined && cert === undefined)
    throw failure(exec, 'gave neither a token nor a certificate');
  const expiry = canonicalTime(expirationTimestamp);
  if (expiry === undefined) throw failure(exec, 'gave an expirationTimestamp that is no time');
  return { token: optionalText(token), cert, key, expiresAtMs: expiry === null ? undefined : epochMsOf(expiry) };
}

function failure(exec: ExecConfig, problem: string): ApiError {
  return new ApiError(`credential plugin \`${exec.command}\` ${problem}`, { kind: 'network' });
}
