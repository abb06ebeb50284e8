import type { ImagePullSecret } from '../../node/index.ts';

/** Source: kubelet.config.k8s.io/v1beta1 `ImagePullServiceAccount`. */
interface ImagePullServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The credentials that an image was pulled with, which decide which pods may use it. Source: kubelet.config.k8s.io/v1beta1
 * `ImagePullCredentials`.
 */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[] | undefined;
  /** Only a kubelet with a credential provider that gets service account tokens writes them. */
  readonly kubernetesServiceAccounts?: readonly ImagePullServiceAccount[] | undefined;
  /** True if every pod of the node may use the image; then both lists are absent. */
  readonly nodePodsAccessible?: boolean | undefined;
}

/** An image that the agent has pulled. Source: kubelet.config.k8s.io/v1beta1 `ImagePulledRecord`. */
export interface ImagePulledRecord {
  readonly lastUpdatedMs: number;
  readonly imageRef: string;
  /** By the name of the image in pods, without tag and digest. */
  readonly credentialMapping: ReadonlyMap<string, ImagePullCredentials>;
}

/** The credentials of a successful pull: those of a Secret, or else of every pod. */
export function imagePullCredentials(secret: ImagePullSecret | undefined): ImagePullCredentials {
  return secret === undefined ? { nodePodsAccessible: true } : { kubernetesSecrets: [secret] };
}

/** Both merged; `known` itself if it already has the new ones. Source: kubelet `pulledRecordMergeNewCreds`. */
export function mergeImagePullCredentials(
  known: ImagePullCredentials | undefined,
  added: ImagePullCredentials,
): ImagePullCredentials {
  if (known?.nodePodsAccessible) return known;
  if (known === undefined || added.nodePodsAccessible) return added;
  const secrets = new Map(known.kubernetesSecrets?.map((secret) => [keyOf(secret), secret]));
  const changed = (added.kubernetesSecrets ?? []).filter(
    (secret) => secrets.get(keyOf(secret))?.credentialHash !== secret.credentialHash,
  );
  if (changed.length === 0) return known;
  for (const secret of changed) secrets.set(keyOf(secret), secret);
  const sorted = [...secrets].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { ...known, kubernetesSecrets: sorted.map(([, secret]) => secret) };
}

/** Whether both are the same Secret, regardless of its content. */
export function isSameSecret(a: ImagePullSecret, b: ImagePullSecret): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

function keyOf({ namespace, name, uid }: ImagePullSecret): string {
  return [namespace, name, uid].join('\0');
}

/** An image without tag and digest. Source: kubelet `trimImageTagDigest`. */
export function trimImageTagDigest(image: string): string {
  const [name = ''] = image.split('@', 1);
  const tag = name.indexOf(':', name.lastIndexOf('/') + 1);
  return tag === -1 ? name : name.slice(0, tag);
}
