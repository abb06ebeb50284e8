import { describe, expect, it } from 'vitest';
import type { ObjectReader } from '../../../src/node/container-options/api-object-reader.ts';
import { collectPayload } from '../../../src/node/volumes/volume-payload.ts';
import type { Volume } from '../../../src/node/volumes/volume-sources.ts';
import { podScope } from '../../support/pod-scope.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const objects: ObjectReader = {
  getConfigMap: async (_namespace, name) =>
    name === 'map' ? { data: { foo: 'foo', bar: 'bar' }, binaryData: { bin: base64('\u0001') } } : undefined,
  getSecret: async (_namespace, name) => (name === 'keys' ? { data: { foo: base64('hidden') } } : undefined),
  getServiceAccountToken: async (_pod, { audience = 'api' }) => `token for ${audience}`,
};
const pod = { metadata: { name: 'pod', namespace: 'ns', labels: { a: '1' } }, spec: { containers: [{ name: 'app' }] } };
const allocatable = { memory: '1Gi' };

async function filesOf(volume: Omit<Volume, 'name'>, spec: object = {}) {
  const onePod = { ...pod, spec: { ...pod.spec, ...spec } };
  const payload = await collectPayload(onePod, { name: 'volume', ...volume }, podScope(), { objects, allocatable });
  return Object.fromEntries(
    [...payload].map(([path, { data, ...rest }]) => [path, { text: data.toString(), ...rest }]),
  );
}

