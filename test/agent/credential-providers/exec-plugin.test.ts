import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRuntimeHelper } from 'kubelet-status-manager/agent';
import { recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { execPlugin } from '../../../src/agent/credential-providers/exec-plugin.ts';
import type { CredentialProvider } from '../../../src/agent/credential-providers/provider-config.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const response = {
  ...{ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry', cacheDuration: '6h' },
  auth: { 'reg.io': { username: 'me', password: 'secret' } },
};
const provider: CredentialProvider = {
  ...{ name: 'cloud', apiVersion, matchImages: [], defaultCacheDurationMs: 0 },
  ...{ args: ['get', 'it'], env: { REGION: 'north' } },
};

let binDirectory: string;
beforeEach(() => void (binDirectory = directories.create()));

async function writePlugin(script: string): Promise<void> {
  await writeFile(join(binDirectory, 'cloud'), `#!/bin/sh\ncd "$(dirname "$0")"\n${script}\n`);
  await chmod(join(binDirectory, 'cloud'), 0o755);
}
const answer = (value: unknown) => `cat >request\ncat <<'END'\n${JSON.stringify(value)}\nEND`;
const run = (clock: Parameters<typeof execPlugin>[2]['clock'] = systemClock) =>
  execPlugin(provider, 'reg.io/app', { binDirectory, clock, signal: new AbortController().signal });
/** What keeps this process alive because of a child process. */
const openHandles = () => process.getActiveResourcesInfo().filter((name) => /^(Process|Pipe)Wrap$/.test(name)).length;
const before = openHandles();

describe('a plugin', () => {
  it('gets the request, its arguments and its environment, and its response is read', async () => {
    await writePlugin(`echo "$@ $REGION \${PATH:+path}" >arguments\n${answer(response)}`);
    expect(await run()).toEqual({
      ...{ cacheKeyType: 'Registry', cacheDurationMs: 21_600_000 },
      auth: [['reg.io', { username: 'me', password: 'secret' }]],
    });
    expect(await readFile(join(binDirectory, 'request'), 'utf8')).toBe(
      `{"kind":"CredentialProviderRequest","apiVersion":"${apiVersion}","image":"reg.io/app"}\n`,
    );
    expect(await readFile(join(binDirectory, 'arguments'), 'utf8')).toBe('get it north path\n');
  });

  it('that does not read its request is no failure', async () => {
    await writePlugin(`exec <&-\n${answer(response).replace('cat >request\n', '')}`);
    expect(await run()).toMatchObject({ cacheKeyType: 'Registry' });
  });

  it('that fails says why on standard error', async () => {
    await writePlugin('echo secret\necho "access denied" >&2\nexit 3');
    await expect(run()).rejects.toThrow(/cloud failed \(3\): access denied$/);
  });

  it('that prints more than 1 MiB is killed', async () => {
    await writePlugin('exec yes');
    await expect(run()).rejects.toThrow('ERR_CHILD_PROCESS_STDIO_MAXBUFFER');
  });

  it('that hangs is killed after a minute', async () => {
    await writePlugin('exec sleep 1000');
    let passTime: (() => void) | undefined;
    const clock = {
      afterFunc: (_ms: number, callback: () => void) => {
        passTime = callback;
        return { stop: () => true };
      },
    };
    const running = run(clock as object as Parameters<typeof run>[0]);
    passTime!();
    await expect(running).rejects.toThrow('the credential provider cloud took over 60000 ms');
  });

  it.each([
    ['no JSON', 'text'],
    ['of another version', { ...response, apiVersion: 'credentialprovider.kubelet.k8s.io/v2' }],
    ['of another kind', { ...response, kind: 'Secret' }],
    ['with another cacheKeyType', { ...response, cacheKeyType: 'Pod' }],
    ['with a malformed duration', { ...response, cacheDuration: 'long' }],
    ['with a list as auth', { ...response, auth: [] }],
    ['with malformed credentials', { ...response, auth: { 'reg.io': { username: 1, password: 'secret' } } }],
    ['with null as credentials', { ...response, auth: { 'reg.io': null } }],
  ])('whose response is %s fails without showing it', async (_, value) => {
    await writePlugin(answer(value));
    await expect(run()).rejects.toThrow(/^(?!.*secret).*response/);
  });

  it('may have no credentials, and leave the duration to the configuration', async () => {
    const { auth: _auth, cacheDuration: _duration, ...rest } = response;
    await writePlugin(answer(rest));
    expect(await run()).toEqual({ cacheKeyType: 'Registry', cacheDurationMs: undefined, auth: [] });
  });
});

describe('createRuntimeHelper', () => {
  const configs = [
    {
      ...{ kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1' },
      providers: [{ name: 'cloud', apiVersion, matchImages: ['reg.io'], defaultCacheDuration: '0s' }],
    },
  ];

  it('pulls with the credentials of a plugin', async () => {
    await writePlugin(answer(response));
    const helper = createRuntimeHelper({ credentialProviders: { configs, binDirectory }, logger: silentLogger });
    const pod = { metadata: { uid: 'u', name: 'web', namespace: 'ns' } };
    const { credentials } = await helper.pullCredentials(pod, 'reg.io/app:1');
    expect(credentials).toEqual([{ username: 'me', password: 'secret' }]);
    await helper.close();
  });

  it('kills a plugin that runs when it is closed, and does not wait for what the plugin has started', async () => {
    await writePlugin('sleep 1000 &\necho $! >started.tmp\nmv started.tmp started\nwait');
    const logger = recordingLogger();
    const helper = createRuntimeHelper({ credentialProviders: { configs, binDirectory }, logger });
    const pulling = helper.pullCredentials({ metadata: { uid: 'u', name: 'web', namespace: 'ns' } }, 'reg.io/app:1');
    const started = join(binDirectory, 'started');
    await expect.poll(() => existsSync(started)).toBe(true);
    try {
      await helper.close();
      expect((await pulling).credentials).toEqual([]);
      await expect.poll(openHandles).toBe(before);
    } finally {
      process.kill(Number(await readFile(started, 'utf8')));
    }
    expect(logger.errors.map(({ fields }) => fields['reason'])).toEqual(['the runtime helper was closed']);
  });

  it.each([
    ['credentialProviders.binDirectory', { configs, binDirectory: 'bin' }],
    ['credentialProviders.binDirectory', { configs, binDirectory: '/nonexistent' }],
    ['credentialProviders.configs', { configs: {}, binDirectory: '/' }],
    ['credentialProviders.config', { config: configs, binDirectory: '/' }],
  ])('refuses %s: %j', (path, credentialProviders) => {
    const create = () => createRuntimeHelper({ credentialProviders } as object);
    expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }) as Error);
  });
});
