import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { describe, expect, it } from 'vitest';
import type { ObjectReader } from '../../../src/node/container-options/api-object-reader.ts';
import { pullCredentials } from '../../../src/node/container-options/pull-credentials.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const entry = (username: string) => ({ auth: base64(`${username}:pass:word`) });

function secretOf(auths: unknown): KubeObject<'Secret'> {
  return {
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) },
  };
}

function oldSecretOf(auths: unknown): KubeObject<'Secret'> {
  return { type: 'kubernetes.io/dockercfg', data: { '.dockercfg': base64(JSON.stringify(auths)) } };
}

/** A pod with these image pull secrets; one that is undefined does not exist. */
function pull(image: string, secrets: Readonly<Record<string, KubeObject<'Secret'> | undefined>>) {
  const objects: ObjectReader = {
    getConfigMap: async () => undefined,
    getSecret: async (namespace, name) => (namespace === 'ns' ? secrets[name] : undefined),
    getServiceAccountToken: async () => '',
  };
  const imagePullSecrets = Object.keys(secrets).map((name) => ({ name }));
  return pullCredentials({ metadata: { namespace: 'ns' }, spec: { imagePullSecrets } }, image, objects);
}

async function usersFor(image: string, secret: KubeObject<'Secret'>): Promise<string[]> {
  const { credentials } = await pull(image, { pull: secret });
  return credentials.map(({ username, password }) => `${username}/${password}`);
}

describe('TestURLsMatch, TestDockerKeyringForGlob: pullCredentials', () => {
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
    ['https://kubernetes.io', 'kubernetes.com', false],
    ['https://*.docker.io/v1/', 'prefix.docker.io', true],
    ['https://reg.io/path', 'reg.io/other', false],
    ['http://reg.io', 'reg.io', true],
    ['reg.io', 'reg.io', true],
    ['reg.io/', 'reg.io', true],
    ['reg.io?x#y', 'reg.io', true],
    ['user:pass@reg.io', 'reg.io', true],
    ['reg.io/v2/path', 'reg.io/path', true],
    ['reg.io/v1', 'reg.io/path', false],
    ['reg.io/pa', 'reg.io/path', true],
    ['reg.io', 'reg.io/v1/path', true],
    ['reg.io/v1/path', 'reg.io/v1/path', false],
    ['registry.example:5000', 'registry.example.5000', false],
    ['registry.example.5000', 'registry.example:5000', false],
    ['registry.example', 'registry.example:5000', false],
    ['registry.*', 'registry.example:5000', false],
    ['registry:5000', 'registry:5000', true],
    ['*:5000', 'registry:5000', true],
    ['[fd00::1]:5000', '[fd00::1]:5000', true],
    ['[fd00::1]:5000', '[fd00::1]:5001', false],
    ['r*g*y.io', 'registry.io', true],
    ['r*g*i*.io', 'registry.io', true],
    ['*i*s*.io', 'registry.io', true],
    ['*s*i*g.io', 'registry.io', false],
    ['re*egistry.io', 'registry.io', false],
    ['x*y.io', 'registry.io', false],
    ['r*x.io', 'registry.io', false],
    ['**.io', 'registry.io', true],
    ['r.gistry.io', 'registry.io', false],
    ['REG.io', 'reg.io', false],
  ])('%s for %s: %s', async (address, registry, matches) => {
    const users = await usersFor(`${registry}/foo/bar:1`, secretOf({ [address]: entry('foo') }));
    expect(users).toEqual(matches ? ['foo/pass:word'] : []);
  });

  it.each(['https://index.docker.io/v1/', 'index.docker.io', 'docker.io'])(
    "TestIsDefaultRegistryMatch: %s is Docker Hub's",
    async (address) => {
      const secret = secretOf({ [address]: entry('hub') });
      for (const image of ['busybox', 'docker.io/library/busybox:1', 'user/app', `user/app@sha256:${'0'.repeat(64)}`])
        expect(await usersFor(image, secret)).toEqual(['hub/pass:word']);
      expect(await usersFor('reg.io/app', secret)).toEqual([]);
      expect(await usersFor('reg:5000/app', secret)).toEqual([]);
    },
  );

  it("does not use Docker Hub's credentials of index.docker.io where others match", async () => {
    const auths = { 'index.docker.io': entry('index'), 'docker.io/user': entry('user') };
    expect(await usersFor('user/app', secretOf(auths))).toEqual(['user/pass:word']);
    expect(await usersFor('other/app', secretOf(auths))).toEqual(['index/pass:word']);
  });

  it('tries the most specific path first, and those of one registry in the order of the secrets', async () => {
    const auths = { 'reg.io': entry('all'), 'reg.io/team/app': entry('app'), 'reg.io/team': entry('team') };
    const { credentials } = await pull('reg.io/team/app:1', {
      first: secretOf(auths),
      second: secretOf({ 'https://reg.io/team': entry('other') }),
    });
    expect(credentials.map(({ username }) => username)).toEqual(['app', 'team', 'other', 'all']);
  });
});

