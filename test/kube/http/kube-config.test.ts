import { describe, expect, it } from 'vitest';
import { inClusterConfig, type KubeConfigObject, type KubeConfigSource } from '../../../src/kube/http/index.ts';
import { resolveKubeConfig } from '../../../src/kube/http/kube-config.ts';

const exec = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'bin/login',
  args: ['-v', 7, 'x'],
  env: [{ name: 'A', value: '1' }, { name: 'B' }],
  installHint: 'install it',
  provideClusterInfo: true,
  interactiveMode: 'Never',
};
const readExec = { ...exec, args: ['-v', 'x'], env: [exec.env[0], { name: 'B', value: '' }] };

function plain(user: object | null | undefined = {}, cluster: object = {}, context: object = {}): KubeConfigObject {
  return {
    clusters: [
      { name: 'other', cluster: { server: 'https://other' } },
      { name: 'c', cluster: { server: 'https://k', ...cluster } },
    ],
    users: [
      { name: 'other', user: { token: 'other' } },
      { name: 'u', user },
    ],
    contexts: [
      { name: 'other', context: { cluster: 'other', user: 'other' } },
      { name: 'x', context: { cluster: 'c', user: 'u', ...context } },
    ],
    'current-context': 'x',
  };
}
const userOf = (user: object | null | undefined, directory = '/etc/kube') =>
  resolveKubeConfig(plain(user), directory).user();
const clusterOf = (cluster: object) => resolveKubeConfig(plain({}, cluster), '/etc/kube').cluster();

/** A `KubeConfig` of client-node. */
function clientNode(user: object | null, cluster: object = {}, more: object = {}): KubeConfigSource {
  return {
    getCurrentCluster: () => ({ server: 'https://k', ...cluster }),
    getCurrentUser: () => user,
    ...more,
  };
}
const clientNodeUser = (user: object | null, more: object = {}) =>
  resolveKubeConfig(clientNode(user, {}, more), '/ignored').user();

describe('the cluster of a kubeconfig', () => {
  it('is that of the current context, with defaults', () => {
    expect(clusterOf({})).toEqual({ server: 'https://k', skipTLSVerify: false, disableCompression: false });
  });

  it('has all its fields; files are relative to the kubeconfig', () => {
    const extensions = [
      { name: 'other', extension: 1 },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } },
    ];
    expect(
      clusterOf({
        ...{ 'certificate-authority-data': 'Q0E=', 'certificate-authority': 'ca.crt', 'tls-server-name': 'name' },
        ...{ 'insecure-skip-tls-verify': true, 'proxy-url': 'http://p', 'disable-compression': true, extensions },
      }),
    ).toEqual({
      ...{ server: 'https://k', caData: 'Q0E=', caFile: '/etc/kube/ca.crt', tlsServerName: 'name' },
      ...{ skipTLSVerify: true, proxyUrl: 'http://p', disableCompression: true, execExtension: { audience: 'a' } },
    });
  });

  it.each([
    ['insecure-skip-tls-verify', 'true', 'skipTLSVerify', false],
    ['disable-compression', 'true', 'disableCompression', false],
    ['certificate-authority', '', 'caFile', undefined],
    ['certificate-authority', '/abs/ca.crt', 'caFile', '/abs/ca.crt'],
    ['tls-server-name', 7, 'tlsServerName', undefined],
    ['extensions', { name: 'x' }, 'execExtension', undefined],
  ])('%s: %j does not disable what protects the connection, and is no file', (field, value, name, expected) => {
    expect(clusterOf({ [field]: value })).toHaveProperty(name, expected);
  });

  it('of client-node has the same fields, whose empty texts are absent', () => {
    const empty = { caData: '', caFile: '', tlsServerName: '', proxyUrl: '' };
    const cluster = (fields: object) => resolveKubeConfig(clientNode({}, fields), '/ignored').cluster();
    const defaults = { server: 'https://k', skipTLSVerify: false, disableCompression: false };
    expect(cluster(empty)).toEqual(defaults);
    const all = { caData: 'Q0E=', caFile: 'ca.crt', tlsServerName: 'name', proxyUrl: 'http://p', skipTLSVerify: true };
    expect(cluster(all)).toEqual({ ...defaults, ...all });
    expect(() => cluster({ server: '' })).toThrow('Expected `kubeConfig.cluster.server` to be a non-empty string');
  });

  it('is read each time, so that a changed configuration takes effect', () => {
    let server = 'https://a';
    const config = { getCurrentCluster: () => ({ server }), getCurrentUser: () => ({ token: server }) };
    const resolved = resolveKubeConfig(config, '');
    expect([resolved.cluster().server, resolved.user().token]).toEqual(['https://a', 'https://a']);
    server = 'https://b';
    expect([resolved.cluster().server, resolved.user().token]).toEqual(['https://b', 'https://b']);
  });
});

