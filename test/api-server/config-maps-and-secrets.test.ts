import { describe, expect, it } from 'vitest';
import type { Json } from '../support/kube-http.ts';
import { podOf, PODS, startServer } from './harness.ts';

const namespace = '/api/v1/namespaces/default';
const MAPS = `${namespace}/configmaps`;
const SECRETS = `${namespace}/secrets`;
const ACCOUNTS = `${namespace}/serviceaccounts`;
const MERGE = 'application/merge-patch+json';
const megabyte = 1024 * 1024;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secret = (type: string, data: object = {}): object => ({ type: `kubernetes.io/${type}`, data });
const fieldsOf = ({ details }: Json): string[] => details.causes.map(({ field }: Json) => field);
const dockerJSON = (text: string): object => secret('dockerconfigjson', { '.dockerconfigjson': base64(text) });

describe('a new object', () => {
  it.for<[string, string, object, string[]]>([
    ['a key with a slash', MAPS, { data: { 'a/b': '' } }, ['data[a/b]']],
    ['the key .', MAPS, { data: { '.': '' } }, ['data[.]']],
    ['the key ..', MAPS, { binaryData: { '..': '' } }, ['binaryData[..]']],
    ['a key that begins with ..', SECRETS, { data: { '..data': '' } }, ['data[..data]']],
    ['a key of 254 characters', SECRETS, { data: { ['k'.repeat(254)]: '' } }, [`data[${'k'.repeat(254)}]`]],
    ['a key twice', MAPS, { data: { a: '' }, binaryData: { a: '' } }, ['data[a]']],
    ['more than 1 MiB of UTF-8', MAPS, { data: { a: 'ä'.repeat(megabyte / 2), b: 'x' } }, ['[]']],
    ['more than 1 MiB of bytes', MAPS, { binaryData: { a: base64('x'.repeat(megabyte + 1)) } }, ['[]']],
    ['more than 1 MiB of strings', SECRETS, { stringData: { a: 'x'.repeat(megabyte + 1) } }, ['data']],
    [
      'no account',
      SECRETS,
      secret('service-account-token'),
      ['metadata.annotations[kubernetes.io/service-account.name]'],
    ],
    ['no .dockercfg', SECRETS, secret('dockercfg'), ['data[.dockercfg]']],
    ['no .dockerconfigjson', SECRETS, secret('dockerconfigjson'), ['data[.dockerconfigjson]']],
    ['a list as .dockerconfigjson', SECRETS, dockerJSON('[]'), ['data[.dockerconfigjson]']],
    ['text as .dockerconfigjson', SECRETS, dockerJSON('{'), ['data[.dockerconfigjson]']],
    ['no user and no password', SECRETS, secret('basic-auth'), ['data[username]', 'data[password]']],
    ['no SSH key', SECRETS, secret('ssh-auth'), ['data[ssh-privatekey]']],
    ['an empty SSH key', SECRETS, secret('ssh-auth', { 'ssh-privatekey': '' }), ['data[ssh-privatekey]']],
    ['no TLS key', SECRETS, secret('tls', { 'tls.crt': '' }), ['data[tls.key]']],
  ])('with %s is refused', async ([, path, object, fields]) => {
    const { http } = await startServer();
    const { status, body } = await http.request('POST', path, { body: { metadata: { name: 'x' }, ...object } });
    expect(status).toBe(422);
    expect(fieldsOf(body)).toEqual(fields);
  });

  it.for<[string, string, object]>([
    ['1 MiB', MAPS, { data: { a: 'x'.repeat(megabyte) } }],
    ['null as .dockerconfigjson', SECRETS, dockerJSON('null')],
    ['a user without a password', SECRETS, secret('basic-auth', { username: '' })],
    ['a type of its own', SECRETS, { type: 'example.org/own' }],
    ['the name __proto__ of a key', MAPS, JSON.parse('{"data":{"__proto__":"a"}}') as object],
  ])('with %s is taken', async ([, path, object]) => {
    const { http } = await startServer();
    const body = `{"metadata":{"name":"x"},${JSON.stringify(object).slice(1)}`;
    const created = await http.request('POST', path, { body });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject(object);
  });

  it.for(['b', 'YQ', 'Y-Q=', 'YQ==='])('with %j as bytes is refused, as it is not base64', async (text) => {
    const { http } = await startServer();
    const body = { metadata: { name: 'x' }, binaryData: { a: text } };
    expect((await http.request('POST', MAPS, { body })).body).toMatchObject({
      code: 400,
      message: expect.stringContaining('illegal base64 data'),
    });
  });

  it('has its bytes in canonical form', async () => {
    const { server } = await startServer();
    const binaryData = { a: 'YR==', b: 'Y\nQ=\r\n=' };
    expect(server.configMaps.create({ metadata: { name: 'x' }, binaryData })).toMatchObject({
      binaryData: { a: 'YQ==', b: 'YQ==' },
    });
  });

  it('of a ServiceAccount keeps only the names of Secrets', async () => {
    const { server } = await startServer();
    server.serviceAccounts.create({ metadata: { name: 'x' }, secrets: [{ name: 's', namespace: 'other' }] });
    const patched = server.serviceAccounts.patch('default', 'x', { secrets: [{ name: 't', uid: 'u' }] });
    expect(patched).toMatchObject({ secrets: [{ name: 't' }, { name: 's' }] });
  });
});