describe('TestDockerConfigEntryJSONDecode: the entries of a Secret', () => {
  it.each([
    [{ username: 'me', password: 'secret' }, 'me/secret'],
    [{ username: 'me', password: 'secret', auth: base64('you:hidden') }, 'you/hidden'],
    [{ username: 'me', password: 'secret', auth: '' }, 'me/secret'],
    [{ auth: base64('you:hidden').replaceAll('=', '') }, 'you/hidden'],
    [{ auth: base64(':') }, '/'],
    [{ username: 'me' }, 'me/'],
    [{ username: null, password: null, auth: null }, '/'],
    [{}, '/'],
    [null, '/'],
  ])('%j has user and password %s', async (one, expected) => {
    expect(await usersFor('reg.io/app', secretOf({ 'reg.io': one }))).toEqual([expected]);
    expect(await usersFor('reg.io/app', oldSecretOf({ 'reg.io': one }))).toEqual([expected]);
  });

  it('are all that is passed on: with the address of the registry, containerd would not use them', async () => {
    const { credentials } = await pull('reg.io/app', {
      pull: secretOf({ 'reg.io': { ...entry('me'), identitytoken: 'x' } }),
    });
    expect(credentials).toMatchObject([{ username: 'me', password: 'pass:word' }]);
    expect(Object.keys(credentials[0]!)).toEqual(['username', 'password', 'secret']);
  });

  it.each<[string, KubeObject<'Secret'>]>([
    ['a text', secretOf({ 'reg.io': 'me' })],
    ['a list', secretOf({ 'reg.io': [] })],
    ['a list of entries', secretOf([entry('me')])],
    ['a number as name', secretOf({ 'reg.io': { username: 7 } })],
    ['an auth that is not base64', secretOf({ 'reg.io': { auth: 'me:secret' } })],
    ['an auth without password', secretOf({ 'reg.io': { auth: base64('me') } })],
    ['no JSON', { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64('{"me": secret') } }],
    ['a list in the old format', oldSecretOf([])],
  ])('%s fails the pull with a message that does not quote it', async (_name, secret) => {
    await expect(pull('reg.io/app', { pull: secret })).rejects.toThrow(
      /^the image pull secret "pull" has an invalid configuration$/,
    );
  });

  it.each<[string, KubeObject<'Secret'>]>([
    ['of another type', { ...secretOf({ 'reg.io': entry('me') }), type: 'Opaque' }],
    [
      'with the key of the other format',
      { ...oldSecretOf({ 'reg.io': entry('me') }), type: 'kubernetes.io/dockerconfigjson' },
    ],
    ['without data', { type: 'kubernetes.io/dockerconfigjson' }],
    ['with an empty configuration', { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': '' } }],
    ['without entries', secretOf(null)],
  ])('a Secret %s has none', async (_name, secret) => {
    expect(await pull('reg.io/app', { pull: secret })).toEqual({ credentials: [], missingSecrets: [] });
  });
});

describe('secrets that cannot be read', () => {
  it('are named, each once, and do not hide the others', async () => {
    const secrets = { gone: undefined, '': undefined, pull: secretOf({ 'reg.io': entry('me') }), away: undefined };
    const { credentials, missingSecrets } = await pull('reg.io/app', secrets);
    expect(credentials).toHaveLength(1);
    expect(missingSecrets).toEqual(['gone', 'away']);
  });

  it('are all, without an API server or if it does not respond; each is read once', async () => {
    const imagePullSecrets = [{ name: 'a' }, { name: 'a' }, {}];
    const pod = { metadata: { namespace: 'ns' }, spec: { imagePullSecrets } };
    expect(await pullCredentials(pod, 'app', undefined)).toEqual({ credentials: [], missingSecrets: ['a'] });
    const asked: string[] = [];
    const getSecret: ObjectReader['getSecret'] = async (_namespace, name) => {
      asked.push(name);
      throw new Error('the API server does not respond');
    };
    const objects = { getSecret } as ObjectReader;
    expect(await pullCredentials(pod, 'app', objects)).toEqual({ credentials: [], missingSecrets: ['a'] });
    expect(asked).toEqual(['a']);
  });

  it('a pod without imagePullSecrets has no credentials', async () => {
    expect(await pullCredentials({}, 'app', undefined)).toEqual({ credentials: [], missingSecrets: [] });
  });
});

describe('what a hostile Secret or image says is read in linear time', () => {
  it.each([
    ['many wildcards', `${'*a'.repeat(200_000)}b.io`, 'a'.repeat(250)],
    ['wildcards without text', `${'*'.repeat(400_000)}b.io`, 'a'.repeat(250)],
    ['slashes', `${'/'.repeat(400_000)}a`, 'a'],
    ['dots', '*.'.repeat(200_000), 'a'],
    ['at signs', '@'.repeat(400_000), 'a'],
  ])('a registry of %s', async (_name, address, host) => {
    expect(await usersFor(`${host}.io/app`, secretOf({ [address]: entry('me') }))).toEqual([]);
  });

  it('a host of a megabyte', async () => {
    const host = `${'a'.repeat(500_000)}.io`;
    expect(await usersFor(`${host}/app`, secretOf({ [`*${'a'.repeat(250_000)}b*.io`]: entry('me') }))).toEqual([]);
  });

  it('a password of zero bytes', async () => {
    const password = `${'\0'.repeat(500_000)}x`;
    const users = await usersFor('reg.io/app', secretOf({ 'reg.io': { auth: base64(`me:${password}`) } }));
    expect(users).toEqual([`me/${password}`]);
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
    const secret: KubeObject<'Secret'> = { ...secretOf({ 'reg.io': auth }), metadata: { uid: 'u' } };
    const { credentials } = await pull('reg.io/app', { pull: secret });
    expect(credentials[0]?.secret).toEqual({ uid: 'u', namespace: 'ns', name: 'pull', credentialHash });
  });
});
