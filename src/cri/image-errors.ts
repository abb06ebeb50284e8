import { ImageError } from '../agent/runtime/container-runtime.ts';
import { CRIError } from './cri-client.ts';

const path = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^(?:${domain}/)?${path}(?:/${path})*(?::\\w[\\w.-]{0,127})?(?:@${digest})?$`);

/**
 * Refuses invalid image names before the runtime is called, like the kubelet. Source: distribution/reference
 * `ParseNormalizedNamed`; kubelet `applyDefaultImageTag`.
 * @throws ImageError InvalidImageName
 */
export function requireImageName(image: string): void {
  const refuse = (why: string): never => {
    throw new ImageError('InvalidImageName', `couldn't parse image name ${JSON.stringify(image)}: ${why}`);
  };
  if (/^[a-f0-9]{64}$/.test(image))
    refuse(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  const [first = '', ...rest] = image.split('/');
  const hasDomain = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const remainder = hasDomain ? rest.join('/') : image;
  const [repository = ''] = remainder.split(':');
  if (repository !== repository.toLowerCase())
    refuse(`invalid reference format: repository name (${repository}) must be lowercase`);
  if (!reference.test(hasDomain ? image : `docker.io/${image}`)) refuse('invalid reference format');
}

const prefixes: readonly ImageError['reason'][] = ['RegistryUnavailable', 'SignatureValidationFailed'];

/**
 * The error of a failed pull. A prefix of the runtime's message selects a more specific reason. Source: kubelet
 * `evalCRIPullErr`, cri-client `PullImage`.
 */
export function pullError(error: unknown): Error {
  if (!(error instanceof CRIError)) return error as Error;
  const message = error.code === 'Unknown' ? error.message : error.goMessage;
  const reason = prefixes.find((prefix) => message.startsWith(prefix));
  if (reason === undefined) return new Error(message, { cause: error });
  return new ImageError(reason, message.slice(reason.length).replace(/^: /, ''), { cause: error });
}
