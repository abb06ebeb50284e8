import { createHash } from 'node:crypto';
import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { lookupCredentials, registryOf, splitRepository } from './docker-keyring.ts';
import { parseImageName } from '../runtime/image-name.ts';
import type { ObjectReader } from './api-object-reader.ts';
import type { PodPullCredentials, PullCredentials } from './run-container-options.ts';

/** Source: kubelet credentialprovider `DockerConfigEntry`. */
interface DockerConfigEntry {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

/**
 * The credentials of a pod's imagePullSecrets for an image, the most specific registry first. Secrets that cannot be read
 * are skipped: the image may be public. Source: kubelet `getPullSecretsForPod`, `MakeDockerKeyring`.
 *
 * Divergence: for an invalid configuration, the kubelet shows the text of the parser's error as the reason.
 * @throws ImageError InvalidImageName. @throws Error if the configuration in a Secret is invalid
 */
export async function pullCredentials(
  pod: Pod,
  image: string,
  objects: ObjectReader | undefined,
): Promise<PodPullCredentials> {
  const target = splitRepository(parseImageName(image));
  const { entries, missingSecrets } = await readPullSecrets(pod, objects);
  const registries = entries.map(({ address, credentials }) => ({ registry: registryOf(address), credentials }));
  return { credentials: lookupCredentials(registries, target), missingSecrets };
}

/** An entry of an image pull secret. */
export interface PullSecretEntry {
  /** Of the registry, as in the Secret. */
  readonly address: string;
  readonly credentials: PullCredentials;
}

/** The entries of a pod's imagePullSecrets, in their order. @throws Error if the configuration in a Secret is invalid */
export async function readPullSecrets(
  pod: Pod,
  objects: ObjectReader | undefined,
): Promise<{ readonly entries: readonly PullSecretEntry[]; readonly missingSecrets: readonly string[] }> {
  const namespace = pod.metadata?.namespace ?? '';
  const names = new Set((podSpecOf(pod).imagePullSecrets ?? []).map(({ name = '' }) => name).filter(Boolean));
  const read = async (name: string) => ({ name, secret: await objects?.getSecret(namespace, name) });
  const secrets = await Promise.all([...names].map((name) => read(name).catch(() => ({ name, secret: undefined }))));
  const entries = secrets.flatMap(({ name, secret }) =>
    secret === undefined ? [] : dockerConfigOf(secret, namespace, name),
  );
  return { entries, missingSecrets: secrets.filter(({ secret }) => secret === undefined).map(({ name }) => name) };
}

/** The entries of a Secret in one of Docker's two formats; empty for other Secrets. */
function dockerConfigOf(
  { type, metadata, data = {} }: KubeObject<'Secret'>,
  namespace: string,
  name: string,
): readonly PullSecretEntry[] {
  const isJSON = type === 'kubernetes.io/dockerconfigjson';
  const key = isJSON ? '.dockerconfigjson' : '.dockercfg';
  const text = Object.hasOwn(data, key) ? data[key] : '';
  if (!text || (!isJSON && type !== 'kubernetes.io/dockercfg')) return [];
  try {
    const config = objectOf(JSON.parse(Buffer.from(text, 'base64').toString()));
    const entries = Object.entries(objectOf(isJSON ? config['auths'] : config));
    return entries.map(([address, entry]) => {
      const { username, password, email } = readEntry(objectOf(entry));
      const credentialHash = hashAuthConfig({ username, password, email });
      const secret = { uid: metadata?.uid ?? '', namespace, name, credentialHash };
      return { address, credentials: { username, password, secret } };
    });
  } catch {
    // Without the cause, which may quote the Secret.
    throw new Error(`the image pull secret ${JSON.stringify(name)} has an invalid configuration`);
  }
}

/** Null is empty, as in Go. */
function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError('not an object');
  return value as Readonly<Record<string, unknown>>;
}

/** Null is empty, as in Go. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new TypeError('not a text');
  return value;
}

/** `auth`, which is `USERNAME:PASSWORD` in base64, takes precedence. Source: kubelet `DockerConfigEntry.UnmarshalJSON`. */
function readEntry(entry: Readonly<Record<string, unknown>>): DockerConfigEntry {
  const [auth = '', username = '', password = '', email = ''] = ['auth', 'username', 'password', 'email'].map((name) =>
    textOf(entry[name]),
  );
  if (auth === '') return { username, password, email };
  const decoded = Buffer.from(auth, 'base64');
  if (unpadded(decoded.toString('base64')) !== unpadded(auth)) throw new Error('illegal base64 data');
  const text = decoded.toString();
  const colon = text.indexOf(':');
  if (colon === -1) throw new Error('must be formatted as base64(username:password)');
  return { username: text.slice(0, colon), password: text.slice(colon + 1), email };
}

/** The same hash as the kubelet's, because both read the same records of pulls. Source: credentialprovider `hashAuthConfig`. */
function hashAuthConfig({ username, password, email }: DockerConfigEntry): string {
  const fields = { username: username || undefined, password: password || undefined, email: email || undefined };
  // Go escapes these characters.
  const json = JSON.stringify(fields).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return createHash('sha256').update(json).digest('hex');
}

function unpadded(base64: string): string {
  return base64.replaceAll(/[=\r\n]/g, '');
}
