import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { ImagePullSecret } from '../../../src/node/runtime/container-runtime.ts';

export function isPrivate(image: string): boolean {
  return image.startsWith('private');
}

/** The Secrets of a pod for an image. For some pods, their credentials have been renewed, or they are copies. */
export function pullSecretsFor(image: string, { metadata, spec }: ValidPod): ImagePullSecret[] {
  if (!isPrivate(image)) return [];
  const { imagePullSecrets = [] } = (spec ?? {}) as {
    readonly imagePullSecrets?: readonly { readonly name?: string }[];
  };
  const renewed = metadata.uid.startsWith('0') ? '-renewed' : '';
  const copy = metadata.uid.startsWith('1') ? '-copy' : '';
  return imagePullSecrets.map(({ name = '' }) => ({
    ...{ uid: `uid-of-${name}${copy}`, namespace: metadata.namespace, name: `${name}${copy}` },
    credentialHash: `hash-of-${name}${renewed}`,
  }));
}
