import { createHash } from 'node:crypto';
import type { Pod } from '../../kube/types.ts';
import { parseImageName } from '../runtime/image-name.ts';
import type { ObjectReader, Secret } from './object-reader.ts';
import { podSpecOf } from './pod-fields.ts';
import type { PodPullCredentials, PullCredentials } from './run-container-options.ts';

/** Longer ones are no names of hosts. */
const maxHostLength = 255;

interface Registry {
  /** With its port; may have `*`. */
  readonly host: string;
  /** Empty, or with its slash. */
  readonly path: string;
}

/** Source: kubelet credentialprovider `DockerConfigEntry`. */
interface DockerConfigEntry {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

interface RegistryCredentials {
  readonly registry: Registry;
  readonly credentials: PullCredentials;
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
  const namespace = pod.metadata?.namespace ?? '';
  const names = new Set((podSpecOf(pod).imagePullSecrets ?? []).map(({ name = '' }) => name).filter(Boolean));
  const read = async (name: string) => ({ name, secret: await objects?.getSecret(namespace, name) });
  const secrets = await Promise.all([...names].map((name) => read(name).catch(() => ({ name, secret: undefined }))));
  const entries = secrets.flatMap(({ name, secret }) =>
    secret === undefined ? [] : dockerConfigOf(secret, namespace, name),
  );
  return {
    credentials: lookup(entries, target),
    missingSecrets: secrets.filter(({ secret }) => secret === undefined).map(({ name }) => name),
  };
}

/** Source: kubelet `BasicDockerKeyring.Lookup`. */
function lookup(entries: readonly RegistryCredentials[], image: Registry): readonly PullCredentials[] {
  const matching = entries.filter(({ registry }) => matchesRegistry(registry, image));
  const isDefault = matching.length === 0 && isDefaultRegistry(image.host);
  const found = isDefault ? entries.filter(({ registry }) => keyOf(registry) === 'index.docker.io') : matching;
  // A longer path is more specific; sorting is stable.
  const sorted = found.toSorted((a, b) => compareText(keyOf(b.registry), keyOf(a.registry)));
  return sorted.map(({ credentials }) => credentials);
}

function keyOf({ host, path }: Registry): string {
  return host + path;
}

function compareText(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

/** Source: kubelet `isDefaultRegistryMatch`. */
function isDefaultRegistry(host: string): boolean {
  return host === 'docker.io' || !/[.:]/.test(host);
}

/** The entries of a Secret in one of Docker's two formats; none of another Secret. */
function dockerConfigOf(
  { type, metadata, data = {} }: Secret,
  namespace: string,
  name: string,
): readonly RegistryCredentials[] {
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
      return { registry: registryOf(address), credentials: { username, password, secret } };
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

/** `auth` wins: `USERNAME:PASSWORD` in base64. Source: kubelet `DockerConfigEntry.UnmarshalJSON`. */
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

/** The same as a kubelet's, which shares the records of pulls. Source: credentialprovider `hashAuthConfig`. */
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

/** `https://index.docker.io/v1/` is `index.docker.io`: the version of the API is no part of the path. */
function registryOf(address: string): Registry {
  const [url = ''] = address.replace(/^https?:\/\//, '').split(/[?#]/, 1);
  const { host, path } = splitRepository(url);
  const effectivePath = /^\/v[12]\//.test(path) ? path.slice('/v1'.length) : path;
  return { host: host.slice(host.lastIndexOf('@') + 1), path: effectivePath === '/' ? '' : effectivePath };
}

function splitRepository(url: string): Registry {
  const slash = url.indexOf('/');
  return slash === -1 ? { host: url, path: '' } : { host: url.slice(0, slash), path: url.slice(slash) };
}

/** Ports are equal, hosts may have `*` in each of their parts, and a path is a prefix. Source: kubelet `URLsMatch`. */
function matchesRegistry(registry: Registry, image: Registry): boolean {
  const [host, port] = splitPort(registry.host);
  const [imageHost, imagePort] = splitPort(image.host);
  if (port !== imagePort || !image.path.startsWith(registry.path) || imageHost.length > maxHostLength) return false;
  const labels = host.split('.');
  const imageLabels = imageHost.split('.');
  return (
    labels.length === imageLabels.length && labels.every((label, index) => matchesLabel(label, imageLabels[index]!))
  );
}

function splitPort(host: string): readonly [host: string, port: string] {
  const colon = host.endsWith(']') ? -1 : host.lastIndexOf(':');
  return colon === -1 ? [host, ''] : [host.slice(0, colon), host.slice(colon + 1)];
}

/** `*` is any text. */
function matchesLabel(glob: string, label: string): boolean {
  const [prefix = '', ...rest] = glob.split('*');
  const suffix = rest.pop();
  if (suffix === undefined) return glob === label;
  if (!label.startsWith(prefix)) return false;
  let position = prefix.length;
  for (const part of rest) {
    const found = label.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return label.length - suffix.length >= position && label.endsWith(suffix);
}