describe('the user of a kubeconfig', () => {
  it('has all its fields; files are relative to the kubeconfig', () => {
    const user = {
      ...{ token: 't', tokenFile: 'token', username: 'ann', password: 'p' },
      ...{ 'client-certificate-data': 'Q0VSVA==', 'client-certificate': 'a.crt' },
      ...{ 'client-key-data': 'S0VZ', 'client-key': '/abs/a.key' },
    };
    expect(userOf(user)).toEqual({
      ...{ token: 't', tokenFile: '/etc/kube/token', username: 'ann', password: 'p' },
      ...{ certData: 'Q0VSVA==', certFile: '/etc/kube/a.crt', keyData: 'S0VZ', keyFile: '/abs/a.key' },
    });
  });

  it.each([undefined, null, {}])('%j has no credentials', (user) => {
    expect(userOf(user)).toEqual({});
  });

  it('is nobody without a user in the context', () => {
    expect(resolveKubeConfig(plain({}, {}, { user: undefined }), '').user()).toEqual({});
  });

  it('may run a plugin: a path is relative to the kubeconfig, a name is looked up', () => {
    expect(userOf({ exec }).exec).toEqual({ ...readExec, command: '/etc/kube/bin/login' });
    expect(userOf({ exec: { command: 'login' } }).exec).toEqual({
      ...{ command: 'login', args: [], env: [], provideClusterInfo: false },
    });
    expect(userOf({ exec: { command: 'login', provideClusterInfo: 'yes', args: 'x', env: {} } }).exec).toEqual({
      ...{ command: 'login', args: [], env: [], provideClusterInfo: false },
    });
  });

  it.each([
    [{}, 'Expected `kubeConfig.users[].user.exec.command` to be a non-empty string'],
    [{ command: 7 }, 'Expected `kubeConfig.users[].user.exec.command` to be a non-empty string'],
    [
      { command: 'x', env: [{ value: 'secret' }] },
      'Expected `kubeConfig.users[].user.exec.env[].name` to be a non-empty',
    ],
    [{ command: 'x', env: [null] }, 'Expected `kubeConfig.users[].user.exec.env[].name` to be a non-empty string'],
  ])('is refused with the plugin %j', (plugin, message) => {
    expect(() => userOf({ exec: plugin })).toThrow(message);
    expect(() => userOf({ exec: plugin })).not.toThrow('secret');
  });

  it('of an old auth provider may have a plugin or a token file', () => {
    const provider = (config: object) => ({ 'auth-provider': { name: 'gcp', config } });
    expect(userOf(provider({ exec: { command: 'login' } })).exec?.command).toBe('login');
    expect(userOf(provider({ tokenFile: 'token' })).tokenFile).toBe('/etc/kube/token');
    expect(() => userOf(provider({}))).toThrow(
      "Expected `kubeConfig.users[].user.auth-provider` not to need the legacy auth provider `gcp` (use an exec credential plugin, or pass client-node's KubeConfig)",
    );
    expect(() => userOf({ 'auth-provider': {} })).toThrow('the legacy auth provider ``');
  });

  it('may be impersonated', () => {
    const user = { as: 'bob', 'as-uid': 'u', 'as-groups': ['g', 7], 'as-user-extra': { scope: ['a', 'b'] } };
    expect(userOf(user).impersonate).toEqual({ user: 'bob', uid: 'u', groups: ['g'], extra: { scope: ['a', 'b'] } });
    expect(userOf({ as: 'bob' }).impersonate).toEqual({ user: 'bob', uid: undefined, groups: [], extra: {} });
    expect(userOf({ 'as-groups': [], 'as-user-extra': {} }).impersonate).toBeUndefined();
  });

  it.each([{ 'as-uid': 'u' }, { 'as-groups': ['g'] }, { 'as-user-extra': { scope: [] } }])(
    'is refused with %j, as the request would be one of another user',
    (user) => {
      expect(() => userOf(user)).toThrow(
        'Expected `kubeConfig.users[].user.as` to be set where `as-uid`, `as-groups` or `as-user-extra` is',
      );
    },
  );

  it.each([
    ['context', { contexts: undefined }, 'Expected `kubeConfig.contexts` to hold the current context `x`'],
    ['cluster', { clusters: undefined }, "Expected `kubeConfig.clusters` to hold the current context's cluster `c`"],
    ['user', { users: undefined }, "Expected `kubeConfig.users` to hold the current context's user `u`"],
    ['current-context', { 'current-context': '' }, 'Expected `kubeConfig.current-context` to be a non-empty string'],
    [
      'name of the cluster',
      { contexts: [{ name: 'x', context: {} }] },
      'Expected `kubeConfig.contexts[].context.cluster` to be a non-empty string',
    ],
  ])('a kubeconfig without the %s is refused', (_name, fields, message) => {
    const resolved = resolveKubeConfig({ ...plain(), ...fields }, '');
    expect(() => [resolved.user(), resolved.cluster()]).toThrow(message);
  });
});