describe('TestMakePayload: collectPayload', () => {
  it('no overrides', async () => {
    const files = await filesOf({ configMap: { name: 'map', defaultMode: 0o400 } });
    expect(files).toEqual({
      foo: { text: 'foo', mode: 0o400 },
      bar: { text: 'bar', mode: 0o400 },
      bin: { text: '\u0001', mode: 0o400 },
    });
  });

  it('mapping with Mode', async () => {
    const items = [
      { key: 'foo', path: 'path/1', mode: 0o400 },
      { key: 'bar', path: './path/2' },
    ];
    expect(await filesOf({ configMap: { name: 'map', items } })).toEqual({
      'path/1': { text: 'foo', mode: 0o400 },
      'path/2': { text: 'bar', mode: 0o644 },
    });
  });

  it.each([
    ['a ConfigMap that does not exist', { configMap: { name: 'none' } }, 'configmap "none" not found'],
    ['a Secret that does not exist', { secret: { secretName: 'none' } }, 'secret "none" not found'],
    [
      'non existent key',
      { configMap: { name: 'map', items: [{ key: 'zab', path: 'x' }] } },
      'configmap references non-existent config key: zab',
    ],
    [
      'non existent key of a Secret',
      { secret: { secretName: 'keys', items: [{ key: 'zab', path: 'x' }] } },
      'references non-existent secret key: zab',
    ],
    [
      'a path outside of the volume',
      { configMap: { name: 'map', items: [{ key: 'foo', path: '../x' }] } },
      'invalid path',
    ],
    ['an absolute path', { configMap: { name: 'map', items: [{ key: 'foo', path: '/x' }] } }, 'invalid path'],
    ['an empty path', { configMap: { name: 'map', items: [{ key: 'foo', path: '' }] } }, 'invalid path'],
    [
      'a path that begins like a name of the writer',
      { configMap: { name: 'map', items: [{ key: 'foo', path: '..data' }] } },
      "invalid path: must be relative and not contain '..': ..data",
    ],
    [
      'a path whose end leads out',
      { projected: { sources: [{ serviceAccountToken: { path: 'a/../../x' } }] } },
      "invalid path: must be relative and not contain '..': a/../../x",
    ],
    [
      'a path that is too long',
      { configMap: { name: 'map', items: [{ key: 'foo', path: 'a/'.repeat(2049) }] } },
      'invalid path: must be less than or equal to 4096 characters',
    ],
    [
      'a source of another kind',
      { projected: { sources: [{ podCertificate: {} }] } },
      'podCertificate is not supported',
    ],
  ])('refuses %s', async (_what, volume, message) => {
    await expect(filesOf(volume as object)).rejects.toThrow(message);
  });

  it('mapping with optional non existent key', async () => {
    const items = [{ key: 'zab', path: 'x' }];
    expect(await filesOf({ configMap: { name: 'map', optional: true, items } })).toEqual({});
    expect(await filesOf({ secret: { secretName: 'none', optional: true } })).toEqual({});
  });

  it('an optional object that does not exist has no files, also where keys are mapped', async () => {
    const items = [{ key: 'foo', path: 'x' }];
    expect(await filesOf({ configMap: { name: 'none', optional: true } })).toEqual({});
    expect(await filesOf({ secret: { secretName: 'none', optional: true, items } })).toEqual({});
  });

  it('an object without data has no files', async () => {
    const empty: ObjectReader = { ...objects, getConfigMap: async () => ({}), getSecret: async () => ({}) };
    for (const volume of [{ configMap: { name: 'map' } }, { secret: { secretName: 'keys' } }]) {
      const payload = await collectPayload(pod, { name: 'volume', ...volume }, podScope(), {
        objects: empty,
        allocatable,
      });
      expect(payload.size).toBe(0);
    }
  });

  it('reads the objects of the namespace of the pod', async () => {
    const asked: string[] = [];
    const recording: ObjectReader = {
      ...objects,
      getConfigMap: async (namespace, name) => (asked.push(`${namespace}/${name}`), {}),
      getSecret: async (namespace, name) => (asked.push(`${namespace}/${name}`), {}),
    };
    const projected = { sources: [{ configMap: { name: 'map' } }, { secret: { name: 'keys' } }] };
    await collectPayload(pod, { name: 'volume', projected }, podScope(), { objects: recording, allocatable });
    expect(asked).toEqual(['ns/map', 'ns/keys']);
  });

  it('without an API server, has only what the pod itself says', async () => {
    const sources = { objects: undefined, allocatable };
    const downwardAPI = {
      items: [
        { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
        { path: 'nothing', mode: 0o400 },
      ],
    };
    const payload = await collectPayload(pod, { name: 'volume', downwardAPI }, podScope(), sources);
    expect([...payload].map(([path, { data, mode }]) => [path, data.toString(), mode])).toEqual([
      ['name', 'pod', 0o644],
      ['nothing', '', 0o400],
    ]);
    await expect(
      collectPayload(pod, { name: 'volume', configMap: { name: 'map' } }, podScope(), sources),
    ).rejects.toThrow('cannot set up the volume because kube client is not configured');
  });

  it('a later source of a projected volume replaces a file of an earlier one; one without sources has no files', async () => {
    const sources = [{ configMap: { name: 'map' } }, { secret: { name: 'keys' } }];
    const files = await filesOf({ projected: { sources, defaultMode: 0o440 } });
    expect(files['foo']).toEqual({ text: 'hidden', mode: 0o440 });
    expect(Object.keys(files)).toEqual(['foo', 'bar', 'bin']);
    expect(await filesOf({ projected: {} })).toEqual({});
  });

  it('has the mode of the volume for files without one of their own', async () => {
    const items = [{ key: 'foo', path: 'x', mode: 0o400 }];
    expect(await filesOf({ secret: { secretName: 'keys', defaultMode: 0o440 } })).toEqual({
      foo: { text: 'hidden', mode: 0o440 },
    });
    expect(await filesOf({ secret: { secretName: 'keys', defaultMode: 0o440, items } })).toEqual({
      x: { text: 'hidden', mode: 0o400 },
    });
    const downward = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
    expect(await filesOf({ downwardAPI: { defaultMode: 0o440, items: downward } })).toEqual({
      name: { text: 'pod', mode: 0o440 },
    });
  });

  it('has the files of all sources of a projected volume', async () => {
    const sources = [
      { secret: { name: 'keys' } },
      {
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'memory', resourceFieldRef: { containerName: 'app', resource: 'limits.memory', divisor: '1Mi' } },
          ],
        },
      },
      { serviceAccountToken: { path: 'token', audience: 'vault' } },
    ];
    expect(await filesOf({ projected: { sources } })).toEqual({
      foo: { text: 'hidden', mode: 0o644 },
      labels: { text: 'a="1"', mode: 0o644 },
      memory: { text: '1024', mode: 0o644 },
      token: { text: 'token for vault', mode: 0o644, uid: undefined },
    });
  });

  it('lets only the user of all containers, or the group of the volumes, read a token', async () => {
    const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const token = { text: 'token for api' };
    const asUser = { securityContext: { runAsUser: 1000 } };
    expect(await filesOf({ projected }, asUser)).toEqual({ token: { ...token, mode: 0o600, uid: 1000 } });
    const asGroup = { securityContext: { fsGroup: 2000 } };
    expect(await filesOf({ projected }, asGroup)).toEqual({ token: { ...token, mode: 0o600, uid: undefined } });
  });

  it.each<[string, object, object]>([
    ['all containers', { containers: [{ name: 'a' }, { name: 'b' }] }, { mode: 0o600, uid: 1000 }],
    [
      'the containers themselves, which win over the pod',
      { containers: [{ name: 'a', securityContext: { runAsUser: 5 } }] },
      { mode: 0o600, uid: 5 },
    ],
    [
      'not all containers',
      { containers: [{ name: 'a' }, { name: 'b', securityContext: { runAsUser: 5 } }] },
      { mode: 0o644, uid: undefined },
    ],
    [
      'not the init containers',
      { initContainers: [{ name: 'i', securityContext: { runAsUser: 5 } }], containers: [{ name: 'a' }] },
      { mode: 0o644, uid: undefined },
    ],
    [
      'not the ephemeral containers',
      { containers: [{ name: 'a' }], ephemeralContainers: [{ name: 'e', securityContext: { runAsUser: 5 } }] },
      { mode: 0o644, uid: undefined },
    ],
  ])('TestGetFsUser: a token belongs to the user only of %s', async (_name, spec, expected) => {
    const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const files = await filesOf({ projected }, { securityContext: { runAsUser: 1000 }, ...spec });
    expect(files['token']).toEqual({ text: 'token for api', ...expected });
  });
});
