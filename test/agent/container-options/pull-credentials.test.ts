import { describe, expect, it } from 'vitest';
import type { ObjectReader } from '../../../src/agent/container-options/object-reader.ts';
import { pullCredentials } from '../../../src/agent/container-options/pull-credentials.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const entry = (username: string) => ({ auth: base64(`${username}:pass:word`) });

async function usersFor(image: string, auths: Record<string, object>, key = '.dockerconfigjson') {
  const config = key === '.dockercfg' ? auths : { auths };
  const objects: ObjectReader = {
    getConfigMap: async () => undefined,
    getSecret: async (_namespace, name) =>
      name === 'pull' ? { data: { [key]: base64(JSON.stringify(config)) } } : undefined,
    getServiceAccountToken: async () => '',
  };
  const pod = {
    metadata: { namespace: 'ns' },
    spec: { imagePullSecrets: [{}, { name: 'missing' }, { name: 'pull' }] },
  };
  const found = await pullCredentials(pod, image, objects);
  return found.map(({ username, password }) => `${username}/${password}`);
}

describe('TestDockerKeyringForGlob: pullCredentials', () => {
  it.each([
    ['https://hello.kubernetes.io', 'hello.kubernetes.io', true],
    ['https://*.docker.io', 'prefix.docker.io', true],
    ['https://prefix.*.io', 'prefix.docker.io', true],
    ['https://prefix.docker.*', 'prefix.docker.io', true],
    ['https://*.docker.io/path', 'prefix.docker.io/path', true],
    ['https://prefix.docker.io/path', 'other.docker.io/path', false],
    ['https://*.docker.io:8888', 'prefix.docker.io:8888', true],
    ['https://*.docker.io:8888', 'prefix.docker.io:1111', false],
    ['https://*.kubernetes.io', 'kubernetes.io', false],
    ['https://*.docker.io/v1/', 'prefix.docker.io', true],
    ['https://reg.io/path', 'reg.io/other', false],
  ])('%s for %s: %s', async (address, registry, matches) => {
    expect(await usersFor(`${registry}/foo/bar:1`, { [address]: entry('foo') })).toEqual(
      matches ? ['foo/pass:word'] : [],
    );
  });

  it.each(['busybox', 'docker.io/library/busybox:1', 'user/app@sha256:0123'])(
    "TestDockerKeyringLookup: has Docker Hub's credentials for %s",
    async (image) => {
      expect(await usersFor(image, { 'https://index.docker.io/v1/': entry('hub') })).toEqual(['hub/pass:word']);
    },
  );

  it('tries the most specific path first', async () => {
    const auths = { 'reg.io': entry('all'), 'reg.io/team/app': entry('app'), 'reg.io/team': entry('team') };
    const users = await usersFor('reg.io/team/app:1', auths);
    expect(users).toEqual(['app/pass:word', 'team/pass:word', 'all/pass:word']);
  });

  it('reads the old format, and user and password without auth', async () => {
    const auths = { 'reg.io': { username: 'me', password: 'secret' } };
    expect(await usersFor('reg.io/app', auths, '.dockercfg')).toEqual(['me/secret']);
  });

  it('ignores a Secret that is not a configuration', async () => {
    const objects = { getSecret: async () => ({ data: { '.dockerconfigjson': base64('{') } }) };
    const pod = { metadata: { namespace: 'ns' }, spec: { imagePullSecrets: [{ name: 'pull' }] } };
    expect(await pullCredentials(pod, 'app', objects as unknown as ObjectReader)).toEqual([]);
  });

  it.each([
    [entry('foo'), 'e38c251f6cc07090d86953a8148409d4376d6c257af1946342745a7db423c4c3'],
    [
      { username: 'foo', password: 'a<b>&c\u2028"é', email: 'x@y' },
      'df10df8a3d109c98a3d23b06b4aa2102f50a1c7597386f68f23e784f24c107cc',
    ],
    [{}, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'],
    [null, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'],
  ])('says which Secret %j is from, with the hash of a kubelet', async (auth, credentialHash) => {
    const data = { '.dockerconfigjson': base64(JSON.stringify({ auths: { 'reg.io': auth } })) };
    const objects = { getSecret: async () => ({ metadata: { uid: 'u' }, data }) } as object as ObjectReader;
    const pod = { metadata: { namespace: 'ns' }, spec: { imagePullSecrets: [{ name: 'pull' }] } };
    const [found] = await pullCredentials(pod, 'reg.io/app', objects);
    expect(found?.secret).toEqual({ uid: 'u', namespace: 'ns', name: 'pull', credentialHash });
  });
});