describe('the user of client-node', () => {
  it('has the same fields, whose empty texts are absent', () => {
    const fields = ['token', 'username', 'password', 'certData', 'certFile', 'keyData', 'keyFile'];
    const user = (value: string) => Object.fromEntries(fields.map((name) => [name, value]));
    expect(clientNodeUser(user('v'))).toEqual({ isOfClientNode: true, ...user('v') });
    expect(clientNodeUser(user(''))).toEqual({ isOfClientNode: true });
    expect(clientNodeUser(null)).toEqual({ isOfClientNode: true });
  });

  it('may run a plugin, whose path client-node has resolved', () => {
    expect(clientNodeUser({ exec }).exec).toEqual(readExec);
    expect(clientNodeUser({ authProvider: { name: 'x', config: { exec } } }).exec).toEqual(readExec);
  });

  it('has the token file of its auth provider, unless it has a token', () => {
    const authProvider = { name: 'tokenFile', config: { tokenFile: '/var/token' } };
    expect(clientNodeUser({ authProvider })).toEqual({ isOfClientNode: true, tokenFile: '/var/token' });
    expect(clientNodeUser({ authProvider, token: 't' })).toEqual({ isOfClientNode: true, token: 't' });
  });

  it('may be impersonated', () => {
    expect(clientNodeUser({ impersonateUser: 'bob' }).impersonate).toEqual({
      ...{ user: 'bob', groups: [], extra: {} },
    });
    expect(clientNodeUser({ impersonateUser: '' }).impersonate).toBeUndefined();
  });

  it('of an auth provider or an authenticator of the caller has the credentials that client-node gives', async () => {
    const applyToHTTPSOptions = async (options: { headers: Record<string, string>; cert?: string; key?: string }) => {
      options.headers['Authorization'] = 'Bearer gcp';
      [options.cert, options.key] = ['CERT', 'KEY'];
    };
    const credentials = { authorization: 'Bearer gcp', cert: 'CERT', key: 'KEY' };
    for (const user of [
      clientNodeUser({ authProvider: { name: 'gcp', config: {} } }, { applyToHTTPSOptions }),
      clientNodeUser({ authProvider: { name: 'gcp' } }, { applyToHTTPSOptions }),
      clientNodeUser({}, { applyToHTTPSOptions, custom_authenticators: [{}] }),
    ])
      expect(await user.delegate!()).toEqual(credentials);
    for (const user of [
      clientNodeUser({}, { applyToHTTPSOptions, custom_authenticators: [] }),
      clientNodeUser({}, { applyToHTTPSOptions, custom_authenticators: {} }),
      clientNodeUser({ authProvider: { name: 'x', config: { exec } } }, { applyToHTTPSOptions }),
      clientNodeUser({ authProvider: { name: 'x', config: { tokenFile: 'f' } } }, { applyToHTTPSOptions }),
    ])
      expect(user.delegate).toBeUndefined();
  });

  it('is refused if this client-node cannot give them', async () => {
    await expect(clientNodeUser({ authProvider: { name: 'gcp', config: {} } }).delegate!()).rejects.toThrow(
      'the legacy auth provider `gcp`',
    );
    await expect(clientNodeUser({}, { custom_authenticators: [{}] }).delegate!()).rejects.toThrow(
      'the legacy auth provider `custom`',
    );
  });
});

describe('inClusterConfig', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  it('has the address of the environment, and the files of the service account', () => {
    const resolved = resolveKubeConfig(inClusterConfig({ env }), '');
    const directory = '/var/run/secrets/kubernetes.io/serviceaccount';
    expect(resolved.cluster()).toMatchObject({ server: 'https://10.0.0.1:443', caFile: `${directory}/ca.crt` });
    expect(resolved.user()).toEqual({ tokenFile: `${directory}/token` });
    expect(resolveKubeConfig(inClusterConfig({ env, serviceAccountDir: '/sa' }), '').user()).toEqual({
      tokenFile: '/sa/token',
    });
  });

  it.each(['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'])('needs %s', (name) => {
    expect(() => inClusterConfig({ env: { ...env, [name]: '' } })).toThrow(
      'Expected KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT to be set: this process does not run in a pod',
    );
  });
});

it.each([undefined, null, 'text', 7])('%j is no kubeconfig', (source) => {
  expect(() => resolveKubeConfig(source as never, '')).toThrow('Expected `kubeConfig` to be an object');
});
