import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { Json } from '../support/kube-http.ts';
import { type Harness, podOf, PODS, startServer } from './harness.ts';

const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const REVIEW = '/apis/authentication.k8s.io/v1/tokenreviews';
const userName = 'system:serviceaccount:default:default';

/** A token of the ServiceAccount `default`, bound to a new pod. */
async function issueToken({ server, http }: Harness, spec: object = {}): Promise<string> {
  const { metadata } = server.pods.create(podOf('p', { serviceAccountName: 'default' }));
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: metadata?.uid };
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
  const { status, body } = await http.request('POST', path, { body: { spec: { boundObjectRef, ...spec } } });
  expect(status).toBe(201);
  return body.status.token as string;
}

const statusWith = async ({ http }: Harness, token: string): Promise<number> =>
  (await http.request('POST', SELF, { token, body: {} })).status;

describe('each namespace', () => {
  it('has the ServiceAccount default and the CA of the server from its beginning', async () => {
    const { server } = await startServer({ tls: true });
    server.namespaces.create('later');
    for (const namespace of ['default', 'kube-system', 'later']) {
      expect(server.serviceAccounts.get(namespace, 'default')).toMatchObject({ metadata: { namespace } });
      expect(server.configMaps.get(namespace, 'kube-root-ca.crt')).toMatchObject({
        data: { 'ca.crt': server.certificateAuthority },
      });
    }
  });
});

describe('objects without HTTP', () => {
  it('are those of HTTP, with its validation', async () => {
    const { server, http } = await startServer();
    server.secrets.create({ metadata: { name: 's' }, stringData: { a: 'b' } });
    const { body } = await http.request('GET', '/api/v1/namespaces/default/secrets/s');
    expect(body).toMatchObject({ type: 'Opaque', data: { a: 'Yg==' } });
    expect(body).not.toHaveProperty('stringData');
    expect(server.secrets.patch('default', 's', { stringData: { c: 'd' } })).toMatchObject({
      data: { a: 'Yg==', c: 'ZA==' },
    });
    expect(() => server.configMaps.create({ metadata: { name: 'm' }, data: { '../a': '' } })).toThrow(
      /data\[\.\.\/a\]/,
    );
    server.secrets.delete('default', 's');
    expect(server.secrets.list()).toEqual([]);
  });
});

describe('an invalid Secret', () => {
  it('is refused without its contents in the error', async () => {
    const { server } = await startServer();
    const data = { '.dockerconfigjson': Buffer.from('{"auths": hunter2').toString('base64') };
    const secret = { metadata: { name: 's' }, type: 'kubernetes.io/dockerconfigjson', data };
    expect(() => server.secrets.create(secret)).toThrow(/redacted/);
    expect(() => server.secrets.create(secret)).not.toThrow(/hunter2/);
  });
});

describe('the token of a ServiceAccount', () => {
  it('names its user, pod and node', async () => {
    const harness = await startServer();
    const { uid } = harness.server.nodes.create('node-a').metadata;
    const token = await issueToken(harness);
    const { body } = await harness.http.request('POST', SELF, { token, body: {} });
    const pod = harness.server.pods.get('default', 'p');
    expect(body.status.userInfo).toEqual({
      username: userName,
      uid: harness.server.serviceAccounts.get('default', 'default')?.metadata.uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': [pod?.metadata?.uid],
        'authentication.kubernetes.io/node-name': ['node-a'],
        'authentication.kubernetes.io/node-uid': [uid],
        'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[-0-9a-f]{36}$/)],
      },
    });
  });

  it('permits nothing, as without RBAC objects', async () => {
    const harness = await startServer();
    const token = await issueToken(harness);
    const { http } = harness;
    const forbidden = `pods is forbidden: User "${userName}" cannot list resource "pods" in API group "" in the namespace "default"`;
    expect((await http.request('GET', PODS, { token })).body).toMatchObject({ code: 403, message: forbidden });
    const resourceAttributes = { verb: 'get', resource: 'pods' };
    const access = await http.request('POST', ACCESS, { token, body: { spec: { resourceAttributes } } });
    expect(access.body.status).toEqual({ allowed: false });
    expect((await http.request('POST', REVIEW, { token, body: { spec: { token } } })).status).toBe(403);
    const headers = { 'impersonate-user': 'system:admin' };
    expect((await http.request('GET', PODS, { token, headers })).status).toBe(403);
  });

  it.for<[string, (harness: Harness, clock: FakeClock) => void]>([
    ['its time is over', (_, clock) => clock.advance(600_000 + 60_001)],
    ['its pod is gone', ({ server }) => server.pods.delete('default', 'p', { gracePeriodSeconds: 0 })],
    [
      'its pod was deleted long ago',
      ({ server }, clock) => {
        server.pods.delete('default', 'p', { gracePeriodSeconds: 1 });
        clock.advance(62_000);
      },
    ],
    [
      'its ServiceAccount is another one',
      ({ server }) => {
        server.serviceAccounts.delete('default', 'default');
        server.serviceAccounts.create({ metadata: { name: 'default' } });
      },
    ],
  ])('ends when %s', async ([, end]) => {
    const clock = new FakeClock();
    const harness = await startServer({ clock });
    const token = await issueToken(harness, { expirationSeconds: 600 });
    clock.advance(60_000);
    expect(await statusWith(harness, token)).toBe(201);
    end(harness, clock);
    expect(await statusWith(harness, token)).toBe(401);
    const { body } = await harness.http.request('POST', REVIEW, { body: { spec: { token } } });
    expect(body.status).toEqual({ user: {}, error: 'invalid bearer token' });
  });

  it('for another audience is accepted by reviews for it only', async () => {
    const harness = await startServer();
    const token = await issueToken(harness, { audiences: ['vault'] });
    expect(await statusWith(harness, token)).toBe(401);
    const review = async (audiences?: string[]): Promise<Json> =>
      (await harness.http.request('POST', REVIEW, { body: { spec: { token, audiences } } })).body.status;
    expect(await review(['vault', 'other'])).toMatchObject({ authenticated: true, audiences: ['vault'] });
    expect(await review()).not.toHaveProperty('authenticated');
  });

  it('is accepted by its own server only, and unchanged', async () => {
    const harness = await startServer();
    const token = await issueToken(harness);
    const [header, payload = '', signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      `${header}.${encoded({ ...claims, exp: claims.exp + 1 })}.${signature}`,
      `${encoded({ alg: 'none' })}.${payload}.`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${token}.x`,
      await issueToken(await startServer()),
    ];
    for (const one of forged) expect(await statusWith(harness, one)).toBe(401);
    expect(await statusWith(harness, token)).toBe(201);
  });
});
