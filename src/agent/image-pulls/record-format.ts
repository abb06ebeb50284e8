import { isObject, ownField, parseJSON, type Raw } from '../../shared/json.ts';
import { canonicalTime, epochMsOf, timeFromEpochMs } from '../../shared/time.ts';
import { isImagePullSecret } from '../../node/index.ts';
import type { ImagePullCredentials, ImagePulledRecord } from './pulled-record.ts';

/** The kubelet also reads the older version. */
const apiVersions = ['kubelet.config.k8s.io/v1beta1', 'kubelet.config.k8s.io/v1alpha1'] as const;

/** The file of an image that is being pulled, byte for byte as a kubelet v1.37 writes it. */
export function encodeImagePullIntent(image: string): string {
  return `${JSON.stringify({ kind: 'ImagePullIntent', apiVersion: apiVersions[0], image })}\n`;
}

/** @throws Error if it is not a record of an image that is being pulled */
export function decodeImagePullIntent(text: string): string {
  const image = ownField(decodeKind('ImagePullIntent', text), 'image');
  if (typeof image !== 'string') throw new Error('`image` is not a string');
  return image;
}

/** The file of an image that was pulled, byte for byte as a kubelet v1.37 writes it. */
export function encodeImagePulledRecord({ lastUpdatedMs, imageRef, credentialMapping }: ImagePulledRecord): string {
  const byName = [...credentialMapping].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const record = {
    kind: 'ImagePulledRecord',
    apiVersion: apiVersions[0],
    lastUpdatedTime: timeFromEpochMs(lastUpdatedMs),
    imageRef,
    ...(byName.length > 0 && { credentialMapping: Object.fromEntries(byName) }),
  };
  return `${JSON.stringify(record)}\n`;
}

/** @throws Error if it is not a record of an image that was pulled */
export function decodeImagePulledRecord(text: string): ImagePulledRecord {
  const record = decodeKind('ImagePulledRecord', text);
  const imageRef = ownField(record, 'imageRef');
  const lastUpdatedTime = canonicalTime(ownField(record, 'lastUpdatedTime'));
  if (typeof imageRef !== 'string') throw new Error('`imageRef` is not a string');
  if (lastUpdatedTime === undefined) throw new Error('`lastUpdatedTime` is not a time');
  const credentials = ownField(record, 'credentialMapping') ?? {};
  if (!isObject(credentials)) throw new Error('`credentialMapping` is not an object');
  return {
    lastUpdatedMs: lastUpdatedTime === null ? 0 : epochMsOf(lastUpdatedTime),
    imageRef,
    credentialMapping: new Map(Object.entries(credentials).map(([name, each]) => [name, decodeCredentials(each)])),
  };
}

function decodeCredentials(value: unknown): ImagePullCredentials {
  if (!isObject(value)) throw new Error('the credentials of an image are not an object');
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible = false } = value;
  if (!Array.isArray(kubernetesSecrets) || !kubernetesSecrets.every(isImagePullSecret))
    throw new Error('`kubernetesSecrets` is not a list of Secrets');
  if (!Array.isArray(kubernetesServiceAccounts)) throw new Error('`kubernetesServiceAccounts` is not a list');
  if (typeof nodePodsAccessible !== 'boolean') throw new Error('`nodePodsAccessible` is not a boolean');
  return value;
}

function decodeKind(kind: string, text: string): Raw {
  const value = parseJSON(text);
  if (!isObject(value) || value['kind'] !== kind || !apiVersions.some((version) => version === value['apiVersion']))
    throw new Error(`not ${kind} of ${apiVersions[0]}`);
  return value;
}
