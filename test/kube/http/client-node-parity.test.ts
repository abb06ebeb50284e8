import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeConfigSource } from '../../../src/kube/http/index.ts';
import { createPodClient, inClusterConfig } from '../../../src/kube/http/index.ts';
import type { ClientNode } from '../../support/client-node.ts';
import { loadClientNode } from '../../support/client-node.ts';
import { printCredential, execUser, kubeConfig, signal } from './kube-configs.ts';
import type { Arrived, KubeServer } from './kube-server.ts';
import { base64, startKubeServer, testPem } from './kube-server.ts';

let server: KubeServer;
let clientNode: ClientNode;
let directory: string;

beforeAll(async () => {
  server = await startKubeServer({ tls: true });
  clientNode = await loadClientNode();
  directory = await mkdtemp(join(tmpdir(), 'ksm-http-'));
  await writeFile(join(directory, 'a.pem'), testPem('client-a'));
  await writeFile(join(directory, 'a.key.pem'), testPem('client-a.key'));
  await writeFile(join(directory, 'ca.pem'), testPem('ca'));
  await writeFile(join(directory, 'token'), 'token-of-a-file');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Who a request says it is. */
function identity({ headers, clientName, url }: Arrived): object {
  const impersonation = Object.entries(headers).filter(([name]) => name.startsWith('impersonate-'));
  return { url, clientName, authorization: headers.authorization, ...Object.fromEntries(impersonation) };
}

async function identityByOurs(config: KubeConfigSource): Promise<object> {
  const client = createPodClient(config);
  await client.getPod({ namespace: 'default', name: 'web' }, { signal: signal() });
  await client.close();
  return identity(server.arrived.at(-1)!);
}

async function identityByClientNode(config: InstanceType<ClientNode['KubeConfig']>): Promise<object> {
  await config.makeApiClient(clientNode.CoreV1Api).readNamespacedPod({ namespace: 'default', name: 'web' });
  return identity(server.arrived.at(-1)!);
}

const certPair = { clientCertificateData: testPem('client-b'), clientKeyData: testPem('client-b.key') };
const unexpiredJwt = ['{"alg":"none"}', '{"exp":9999999999}', 's']
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.');

/** Every kind of user that client-node knows; `plain: false` where our plain form has nothing of the kind. */
const users: readonly { kind: string; user: () => object; cluster?: () => object; expected: object; plain?: false }[] =
  [
    { kind: 'anonymous', user: () => ({}), expected: {} },
    { kind: 'token', user: () => ({ token: 'static' }), expected: { authorization: 'Bearer static' } },
    {
      kind: 'basic',
      user: () => ({ username: 'ann', password: 'p:w' }),
      expected: { authorization: `Basic ${base64('ann:p:w')}` },
    },
    {
      kind: 'token over basic',
      user: () => ({ username: 'a', password: 'b', token: 't' }),
      expected: { authorization: 'Bearer t' },
    },
    {
      kind: 'client certificate by data',
      user: () => ({
        'client-certificate-data': base64(testPem('client-a')),
        'client-key-data': base64(testPem('client-a.key')),
      }),
      expected: { clientName: 'client-a' },
    },
    {
      kind: 'client certificate and CA by file',
      user: () => ({ 'client-certificate': join(directory, 'a.pem'), 'client-key': join(directory, 'a.key.pem') }),
      cluster: () => ({ 'certificate-authority-data': undefined, 'certificate-authority': join(directory, 'ca.pem') }),
      expected: { clientName: 'client-a' },
    },
    {
      kind: 'certificate and token',
      user: () => ({
        token: 't',
        'client-certificate-data': base64(testPem('client-a')),
        'client-key-data': base64(testPem('client-a.key')),
      }),
      expected: { clientName: 'client-a', authorization: 'Bearer t' },
    },
    {
      kind: 'exec with token',
      user: () => execUser(printCredential({ token: 'by-exec' })),
      expected: { authorization: 'Bearer by-exec' },
    },
    {
      kind: 'exec with certificate',
      user: () => execUser(printCredential(certPair)),
      expected: { clientName: 'client-b' },
    },
    {
      kind: 'exec with both',
      user: () => execUser(printCredential({ token: 'by-exec', ...certPair })),
      expected: { clientName: 'client-b', authorization: 'Bearer by-exec' },
    },
    {
      kind: 'exec, v1beta1',
      user: () =>
        execUser(printCredential({ token: 'beta' }, 'client.authentication.k8s.io/v1beta1'), {
          apiVersion: 'client.authentication.k8s.io/v1beta1',
        }),
      expected: { authorization: 'Bearer beta' },
    },
    {
      kind: 'exec with env',
      user: () =>
        execUser(
          'process.stdout.write(JSON.stringify({kind:"ExecCredential",apiVersion:"client.authentication.k8s.io/v1",status:{token:process.env.WHO}}))',
          {
            env: [{ name: 'WHO', value: 'from-env' }],
          },
        ),
      expected: { authorization: 'Bearer from-env' },
    },
    {
      kind: 'token over exec',
      user: () => ({ ...execUser(printCredential({ token: 'not-used' })), token: 't' }),
      expected: { authorization: 'Bearer t' },
    },
    {
      kind: 'auth provider exec',
      user: () => ({ 'auth-provider': { name: 'exec', config: execUser(printCredential({ token: 'old-style' })) } }),
      expected: { authorization: 'Bearer old-style' },
    },
    {
      kind: 'auth provider with a token file',
      user: () => ({ 'auth-provider': { name: 'tokenFile', config: { tokenFile: join(directory, 'token') } } }),
      expected: { authorization: 'Bearer token-of-a-file' },
    },
    {
      kind: 'impersonation',
      user: () => ({ token: 't', as: 'jane' }),
      expected: { authorization: 'Bearer t', 'impersonate-user': 'jane' },
    },
    {
      kind: 'auth provider gcp',
      user: () => ({ 'auth-provider': { name: 'gcp', config: { 'access-token': 'by-gcp' } } }),
      expected: { authorization: 'Bearer by-gcp' },
      plain: false,
    },
    {
      kind: 'auth provider azure',
      user: () => ({ 'auth-provider': { name: 'azure', config: { 'access-token': 'by-azure' } } }),
      expected: { authorization: 'Bearer by-azure' },
      plain: false,
    },
    {
      kind: 'auth provider oidc',
      user: () => ({ 'auth-provider': { name: 'oidc', config: { 'id-token': unexpiredJwt } } }),
      expected: { authorization: `Bearer ${unexpiredJwt}` },
      plain: false,
    },
  ];

describe('the same user reaches the server as from client-node', () => {
  it.each(users)('$kind', async ({ user, cluster, expected, plain }) => {
    const config = kubeConfig(server.url, user(), cluster?.());
    const loaded = new clientNode.KubeConfig();
    loaded.loadFromString(JSON.stringify(config));
    const theirs = await identityByClientNode(loaded);
    expect(theirs).toEqual({
      url: '/api/v1/namespaces/default/pods/web',
      clientName: undefined,
      authorization: undefined,
      ...expected,
    });
    expect(await identityByOurs(loaded)).toEqual(theirs);
    if (plain !== false) expect(await identityByOurs(config)).toEqual(theirs);
  });

  it("a custom authenticator of client-node's", async () => {
    const loaded = new clientNode.KubeConfig();
    loaded.addAuthenticator({
      isAuthProvider: () => true,
      applyAuthentication: (_user, options) => {
        options.headers = { ...(options.headers as Record<string, string>), Authorization: 'Custom scheme' };
        return Promise.resolve();
      },
    });
    loaded.loadFromString(JSON.stringify(kubeConfig(server.url)));
    const theirs = await identityByClientNode(loaded);
    expect(theirs).toMatchObject({ authorization: 'Custom scheme' });
    expect(await identityByOurs(loaded)).toEqual(theirs);
  });

  it('in a cluster', async () => {
    await writeFile(join(directory, 'ca.crt'), testPem('ca'));
    const url = new URL(server.url);
    const config = inClusterConfig({
      env: { KUBERNETES_SERVICE_HOST: url.hostname, KUBERNETES_SERVICE_PORT: url.port },
      serviceAccountDir: directory,
    });
    expect(await identityByOurs(config)).toMatchObject({ authorization: 'Bearer token-of-a-file' });
  });

  it.each(['/k8s/clusters/x', '/k8s/clusters/x/'])('below the path %s', async (path) => {
    const config = kubeConfig(server.url + path);
    const loaded = new clientNode.KubeConfig();
    loaded.loadFromString(JSON.stringify(config));
    const theirs = await identityByClientNode(loaded);
    expect(theirs).toMatchObject({ url: '/k8s/clusters/x/api/v1/namespaces/default/pods/web' });
    expect(await identityByOurs(loaded)).toEqual(theirs);
    expect(await identityByOurs(config)).toEqual(theirs);
  });
});
