import type { PullCredentials } from './run-container-options.ts';

/** Longer texts are not host names. */
const maxHostLength = 255;

/** Host and path of a registry or an image. */
export interface KeyringRegistry {
  /** With its port; may have `*`. */
  readonly host: string;
  /** Empty, or with its slash. */
  readonly path: string;
}

export interface KeyringEntry {
  readonly registry: KeyringRegistry;
  readonly credentials: PullCredentials;
}

/** The credentials that match the image, the most specific ones first. Source: kubelet `BasicDockerKeyring.Lookup`. */
export function lookupCredentials(
  entries: readonly KeyringEntry[],
  image: KeyringRegistry,
): readonly PullCredentials[] {
  const matching = entries.filter(({ registry }) => matchesRegistry(registry, image));
  const isDefault = matching.length === 0 && isDefaultRegistry(image.host);
  const found = isDefault ? entries.filter(({ registry }) => keyOf(registry) === 'index.docker.io') : matching;
  // A longer path is more specific; sorting is stable.
  const sorted = found.toSorted((a, b) => compareText(keyOf(b.registry), keyOf(a.registry)));
  return sorted.map(({ credentials }) => credentials);
}

function keyOf({ host, path }: KeyringRegistry): string {
  return host + path;
}

function compareText(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

/** Source: kubelet `isDefaultRegistryMatch`. */
function isDefaultRegistry(host: string): boolean {
  return host === 'docker.io' || !/[.:]/.test(host);
}

/** `https://index.docker.io/v1/` is `index.docker.io`: the version of the API is not part of the path. */
export function registryOf(address: string): KeyringRegistry {
  const [url = ''] = address.replace(/^https?:\/\//, '').split(/[?#]/, 1);
  const { host, path } = splitRepository(url);
  const effectivePath = /^\/v[12]\//.test(path) ? path.slice('/v1'.length) : path;
  return { host: host.slice(host.lastIndexOf('@') + 1), path: effectivePath === '/' ? '' : effectivePath };
}

export function splitRepository(url: string): KeyringRegistry {
  const slash = url.indexOf('/');
  return slash === -1 ? { host: url, path: '' } : { host: url.slice(0, slash), path: url.slice(slash) };
}

/** Ports are equal, hosts may have `*` in each of their parts, and a path is a prefix. Source: kubelet `URLsMatch`. */
export function matchesRegistry(registry: KeyringRegistry, image: KeyringRegistry): boolean {
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
