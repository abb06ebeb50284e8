import { ImageError } from './container-runtime.ts';

/** Source: distribution/reference `RepositoryNameTotalLengthMax`. */
const maxPathLength = 255;

/**
 * The repository of an image, with its registry and without tag and digest: `docker.io/library/busybox` for `busybox:1`.
 * Source: kubelet `parsers.ParseImageName`; distribution/reference `ParseNormalizedNamed`.
 * @throws ImageError InvalidImageName
 */
export function parseImageName(image: string): string {
  const refuse = (why: string): never => {
    throw new ImageError('InvalidImageName', `couldn't parse image name ${JSON.stringify(image)}: ${why}`);
  };
  if (/^[a-f0-9]{64}$/.test(image))
    refuse(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  const [domain, remainder] = splitDockerDomain(image);
  const [remote = ''] = remainder.split(':', 1);
  if (remote !== remote.toLowerCase())
    refuse(`invalid reference format: repository name (${remote}) must be lowercase`);

  const [name = '', ...digests] = remainder.split('@');
  const tagAt = name.indexOf(':', name.lastIndexOf('/') + 1);
  const path = tagAt === -1 ? name : name.slice(0, tagAt);
  const isReference =
    (isDomain(domain) || isPathComponent(domain)) &&
    path.split('/').every(isPathComponent) &&
    (tagAt === -1 || /^\w[\w.-]{0,127}$/.test(name.slice(tagAt + 1))) &&
    (digests.length === 0 || isDigest(digests.join('@')));
  if (!isReference) refuse('invalid reference format');
  if (path.length > maxPathLength) refuse(`repository name must not be more than ${maxPathLength} characters`);
  return `${domain}/${path}`;
}

/** Source: distribution/reference `splitDockerDomain`. */
function splitDockerDomain(image: string): readonly [domain: string, remainder: string] {
  const first = image.slice(0, Math.max(image.indexOf('/'), 0));
  const hasDomain = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const remainder = hasDomain ? image.slice(first.length + 1) : image;
  if (hasDomain && first !== 'docker.io' && first !== 'index.docker.io') return [first, remainder];
  return ['docker.io', remainder.includes('/') ? remainder : `library/${remainder}`];
}

function isDomain(text: string): boolean {
  const host = text.replace(/:[0-9]+$/, '');
  if (/^\[[a-fA-F0-9:]+\]$/.test(host)) return true;
  return host.split('.').every((label) => /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/.test(label));
}

function isPathComponent(text: string): boolean {
  return /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/.test(text);
}

function isDigest(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/.test(text);
}
