import { spawn } from 'node:child_process';
import type { Clock, Timer } from '../../shared/clock.ts';
import { canonicalTime, epochMsOf } from '../../shared/time.ts';
import { parseJSON } from '../../shared/json.ts';
import type { Logger } from '../../shared/logger.ts';
import { APIError, type APIErrorKind } from '../client/api-error.ts';
import { ChunkBuffer } from '../client/chunk-buffer.ts';
import { redactLikelySecrets } from '../client/redact.ts';
import type { ExecConfig, KubeCluster } from './kube-config-types.ts';
import { optionalText, record } from './kube-config-values.ts';

const API_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Maximum length of stderr in a log entry. */
const maxStderrBytes = 4 * 1024;
/** Maximum time to read the output after the plugin has exited. */
const OUTPUT_GRACE_MS = 500;

/** The credential that a plugin returned; `expiresAtMs` in milliseconds since the epoch, absent when it is valid until a 401. */
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
  /** Kills the plugin and its children. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly logger: Pick<Logger, 'debug'>;
}

/**
 * Runs a credential plugin once, without a terminal and without a shell, in a process group of its
 * own, which is killed after `timeoutMs` or when the signal is aborted. The beginning of its stderr
 * is logged at debug, with secrets redacted. Rejects with an `APIError` that never quotes the
 * plugin's output.
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
    spec: { interactive: false, cluster: exec.provideClusterInfo ? describeCluster(cluster) : undefined },
  };
  const env: Record<string, string | undefined> = { ...options.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  for (const { name, value } of exec.env) env[name] = value;
  const { stdout, stderr, problem } = await run(exec, env, options);
  const secrets = exec.env.map(({ value }) => value);
  try {
    if (problem !== undefined) throw failure(exec, problem, options.signal.aborted ? 'aborted' : 'network');
    const credential = readCredential(exec, stdout);
    secrets.push(credential.token ?? '', credential.key ?? '');
    return credential;
  } finally {
    if (stderr !== '') {
      const fields = { command: exec.command, stderr: redactLikelySecrets(stderr, secrets) };
      options.logger.debug(fields, 'A credential plugin wrote to stderr');
    }
  }
}

/** Fields that are undefined are absent from the JSON. */
function describeCluster(cluster: KubeCluster): object {
  return {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.skipTLSVerify || undefined,
    'certificate-authority-data': cluster.caData,
    'proxy-url': cluster.proxyUrl,
    'disable-compression': cluster.disableCompression || undefined,
    config: cluster.execExtension,
  };
}

interface PluginRun {
  readonly stdout: string;
  /** The beginning. */
  readonly stderr: string;
  /** Why it failed, if it did. */
  readonly problem: string | undefined;
}

/** Windows has no process groups; there the plugin alone is killed. */
const hasProcessGroups = process.platform !== 'win32';

function run(exec: ExecConfig, env: Record<string, string | undefined>, options: ExecOptions): Promise<PluginRun> {
  return new Promise((resolve) => {
    const plugin = spawn(exec.command, [...exec.args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: hasProcessGroups,
      windowsHide: true,
    });
    let problem: string | undefined;
    const kill = (reason: string): void => {
      problem ??= reason;
      try {
        // Kills the process group: a plugin is often a script whose children would keep running.
        if (hasProcessGroups && plugin.pid !== undefined) process.kill(-plugin.pid, 'SIGKILL');
        else plugin.kill('SIGKILL');
      } catch {
        // The process has already exited.
      }
    };
    const stdout = new ChunkBuffer();
    const stderr = new ChunkBuffer();
    plugin.stdout.on('data', (chunk: Buffer) => {
      if (stdout.length + chunk.length <= MAX_OUTPUT_BYTES) stdout.add(chunk);
      else kill(`printed more than ${MAX_OUTPUT_BYTES} bytes`);
    });
    plugin.stderr.on('data', (chunk: Buffer) => stderr.add(chunk.subarray(0, maxStderrBytes - stderr.length)));
    plugin.on('error', (error: NodeJS.ErrnoException) => {
      const hint = error.code === 'ENOENT' && exec.installHint ? `; ${exec.installHint}` : '';
      problem ??= `could not be run (${error.code ?? error.name})${hint}`;
    });
    const timeout = options.clock.afterFunc(options.timeoutMs, () =>
      kill(`did not end within ${options.timeoutMs} ms`),
    );
    const onAbort = (): void => kill('was aborted');
    options.signal.addEventListener('abort', onAbort);
    if (options.signal.aborted) onAbort();
    // A child of the plugin may keep a pipe open, and `close` would wait for it.
    let outputGrace: Timer | undefined;
    const closeOutput = (): void => {
      plugin.stdout.destroy();
      plugin.stderr.destroy();
    };
    plugin.on('exit', (_code, killedBy) => {
      timeout.stop();
      if (killedBy !== null) closeOutput();
      else outputGrace = options.clock.afterFunc(OUTPUT_GRACE_MS, closeOutput);
    });
    plugin.on('close', (code, killedBy) => {
      timeout.stop();
      outputGrace?.stop();
      options.signal.removeEventListener('abort', onAbort);
      if (killedBy !== null) problem ??= `was killed (${killedBy})`;
      else if (code !== 0) problem ??= `ended with exit code ${code}`;
      resolve({ stdout: stdout.take().toString(), stderr: stderr.take().toString(), problem });
    });
  });
}

function readCredential(exec: ExecConfig, output: string): ExecCredential {
  const credential = record(parseJSON(output));
  if (credential?.['kind'] !== 'ExecCredential') throw failure(exec, 'did not print an ExecCredential as JSON');
  if (exec.apiVersion !== undefined && credential['apiVersion'] !== exec.apiVersion) {
    throw failure(exec, `did not return the apiVersion \`${exec.apiVersion}\``);
  }
  const status = record(credential['status']) ?? {};
  const token = optionalText(status['token']);
  const cert = optionalText(status['clientCertificateData']);
  const key = optionalText(status['clientKeyData']);
  if ((cert === undefined) !== (key === undefined))
    throw failure(exec, 'gave a certificate without its key, or a key without certificate');
  if (token === undefined && cert === undefined) throw failure(exec, 'gave neither a token nor a certificate');
  const expiry = canonicalTime(status['expirationTimestamp']);
  if (expiry === undefined) throw failure(exec, 'gave an expirationTimestamp that is not a time');
  return { token, cert, key, expiresAtMs: expiry === null ? undefined : epochMsOf(expiry) };
}

function failure(exec: ExecConfig, problem: string, kind: APIErrorKind = 'network'): APIError {
  return new APIError(`credential plugin \`${exec.command}\` ${problem}`, { kind });
}
