import { describe, expect, it } from 'vitest';
import {
  decodeImagePulledRecord,
  decodeImagePullIntent,
  encodeImagePulledRecord,
  encodeImagePullIntent,
} from '../../../src/agent/image-pulls/record-format.ts';

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const textOf = (kind: string, fields: object): string => JSON.stringify({ kind, apiVersion, ...fields });
const secret = { uid: 'u', namespace: 'team', name: 'pull', credentialHash: 'h' };

describe('the record of a pull in progress', () => {
  it.each([apiVersion, 'kubelet.config.k8s.io/v1alpha1'])('of version %s is read', (version) => {
    expect(decodeImagePullIntent(textOf('ImagePullIntent', { apiVersion: version, image: 'app:1' }))).toBe('app:1');
  });

  it('is read as it was written', () => {
    expect(decodeImagePullIntent(encodeImagePullIntent('app:1'))).toBe('app:1');
  });

  it.each([
    ['no JSON', '{', `not ImagePullIntent of ${apiVersion}`],
    ['no object', '[]', `not ImagePullIntent of ${apiVersion}`],
    ['another kind', textOf('ImagePulledRecord', { image: 'app:1' }), `not ImagePullIntent of ${apiVersion}`],
    [
      'another version',
      textOf('ImagePullIntent', { apiVersion: 'v1', image: 'a' }),
      `not ImagePullIntent of ${apiVersion}`,
    ],
    ['no image', textOf('ImagePullIntent', {}), '`image` is not a string'],
  ])('that is %s is refused', (_, text, message) => expect(() => decodeImagePullIntent(text)).toThrow(message));
});

describe('the record of a pulled image', () => {
  const lastUpdatedMs = Date.parse('2026-01-02T03:04:05Z');

  it('is read as it was written, and lists images in the order of their names', () => {
    const credentialMapping = new Map<string, object>([
      ['b', { nodePodsAccessible: true }],
      ['a', { kubernetesSecrets: [secret] }],
      ['c', {}],
    ]);
    const record = { lastUpdatedMs, imageRef: 'sha256:1', credentialMapping };
    const text = encodeImagePulledRecord(record);
    expect(Object.keys(JSON.parse(text).credentialMapping)).toEqual(['a', 'b', 'c']);
    expect(decodeImagePulledRecord(text)).toEqual(record);
  });

  it('without credentials has no field for them', () => {
    const record = { lastUpdatedMs, imageRef: 'sha256:1', credentialMapping: new Map() };
    expect(encodeImagePulledRecord(record)).not.toContain('credentialMapping');
    expect(decodeImagePulledRecord(encodeImagePulledRecord(record))).toEqual(record);
  });

  it('of an unknown time is as old as can be', () => {
    const text = textOf('ImagePulledRecord', { imageRef: 'sha256:1', lastUpdatedTime: null });
    expect(decodeImagePulledRecord(text).lastUpdatedMs).toBe(0);
  });

  const withCredentials = (credentials: unknown): object => ({
    ...{ imageRef: 'sha256:1', lastUpdatedTime: null, credentialMapping: { app: credentials } },
  });
  it.each<[string, object, string]>([
    ['no imageRef', { lastUpdatedTime: null }, '`imageRef` is not a string'],
    ['a time that is none', { imageRef: 'x', lastUpdatedTime: 'yesterday' }, '`lastUpdatedTime` is not a time'],
    [
      'credentials that are a list',
      { imageRef: 'x', lastUpdatedTime: null, credentialMapping: [] },
      '`credentialMapping` is not an object',
    ],
    [
      'credentials of an image that are a text',
      withCredentials('all'),
      'the credentials of an image are not an object',
    ],
    [
      'Secrets that are no list',
      withCredentials({ kubernetesSecrets: secret }),
      '`kubernetesSecrets` is not a list of Secrets',
    ],
    [
      'Secrets that are none',
      withCredentials({ kubernetesSecrets: [secret, {}] }),
      '`kubernetesSecrets` is not a list of Secrets',
    ],
    [
      'service accounts that are no list',
      withCredentials({ kubernetesServiceAccounts: {} }),
      '`kubernetesServiceAccounts` is not a list',
    ],
    ['a text as flag', withCredentials({ nodePodsAccessible: 'yes' }), '`nodePodsAccessible` is not a boolean'],
  ])('with %s is refused', (_, fields, message) => {
    expect(() => decodeImagePulledRecord(textOf('ImagePulledRecord', fields))).toThrow(message);
  });
});
