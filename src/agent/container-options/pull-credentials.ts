import { createHash } from 'node:crypto';
import type { Pod } from '../../kube/types.ts';
import type { ObjectReader, Secret } from './object-reader.ts';
import { podSpecOf } from './pod-fields.ts';
import type { PullCredentials } from './run-container-options.ts';

/** Source: kubelet credentialprovider `DockerConfigEntry`. */
interface DockerConfigEntry {
  readonly auth?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly email?: string | undefined;
}

interface RegistryCredentials {
  /** Host and path, without a scheme. */
  readonly registry: string;
  readonly credentials: PullCredentials;
}

/**
 * The credentials of a pod's imagePullSecrets for an image, the most specific registry first. Secrets that are missing
 * or cannot be read are skipped: the image may be public. Source: kubelet `MakeDockerKeyring`, `BasicDockerKeyring`.
 */
export async function pullCredentials(
  pod: Pod,
  image: string,
  objects: ObjectReader | undefined,
): Promise<readonly PullCredentials[]> {
  const names = (podSpecOf(pod).imagePullSecrets ?? []).map(({ name = '' }) => name).filter(Boolean);
  if (objects === undefined || names.length === 0) return [];
  const namespace = pod.metadata?.namespace ?? '';
  const configs = await Promise.all(
    names.map(async (name) => {
      const secret = await objects.getSecret(namespace, name).catch(() => undefined);
      return secret === undefined ? [] : dockerConfigOf(secret, namespace, name);
    }),
  );
  const all = configs.flat();
  const repository = repositoryOf(image);
  const matching = all.filter(({ registry }) => matchesRegistry(registry, repository));
  // A longer path is more specific; sorting is stable.
  const sorted = matching.toSorted((a, b) => Number(b.registry > a.registry) - Number(b.registry < a.registry));
  return sorted.map(({ credentials }) => credentials);
}

/**
 * Returns nothing for a Secret in neither of Docker's two formats.
 *
 * Divergence: in the kubelet, the pod waits if such a Secret cannot be parsed.
 */
function dockerConfigOf(
  { metadata, data = {} }: Secret,
  namespace: string,
  name: string,
): readonly RegistryCredentials[] {
  const config = data['.dockerconfigjson'] ?? data['.dockercfg'];
  if (config === undefined) return [];
  let entries: Readonly<Record<string, DockerConfigEntry | null>>;
  try {
    const parsed = JSON.parse(Buffer.from(config, 'base64').toString()) as object;
    entries = ('.dockerconfigjson' in data ? (parsed as { auths?: typeof entries }).auths : parsed) as typeof entries;
  } catch {
    return [];
  }
  return Object.entries(entries ?? {}).map(([address, entry]) => {
    const { username, password, email } = decodeAuth(entry ?? {});
    const credentialHash = hashAuthConfig({ username, password, email });
    const secret = { uid: metadata?.uid ?? '', namespace, name, credentialHash };
    return { registry: registryOf(address), credentials: { username, password, secret } };
  });
}

/** `auth` wins: `USERNAME:PASSWORD` in base64. Source: credentialprovider `DockerConfigEntry.UnmarshalJSON`. */
function decodeAuth(entry: DockerConfigEntry): DockerConfigEntry {
  const auth = Buffer.from(entry.auth ?? '', 'base64').toString();
  const colon = auth.indexOf(':');
  return colon === -1 ? entry : { ...entry, username: auth.slice(0, colon), password: auth.slice(colon + 1) };
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

/** `https://index.docker.io/v1/` is `index.docker.io`; the API's version is no part of the path. */
function registryOf(address: string): string {
  return address
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/$/, '');
}

/** Registry and path of an image, without tag and digest. */
function repositoryOf(image: string): string {
  const path = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const [host = '', ...rest] = path.split('/');
  const hasHost = rest.length > 0 && (/[.:]/.test(host) || host === 'localhost');
  if (hasHost && host !== 'docker.io') return path;
  const name = hasHost ? rest.join('/') : path;
  return `index.docker.io/${name.includes('/') ? name : `library/${name}`}`;
}

/** Hosts may have `*` in each of their parts, and a path is a prefix. Source: credentialprovider `URLsMatch`. */
function matchesRegistry(registry: string, repository: string): boolean {
  const [host = '', ...path] = (registry === 'docker.io' ? 'index.docker.io' : registry).split('/');
  const [imageHost = '', ...imagePath] = repository.split('/');
  const hostParts = host.split(/[.:]/);
  const imageParts = imageHost.split(/[.:]/);
  const isSameHost =
    hostParts.length === imageParts.length &&
    hostParts.every((part, index) => matchesPart(part, imageParts[index] ?? ''));
  return isSameHost && imagePath.join('/').startsWith(path.join('/'));
}

function matchesPart(pattern: string, part: string): boolean {
  const source = pattern.split('*').map((literal) => literal.replaceAll(/[^\w-]/g, String.raw`\$&`));
  return new RegExp(`^${source.join('.*')}$`).test(part);
}