describe('an object', () => {
  it.for<[string, string, object, string[]]>([
    ['an immutable ConfigMap', MAPS, { immutable: false }, ['immutable']],
    ['data of an immutable ConfigMap', MAPS, { data: { b: '' } }, ['data']],
    ['bytes of an immutable ConfigMap', MAPS, { binaryData: { b: '' } }, ['binaryData']],
    ['an immutable Secret', SECRETS, { immutable: null }, ['immutable']],
    ['data of an immutable Secret', SECRETS, { stringData: { b: '' } }, ['data']],
    ['the type of a Secret', SECRETS, { type: 'example.org/other' }, ['type']],
  ])('is not changed: %s', async ([, path, patch, fields]) => {
    const { http } = await startServer();
    await http.request('POST', path, { body: { metadata: { name: 'x' }, data: { a: '' }, immutable: true } });
    const labels = { metadata: { labels: { a: 'b' } } };
    expect((await http.request('PATCH', `${path}/x`, { body: labels, contentType: MERGE })).status).toBe(200);
    const { status, body } = await http.request('PATCH', `${path}/x`, { body: patch, contentType: MERGE });
    expect(status).toBe(422);
    expect(fieldsOf(body)).toEqual(fields);
  });

  it('may be changed otherwise', async () => {
    const { server } = await startServer();
    server.configMaps.create({ metadata: { name: 'x' }, data: { a: 'b' } });
    expect(server.configMaps.patch('default', 'x', { data: { a: 'c' } })).toMatchObject({ data: { a: 'c' } });
  });
});

