import { describe, expect, it } from 'vitest';
import type { Json } from '../support/kube-http.ts';
import { PODS, podOf, startServer } from './harness.ts';

/*
 * What an earlier APIServer did otherwise than a cluster, each with its story. test/contract/comparison holds all of
 * it to a real kube-apiserver.
 */
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const causesOf = ({ details }: Json): string[] => details.causes.map(({ field }: Json) => field);

describe('dry runs', () => {
  it('delete nothing, with dryRun in the query or in the body', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const before = server.pods.list();
    for (const [query, body] of [
      ['?dryRun=All', undefined],
      ['', { dryRun: ['All'], gracePeriodSeconds: 0 }],
    ] as const) {
      const response = await http.request('DELETE', `${PODS}/p${query}`, body === undefined ? {} : { body });
      expect(response.status).toBe(200);
      expect(server.pods.list()).toEqual(before);
    }
    expect((await http.request('DELETE', `${PODS}?dryRun=All`)).status).toBe(200);
    expect(server.pods.list()).toEqual(before);
  });

  it.for(['POST', 'PUT', 'PATCH', 'DELETE'])('%s refuses dryRun=Foo, which was accepted', async (method) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const path = method === 'POST' ? PODS : `${PODS}/p`;
    const response = await http.request(method, `${path}?dryRun=Foo`, {
      ...(method === 'DELETE' ? {} : { body: podOf('p') }),
      ...(method === 'PATCH' ? { contentType: MERGE } : {}),
    });
    expect(response.status).toBe(422);
    expect(causesOf(response.body)).toEqual(['dryRun']);
  });
});

describe('decoding', () => {
  it('rejects containerPort: "80" with the error message of Go', async () => {
    const { http } = await startServer();
    const body = podOf('p', { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: '80' }] }] });
    expect((await http.request('POST', PODS, { body })).body).toMatchObject({
      code: 400,
      message:
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32',
    });
  });

  it('reports unknown and duplicate fields according to fieldValidation, and drops them', async () => {
    const { http } = await startServer();
    const body = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","imagee":"j","image":"k"}]}}`;
    const strict = await http.request('POST', `${PODS}?fieldValidation=Strict`, { body });
    expect(strict.body.message).toMatch(
      /strict decoding error: duplicate field "spec.containers\[0\].image", unknown field "spec.containers\[0\].imagee"$/,
    );
    const ignored = await http.request('POST', `${PODS}?dryRun=All&fieldValidation=Ignore`, { body });
    expect(ignored.headers['warning']).toBeUndefined();
    const warned = await http.request('POST', PODS, { body });
    expect(warned.headers['warning']).toContain(String.raw`299 - "unknown field \"spec.containers[0].imagee\""`);
    expect(warned.body.spec.containers[0]).not.toHaveProperty('imagee');
  });
});

describe('updates', () => {
  it('accept the manifest that created the pod, without its defaults', async () => {
    const { http } = await startServer();
    const manifest = podOf('p', { volumes: [{ name: 'v', secret: { secretName: 's' } }] });
    await http.request('POST', PODS, { body: manifest });
    const response = await http.request('PUT', `${PODS}/p`, { body: manifest });
    expect(response.status).toBe(200);
    expect(response.body.metadata.generation).toBe(1);
  });
});

describe('subresources', () => {
  it('eviction sets DisruptionTarget and deletes the pod', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const body = { metadata: { name: 'p' }, deleteOptions: { gracePeriodSeconds: 7 } };
    expect((await http.request('POST', `${PODS}/p/eviction`, { body })).status).toBe(201);
    const pod = server.pods.get('default', 'p');
    expect(pod?.metadata?.deletionGracePeriodSeconds).toBe(7);
    expect(pod?.status?.conditions).toMatchObject([{ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }]);
  });

  it('resize changes only cpu and memory, up to the allocatable resources of the node', async () => {
    const { server, http } = await startServer();
    server.nodes.create({ metadata: { name: 'node-a' }, status: { allocatable: { cpu: '4' } } });
    server.pods.create(podOf('p', { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] }));
    const resize = (cpu: string) =>
      http.request('PATCH', `${PODS}/p/resize`, {
        contentType: STRATEGIC,
        body: { spec: { containers: [{ name: 'c', image: 'other', resources: { requests: { cpu } } }] } },
      });
    expect((await resize('2')).body.spec.containers[0]).toMatchObject({
      image: 'i',
      resources: { requests: { cpu: '2' } },
    });
    expect((await resize('5')).body).toMatchObject({ code: 403, details: { causes: [{ reason: 'NodeCapacity' }] } });
  });

  it('ephemeralcontainers adds containers and removes none', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const path = `${PODS}/p/ephemeralcontainers`;
    const body = { spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] } };
    expect((await http.request('PATCH', path, { contentType: STRATEGIC, body })).status).toBe(200);
    const none = { spec: { ephemeralContainers: [] } };
    const response = await http.request('PATCH', path, { contentType: MERGE, body: none });
    expect(causesOf(response.body)).toEqual(['spec.ephemeralContainers']);
  });
});

describe('node users', () => {
  it.for(['node-role.kubernetes.io/control-plane', 'node-restriction.kubernetes.io/x', 'kubernetes.io/made-up'])(
    'may not label their Node with %s',
    async (label) => {
      const { server, http } = await startServer({ nodeUsers: ['node-a'] });
      const options = { token: server.nodeToken('node-a') };
      const create = { ...options, body: { metadata: { name: 'node-a', labels: { [label]: '' } } } };
      expect((await http.request('POST', '/api/v1/nodes', create)).status).toBe(403);
      server.nodes.create('node-a');
      const patch = { ...options, contentType: MERGE, body: { metadata: { labels: { [label]: '' } } } };
      expect((await http.request('PATCH', '/api/v1/nodes/node-a', patch)).status).toBe(403);
    },
  );

  it('get their permissions from access reviews, and the admin can impersonate them', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const ask = async (attributes: object) => {
      const headers = { 'impersonate-user': 'system:node:node-a' };
      const body = { spec: { resourceAttributes: attributes } };
      return (await http.request('POST', REVIEW, { body, headers })).body.status.allowed as boolean;
    };
    expect(await ask({ verb: 'get', resource: 'nodes', name: 'node-a' })).toBe(true);
    expect(await ask({ verb: 'list', resource: 'pods' })).toBe(false);
    expect(server.requests).toHaveLength(2);
  });
});

it('PartialObjectMetadata is served if the client accepts it', async () => {
  const { server, http } = await startServer();
  server.pods.create(podOf('p'));
  const accept = (kind: string) => ({ headers: { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } });
  const one = (await http.request('GET', `${PODS}/p`, accept('PartialObjectMetadata'))).body;
  expect(one).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'p' } });
  expect(one).not.toHaveProperty('spec');
  const list = (await http.request('GET', PODS, accept('PartialObjectMetadataList'))).body;
  expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', items: [{ kind: 'PartialObjectMetadata' }] });
});
