import { execFile, type ExecFileOptions } from 'node:child_process';
import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { isObject, parseJSON } from '../../shared/json.ts';
import { boundedCall } from '../../shared/deadline.ts';
import { parseGoDuration } from '../../shared/go-duration.ts';
import type { CredentialProvider } from './provider-config.ts';

/** Source: kubelet `execPlugin`. */
const timeoutMs = 60_000;
const maxOutputBytes = 1_048_576;
const maxErrorLength = 1000;

/** The credentials for an image. Source: credentialprovider.kubelet.k8s.io/v1 `CredentialProviderResponse`. */
export interface CredentialProviderResponse {
  /** The images for which they may be reused. */
  readonly cacheKeyType: 'Image' | 'Registry' | 'Global';
  /** Default: that of the configuration. 0: they are not reused. */
  readonly cacheDurationMs: number | undefined;
  /** By registry, as in a configuration of Docker. */
  readonly auth: readonly (readonly [address: string, credentials: { username: string; password: string }])[];
}

interface ExecPluginOptions {
  readonly binDirectory: string;
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Kills the plugin. */
  readonly signal: AbortSignal;
}

/**
 * Runs the plugin, with the request on its standard input and the response on its output. It is killed after a minute, or
 * after 1 MiB of output. Errors contain the end of its standard error, never its output.
 */
export async function execPlugin(
  { name, apiVersion, args, env }: CredentialProvider,
  image: string,
  { binDirectory, clock, signal: stopSignal }: ExecPluginOptions,
): Promise<CredentialProviderResponse> {
  const request = JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image });
  const options = { env: { ...process.env, ...env }, maxBuffer: maxOutputBytes, killSignal: 'SIGKILL' } as const;
  const bounds = { clock, timeoutMs, signals: [stopSignal] };
  const output = await boundedCall(`the credential provider ${name}`, bounds, ({ signal }) =>
    run(join(binDirectory, name), args, { ...options, signal }, `${request}\n`),
  );
  return readResponse(output, apiVersion);
}

function run(program: string, args: readonly string[], options: ExecFileOptions, input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const cause = error.code ?? error.signal ?? 'killed';
      reject(new Error(`${program} failed (${cause}): ${stderr.trim().slice(-maxErrorLength)}`));
    });
    // A plugin need not read its request.
    child.stdin!.on('error', () => {});
    child.stdin!.end(input);
  });
}

/** Errors do not quote the response, because it contains credentials. */
function readResponse(output: string, apiVersion: string): CredentialProviderResponse {
  const response = parseJSON(output);
  if (!isObject(response)) throw new Error('the response is not a JSON object');
  const { kind, cacheKeyType, cacheDuration, auth } = response;
  if (kind !== 'CredentialProviderResponse' || response['apiVersion'] !== apiVersion)
    throw new Error(`the response is not CredentialProviderResponse of ${apiVersion}`);
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global')
    throw new Error('cacheKeyType of the response is none of Image, Registry and Global');
  const cacheDurationMs = typeof cacheDuration === 'string' ? parseGoDuration(cacheDuration) : undefined;
  if (cacheDuration != null && cacheDurationMs === undefined)
    throw new Error('cacheDuration of the response is not a duration like 12h or 0s');
  if (auth != null && !isObject(auth)) throw new Error('auth of the response is not an object');
  return { cacheKeyType, cacheDurationMs, auth: Object.entries(auth ?? {}).map(readAuth) };
}

function readAuth([address, credentials]: readonly [string, unknown]): CredentialProviderResponse['auth'][number] {
  const { username = '', password = '' } = isObject(credentials) ? credentials : { username: 0 };
  if (typeof username !== 'string' || typeof password !== 'string')
    throw new Error('auth of the response has something other than { username, password }');
  return [address, { username, password }];
}