describe("a node's user", () => {
  const container = (rest: object): object => ({ containers: [{ name: 'c', image: 'i', ...rest }] });
  const variable = (valueFrom: object): object => container({ env: [{ name: 'A', valueFrom }] });
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });

  it.for<[string, string, object]>([
    ['an image pull secret', SECRETS, { imagePullSecrets: [{ name: 'x' }] }],
    ['the Secret of a variable', SECRETS, variable({ secretKeyRef: { name: 'x', key: 'k' } })],
    ['the Secret of an environment', SECRETS, container({ envFrom: [{ secretRef: { name: 'x' } }] })],
    ['the Secret of a volume', SECRETS, volume({ secret: { secretName: 'x' } })],
    ['the Secret of a projected volume', SECRETS, volume({ projected: { sources: [{ secret: { name: 'x' } }] } })],
    ['the Secret of a CSI volume', SECRETS, volume({ csi: { driver: 'd', nodePublishSecretRef: { name: 'x' } } })],
    [
      'the Secret of an init container',
      SECRETS,
      { initContainers: [{ name: 'i', image: 'i', envFrom: [{ secretRef: { name: 'x' } }] }] },
    ],
    ['the ConfigMap of a variable', MAPS, variable({ configMapKeyRef: { name: 'x', key: 'k' } })],
    ['the ConfigMap of an environment', MAPS, container({ envFrom: [{ configMapRef: { name: 'x' } }] })],
    ['the ConfigMap of a volume', MAPS, volume({ configMap: { name: 'x' } })],
    ['the ConfigMap of a projected volume', MAPS, volume({ projected: { sources: [{ configMap: { name: 'x' } }] } })],
    ['the ServiceAccount', ACCOUNTS, { serviceAccountName: 'x' }],
  ])('reads %s of its pods only', async ([, path, spec]) => {
    const { server, http } = await startServer({ nodeUsers: ['node-a', 'node-b'] });
    await http.request('POST', path, { body: { metadata: { name: 'x' } } });
    const code = async (node: string, name: string): Promise<number> =>
      (await http.request('GET', `${path}/${name}`, { token: server.nodeToken(node) })).status;
    expect(await code('node-a', 'x')).toBe(403);
    server.pods.create(podOf('p', spec));
    expect(await code('node-a', 'x')).toBe(200);
    expect(await code('node-a', 'y')).toBe(403);
    expect(await code('node-b', 'x')).toBe(403);
    server.pods.delete('default', 'p', { gracePeriodSeconds: 0 });
    expect(await code('node-a', 'x')).toBe(403);
  });

  it('reads nothing that only a mirror pod refers to, which it could have made itself', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    server.pods.create(podOf('p', { imagePullSecrets: [{ name: 'x' }] }, { annotations }));
    const token = server.nodeToken('node-a');
    expect((await http.request('GET', `${SECRETS}/x`, { token })).status).toBe(403);
  });

  it('lists and watches single objects, and writes none', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    server.pods.create(podOf('p', { imagePullSecrets: [{ name: 'x' }] }));
    const token = server.nodeToken('node-a');
    const code = async (method: string, path: string): Promise<number> =>
      (await http.request(method, path, { token, ...(method === 'POST' ? { body: { metadata: { name: 'x' } } } : {}) }))
        .status;
    expect(await code('GET', `${SECRETS}?fieldSelector=metadata.name%3Dx`)).toBe(200);
    expect(await code('GET', SECRETS)).toBe(403);
    expect(await code('GET', '/api/v1/secrets?fieldSelector=metadata.name%3Dx')).toBe(403);
    for (const path of [MAPS, SECRETS, ACCOUNTS]) {
      expect(await code('POST', path)).toBe(403);
      expect(await code('DELETE', `${path}/x`)).toBe(403);
    }
  });

  it.for<[string, (pod: Json) => object, number]>([
    ['for a pod of its own', ({ metadata }) => ({ name: 'p', uid: metadata.uid }), 201],
    ['for an audience that the pod names', ({ metadata }) => ({ name: 'p', uid: metadata.uid, audiences: ['x'] }), 201],
    ['without a pod', () => ({ kind: 'Node', name: 'node-a', uid: 'u' }), 403],
    ['for a pod without its UID', () => ({ name: 'p' }), 403],
    ['for a pod of an earlier UID', () => ({ name: 'p', uid: 'earlier' }), 403],
    ['for a pod that does not exist', () => ({ name: 'none', uid: 'u' }), 404],
    ['for another audience', ({ metadata }) => ({ name: 'p', uid: metadata.uid, audiences: ['y'] }), 403],
    ['for two audiences', ({ metadata }) => ({ name: 'p', uid: metadata.uid, audiences: ['x', 'x'] }), 403],
  ])('asks for a token %s: %i', async ([, referenceOf, code]) => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const sources = [{ serviceAccountToken: { path: 'a' } }, { serviceAccountToken: { path: 'b', audience: 'x' } }];
    const spec = { serviceAccountName: 'default', ...volume({ projected: { sources } }) };
    const created = (await http.request('POST', PODS, { body: podOf('p', spec) })).body;
    const { audiences, ...reference } = referenceOf(created) as Json;
    const body = { spec: { audiences, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...reference } } };
    const token = server.nodeToken('node-a');
    expect((await http.request('POST', `${ACCOUNTS}/default/token`, { body, token })).status).toBe(code);
  });

  it('asks for no token for a pod of another node, even of a ServiceAccount of its own pods', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const spec = { serviceAccountName: 'default' };
    server.pods.create(podOf('p', spec));
    const { uid } = server.pods.create(podOf('q', { ...spec, nodeName: 'node-b' })).metadata;
    const body = { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'q', uid } } };
    const token = server.nodeToken('node-a');
    expect((await http.request('POST', `${ACCOUNTS}/default/token`, { body, token })).status).toBe(403);
  });
});

describe('a request for a token', () => {
  it.for<[string, object, number]>([
    ['of another name', { metadata: { name: 'other' } }, 422],
    ['of another namespace', { metadata: { namespace: 'other' } }, 400],
    ['of another UID', { metadata: { uid: 'other' } }, 409],
    ['of less than ten minutes', { spec: { expirationSeconds: 599 } }, 422],
    ['of more than 2^32 seconds', { spec: { expirationSeconds: 2 ** 32 + 1 } }, 422],
    ['with an attestation', { spec: { attestations: { a: [] } } }, 422],
    ['for another kind', { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'constructor', name: 'p' } } }, 400],
    ['for another API', { spec: { boundObjectRef: { apiVersion: 'apps/v1', kind: 'Pod', name: 'p' } } }, 400],
    ['for a missing Secret', { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 's' } } }, 404],
    ['for a pod of another ServiceAccount', { spec: { boundObjectRef: { kind: 'Pod', name: 'p' } } }, 400],
    ['for another pod of this name', { spec: { boundObjectRef: { kind: 'Pod', name: 'own', uid: 'u' } } }, 409],
    ['for a Node', { spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'node-a' } } }, 201],
  ])('%s: %i', async ([, body, code]) => {
    const { server, http } = await startServer();
    server.nodes.create('node-a');
    server.pods.create(podOf('p'));
    server.pods.create(podOf('own', { serviceAccountName: 'default' }));
    expect((await http.request('POST', `${ACCOUNTS}/default/token`, { body })).status).toBe(code);
  });

  it('of a missing ServiceAccount: 404', async () => {
    const { http } = await startServer();
    expect((await http.request('POST', `${ACCOUNTS}/none/token`, { body: {} })).status).toBe(404);
  });
});
