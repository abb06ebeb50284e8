import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { CredentialProviders } from '../../../src/agent/credential-providers/credential-providers.ts';
import type { CredentialProviderResponse } from '../../../src/agent/credential-providers/exec-plugin.ts';
import { readCredentialProviders } from '../../../src/agent/credential-providers/provider-config.ts';

const hour = 3_600_000;

function configWith(fields: object, more: object = {}) {
  const provider = {
    ...{ name: 'cloud', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', matchImages: ['reg.io'] },
    ...{ defaultCacheDuration: '1h30m0.5s', ...fields },
  };
  return {
    ...{ kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1', providers: [provider] },
    ...more,
  };
}

function newProviders(matchImages: readonly string[], response: Partial<CredentialProviderResponse> = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const asked: string[] = [];
  const failure: { error?: Error } = {};
  const execPlugin = async (_: unknown, image: string): Promise<CredentialProviderResponse> => {
    asked.push(image);
    if (failure.error) throw failure.error;
    return {
      ...{ cacheKeyType: 'Image', cacheDurationMs: undefined },
      auth: [['*.cloud.example', { username: `user-${asked.length}`, password: 'secret' }]],
      ...response,
    };
  };
  const configs = [configWith({ matchImages, defaultCacheDuration: '1h' })];
  const providers = new CredentialProviders({ providers: readCredentialProviders(configs), execPlugin, clock, logger });
  const usersFor = async (image: string) => (await providers.credentialsFor(image)).map(({ username }) => username);
  return { providers, usersFor, asked, failure, clock, logger };
}

describe('a plugin', () => {
  it.each([
    ['*.cloud.example', 'team.cloud.example/app', true],
    ['*.cloud.example', 'cloud.example/app', false],
    ['team.cloud.example/app', 'team.cloud.example/app', true],
    ['team.cloud.example/other', 'team.cloud.example/app', false],
    ['*.cloud.example:5000', 'team.cloud.example/app', false],
  ])('for %s is asked for %s: %s', async (pattern, image, isAsked) => {
    const { usersFor, asked } = newProviders([pattern]);
    expect(await usersFor(image)).toEqual(isAsked ? ['user-1'] : []);
    expect(asked).toEqual(isAsked ? [image] : []);
  });

  it.each([
    ['busybox', 'docker.io/library/busybox'],
    ['user/app:1', 'docker.io/user/app'],
    [`docker.io/app@sha256:${'0'.repeat(64)}`, 'docker.io/library/app'],
    [`reg.io:5000/team/app:1@sha256:${'0'.repeat(64)}`, 'reg.io:5000/team/app'],
    ['localhost/app', 'localhost/app'],
  ])('is asked for the image %s as %s', async (image, repository) => {
    const { usersFor, asked } = newProviders(['docker.io', 'reg.io:5000', 'localhost']);
    await usersFor(image);
    expect(asked).toEqual([repository]);
  });

  it('gives the credentials of all pods, so that no Secret is recorded', async () => {
    const { providers } = newProviders(['*.cloud.example']);
    expect(await providers.credentialsFor('a.cloud.example/app')).toEqual([{ username: 'user-1', password: 'secret' }]);
  });

  it('gives those of the most specific registry first, and none of another', async () => {
    const credentials = (username: string) => ({ username, password: '' });
    const { usersFor } = newProviders(['*.cloud.example'], {
      auth: [
        ['a.cloud.example', credentials('host')],
        ['https://a.cloud.example/team', credentials('team')],
        ['b.cloud.example', credentials('other')],
      ],
    });
    expect(await usersFor('a.cloud.example/team/app')).toEqual(['team', 'host']);
  });

  it.each([
    ['Image', ['a.cloud.example/x', 'a.cloud.example/y', 'b.cloud.example/x']],
    ['Registry', ['a.cloud.example/x', 'b.cloud.example/x']],
    ['Global', ['a.cloud.example/x']],
  ] as const)('is not asked again for what its cacheKeyType %s covers', async (cacheKeyType, expected) => {
    const { usersFor, asked } = newProviders(['*.cloud.example'], { cacheKeyType });
    for (const image of ['a.cloud.example/x', 'a.cloud.example/x', 'a.cloud.example/y', 'b.cloud.example/x'])
      await usersFor(image);
    expect(asked).toEqual(expected);
  });

  it.each([
    ['its response', 2 * hour, 2 * hour],
    ['the configuration', undefined, hour],
  ])('is asked again after the time that %s says', async (_, cacheDurationMs, validMs) => {
    const { usersFor, clock } = newProviders(['*.cloud.example'], { cacheDurationMs });
    await usersFor('a.cloud.example/x');
    clock.advance(validMs);
    expect(await usersFor('a.cloud.example/x')).toEqual(['user-1']);
    clock.advance(1);
    expect(await usersFor('a.cloud.example/x')).toEqual(['user-2']);
  });

  it('is asked each time if its response has the duration 0', async () => {
    const { usersFor } = newProviders(['*.cloud.example'], { cacheDurationMs: 0 });
    await usersFor('a.cloud.example/x');
    expect(await usersFor('a.cloud.example/x')).toEqual(['user-2']);
  });

  it('is asked once by pods that need the image at the same time', async () => {
    const { usersFor, asked } = newProviders(['*.cloud.example'], { cacheDurationMs: 0 });
    await Promise.all([usersFor('a.cloud.example/x'), usersFor('a.cloud.example/x')]);
    expect(asked).toEqual(['a.cloud.example/x']);
  });

  it('keeps the credentials of the last 1,000 images, however many pods ask for', async () => {
    const { usersFor, asked } = newProviders(['*.cloud.example']);
    for (let i = 0; i <= 1000; i++) await usersFor(`a.cloud.example/${i}`);
    asked.length = 0;
    await usersFor('a.cloud.example/1000');
    await usersFor('a.cloud.example/0');
    expect(asked).toEqual(['a.cloud.example/0']);
  });

  it('that fails gives none and is logged, and is asked again', async () => {
    const { usersFor, failure, logger } = newProviders(['*.cloud.example']);
    failure.error = new Error('no network');
    expect(await usersFor('a.cloud.example/x')).toEqual([]);
    expect(logger.lines).toMatchObject([
      { level: 'error', fields: { provider: 'cloud', image: 'a.cloud.example/x', reason: 'no network' } },
    ]);
    delete failure.error;
    expect(await usersFor('a.cloud.example/x')).toEqual(['user-2']);
  });
});

describe('a configuration', () => {
  it('has defaults for arguments and environment', () => {
    expect(readCredentialProviders([configWith({})])).toEqual([
      {
        ...{ name: 'cloud', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', args: [], env: {} },
        ...{ matchImages: [{ host: 'reg.io', path: '' }], defaultCacheDurationMs: 5_400_500 },
      },
    ]);
    const env = [{ name: 'A', value: 'b' }];
    expect(readCredentialProviders([configWith({ args: ['get'], env })])).toMatchObject([
      { args: ['get'], env: { A: 'b' } },
    ]);
  });

  const path = 'credentialProviders.configs[0]';
  const provider = `${path}.providers[0]`;
  it.each<readonly [string, unknown]>([
    [path, 'text'],
    [`${path}.kind`, configWith({}, { kind: 'Config' })],
    [`${path}.apiVersion`, configWith({}, { apiVersion: 'v1' })],
    [`${path}.providers`, configWith({}, { providers: {} })],
    [`${path}.plugins`, configWith({}, { plugins: [] })],
    ['credentialProviders.configs', configWith({}, { providers: [] })],
    ...['', '.', '..', 'a/b', 'a b', 1].map((name) => [`${provider}.name`, configWith({ name })] as const),
    [`${provider}.apiVersion`, configWith({ apiVersion: 'v1' })],
    [`${provider}.matchImages`, configWith({ matchImages: [] })],
    [`${provider}.matchImages`, configWith({ matchImages: undefined })],
    ...['', '1', '1 h', '-1h', 'h', '1h1', 3].map(
      (defaultCacheDuration) => [`${provider}.defaultCacheDuration`, configWith({ defaultCacheDuration })] as const,
    ),
    [`${provider}.args`, configWith({ args: 'get' })],
    [`${provider}.env`, configWith({ env: { A: 'b' } })],
    [`${provider}.env[0].name`, configWith({ env: [{ value: 'b' }] })],
    [`${provider}.env[0].value`, configWith({ env: [{ name: 'A' }] })],
    [`${provider}.tokenAttributes`, configWith({ tokenAttributes: { serviceAccountTokenAudience: 'a' } })],
    [`${provider}.timeout`, configWith({ timeout: '1s' })],
  ])('is refused with the path %s: %j', (expected, config) => {
    expect(() => readCredentialProviders([config])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: expected }) as Error,
    );
  });

  it('is refused if two have a plugin of the same name', () => {
    expect(() => readCredentialProviders([configWith({}), configWith({})])).toThrow('two providers of the name cloud');
  });
});
