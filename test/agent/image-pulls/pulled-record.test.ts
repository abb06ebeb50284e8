import { describe, expect, it } from 'vitest';
import {
  type ImagePullCredentials,
  imagePullCredentials,
  mergeImagePullCredentials,
  trimImageTagDigest,
} from '../../../src/agent/image-pulls/pulled-record.ts';
import type { ImagePullSecret } from '../../../src/node/runtime/container-runtime.ts';

const secretOf = (fields: Partial<ImagePullSecret> = {}): ImagePullSecret => ({
  ...{ uid: 'uid-a', namespace: 'team', name: 'pull', credentialHash: 'hash-a' },
  ...fields,
});
const withSecrets = (...kubernetesSecrets: readonly ImagePullSecret[]): ImagePullCredentials => ({ kubernetesSecrets });

it('a pull without a Secret makes an image accessible to all pods of the node', () => {
  expect(imagePullCredentials(undefined)).toEqual({ nodePodsAccessible: true });
  expect(imagePullCredentials(secretOf())).toEqual(withSecrets(secretOf()));
});

describe('credentials of several pulls together', () => {
  it('are those of the first pull if there are no others', () => {
    const added = withSecrets(secretOf());
    expect(mergeImagePullCredentials(undefined, added)).toBe(added);
  });

  it('are accessible to all pods as soon as one pull was', () => {
    const all = { nodePodsAccessible: true };
    expect(mergeImagePullCredentials(all, withSecrets(secretOf()))).toBe(all);
    expect(mergeImagePullCredentials(withSecrets(secretOf()), all)).toBe(all);
  });

  it('are the same object if the Secret is known, so that nothing is written', () => {
    const known = withSecrets(secretOf({ name: 'other' }), secretOf());
    expect(mergeImagePullCredentials(known, withSecrets(secretOf()))).toBe(known);
    const accounts = { kubernetesServiceAccounts: [] };
    expect(mergeImagePullCredentials(accounts, {})).toBe(accounts);
  });

  it('have the Secrets in the order of namespace, name and UID', () => {
    const sorted = [
      secretOf({ namespace: 'a', name: 'b', uid: '3' }),
      secretOf({ namespace: 'a', name: 'c', uid: '1' }),
      secretOf({ namespace: 'a', name: 'c', uid: '2' }),
      secretOf({ namespace: 'b', name: 'a', uid: '0' }),
    ];
    const [first, ...others] = [...sorted].toReversed();
    const merged = others.reduce(
      (known, each) => mergeImagePullCredentials(known, withSecrets(each)),
      withSecrets(first!),
    );
    expect(merged).toEqual(withSecrets(...sorted));
  });

  it('have rotated credentials in place of the earlier ones, and those of other Secrets as they were', () => {
    const others = [secretOf({ uid: 'b' }), secretOf({ namespace: 'other' }), secretOf({ name: 'second' })];
    const rotated = secretOf({ credentialHash: 'hash-b' });
    const { kubernetesSecrets } = mergeImagePullCredentials(withSecrets(...others, secretOf()), withSecrets(rotated));
    expect(kubernetesSecrets).toHaveLength(4);
    expect(kubernetesSecrets).toEqual(expect.arrayContaining([...others, rotated]));
  });

  it('keep the service accounts of a kubelet', () => {
    const known = { kubernetesServiceAccounts: [{ uid: 'u', namespace: 'team', name: 'builder' }] };
    expect(mergeImagePullCredentials(known, withSecrets(secretOf()))).toEqual({ ...known, ...withSecrets(secretOf()) });
  });
});

it.each([
  ['app', 'app'],
  ['app:1', 'app'],
  ['app@sha256:0123', 'app'],
  ['registry.example/team/app:1@sha256:0123', 'registry.example/team/app'],
  ['registry.example:5000/app', 'registry.example:5000/app'],
  ['registry.example:5000/app:1', 'registry.example:5000/app'],
  ['', ''],
])('the image %s without tag and digest is %s', (image, name) => {
  expect(trimImageTagDigest(image)).toBe(name);
});
