import { describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import {
  expectFailure,
  expectOk,
  MERGE_PATCH,
  PODS_PATH,
  podManifest,
  STRATEGIC_MERGE_PATCH,
  uniqueName,
} from '../pod-api.ts';
import type { ContractServer, ContractServerKind } from '../servers.ts';

/** Creating, reading, listing and binding pods, and the responses to failures. */
export function describeObjects(server: () => ContractServer, { isAsNewest }: ContractServerKind): void {
  const generation = (value: number): Json => (isAsNewest('pod-generation') ? { generation: value } : {});

  describe('creating a pod', () => {
    it('fills in the fields that the server sets', async () => {
      const name = uniqueName('create');
      const pod = await server().pods.create(name);
      expect(pod).toMatchObject({
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: { name, namespace: 'default', ...generation(1) },
        spec: {
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          dnsPolicy: 'ClusterFirst',
          nodeName: 'node-a',
          containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Always', resources: {} }],
        },
      });
      expect(pod.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
      expect(pod.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(pod.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(pod.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(expectOk(await server().pods.get(name))).toEqual(pod);
    });

    it.for<[string, Json]>([
      ['BestEffort', {}],
      ['Burstable', { requests: { cpu: '1' } }],
      ['Guaranteed', { limits: { cpu: '1', memory: '1Gi' } }],
    ])('computes qosClass %s', async ([qosClass, resources]) => {
      const pod = await server().pods.create(uniqueName('qos'), {
        spec: { containers: [{ name: 'c', image: 'i', resources }] },
      });
      expect(pod.status.qosClass).toBe(qosClass);
    });

    it('ignores the status in the request', async () => {
      const body = { ...podManifest(uniqueName('create')), status: { phase: 'Running', message: 'm' } };
      const { status } = (await server().http.request('POST', PODS_PATH, { body })).body;
      expect(status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    });

    it('creates a name from generateName', async () => {
      const body = podManifest('x', { metadata: { name: undefined, generateName: 'generated-' } });
      const { metadata } = (await server().http.request('POST', PODS_PATH, { body })).body;
      expect(metadata.name).toMatch(/^generated-[a-z0-9]{5}$/);
    });

    it('rejects an existing name with 409 AlreadyExists', async () => {
      const name = uniqueName('create');
      await server().pods.create(name);
      const again = await server().http.request('POST', PODS_PATH, { body: podManifest(name) });
      expectFailure(again, 409, 'AlreadyExists', { details: { name, kind: 'pods' } });
    });

    it('rejects an invalid name and a missing container list with 422 and a cause for each', async () => {
      const body = podManifest('Bad_Name', { spec: { containers: [] } });
      const response = await server().http.request('POST', PODS_PATH, { body });
      expectFailure(response, 422, 'Invalid', { details: { name: 'Bad_Name', kind: 'Pod' } });
      expect(response.body.details.causes.map(({ reason, field }: Json) => [reason, field])).toEqual([
        ['FieldValueInvalid', 'metadata.name'],
        ['FieldValueRequired', 'spec.containers'],
      ]);
    });

    it("rejects a namespace other than the URL's, and an invalid body, with 400", async () => {
      const body = podManifest('x', { metadata: { namespace: 'other' } });
      expectFailure(await server().http.request('POST', PODS_PATH, { body }), 400, 'BadRequest');
      expectFailure(await server().http.request('POST', PODS_PATH, { body: '{' }), 400, 'BadRequest');
    });

    it.for<[string, Json]>([
      ['a nodeName that YAML has read as a boolean', { nodeName: false }],
      ['readinessGates that are not a list', { readinessGates: 'x' }],
    ])('rejects %s with 400', async ([, spec]) => {
      const body = podManifest(uniqueName('typed'), { spec });
      expectFailure(await server().http.request('POST', PODS_PATH, { body }), 400, 'BadRequest');
    });

    it('rejects a content type other than JSON with 415', async () => {
      const response = await server().http.request('POST', PODS_PATH, { body: '{}', contentType: 'text/plain' });
      expectFailure(response, 415, 'UnsupportedMediaType');
    });
  });

  describe('changing a pod', () => {
    it('increases the generation with the spec, but not with labels', async () => {
      const name = uniqueName('change');
      await server().pods.create(name);
      const labelled = await server().pods.patch(name, { metadata: { labels: { a: 'b' } } }, MERGE_PATCH);
      expect(expectOk(labelled).metadata).toMatchObject(generation(1));
      const spec = { containers: [{ name: 'c', image: 'other' }] };
      const changed = expectOk(await server().pods.patch(name, { spec }, STRATEGIC_MERGE_PATCH));
      expect(changed.metadata).toMatchObject(generation(2));
      expect(changed.spec.containers[0]).toMatchObject({ image: 'other', imagePullPolicy: 'Always' });
    });

    it('does not modify the status', async () => {
      const name = uniqueName('change');
      const { status } = await server().pods.create(name);
      const patched = await server().pods.patch(name, { status: { phase: 'Running' } }, MERGE_PATCH);
      expect(expectOk(patched).status).toEqual(status);
    });

    it('rejects another node with 422', async () => {
      const name = uniqueName('change');
      await server().pods.create(name);
      const response = await server().pods.patch(name, { spec: { nodeName: 'node-b' } }, MERGE_PATCH);
      expectFailure(response, 422, 'Invalid', {
        details: { name, kind: 'Pod', causes: [{ reason: 'FieldValueForbidden', field: 'spec' }] },
      });
    });
  });

  describe('binding', () => {
    it('binds a pod to a node once, with PodScheduled and without changing the generation', async () => {
      const name = uniqueName('bind');
      await server().pods.create(name, { spec: { nodeName: undefined } });
      const bind = (node: string): Promise<Json> =>
        server().http.request('POST', `${PODS_PATH}/${name}/binding`, {
          body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } },
        });
      const bound = await bind('node-a');
      expect(bound.status).toBe(201);
      expect(bound.body).toMatchObject({ kind: 'Status', status: 'Success', code: 201 });
      const pod = expectOk(await server().pods.get(name));
      expect(pod.spec.nodeName).toBe('node-a');
      expect(pod.metadata).toMatchObject(generation(1));
      expect(pod.status.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
      expectFailure(await bind('node-b'), 409, 'Conflict', { details: { name, kind: 'pods/binding' } });
    });
  });

  describe('listing', () => {
    it('selects by labels and by fields', async () => {
      const names = [uniqueName('list'), uniqueName('list')];
      const run = names[0];
      for (const name of names) await server().pods.create(name, { metadata: { labels: { run } } });
      await server().pods.patchStatus(names[1] ?? '', { phase: 'Running' });
      const list = async (fieldSelector: string): Promise<string[]> => {
        const query = new URLSearchParams({ labelSelector: `run=${run}`, fieldSelector });
        const { items } = expectOk(await server().http.request('GET', `${PODS_PATH}?${query.toString()}`));
        return items.map(({ metadata }: Json) => metadata.name as string);
      };
      expect(await list('')).toEqual(names);
      expect(await list('status.phase=Running')).toEqual([names[1]]);
      expect(await list('status.phase!=Running,spec.nodeName=node-a')).toEqual([names[0]]);
      expect(await list(`metadata.name=${names[0]}`)).toEqual([names[0]]);
      expect(await list('metadata.namespace=other')).toEqual([]);
      expect(await list('spec.nodeName=node-b')).toEqual([]);
    });

    it('sets kind and apiVersion on the list, but not on its items', async () => {
      await server().pods.create(uniqueName('list'));
      const list = expectOk(await server().http.request('GET', PODS_PATH));
      expect(list).toMatchObject({ kind: 'PodList', apiVersion: 'v1' });
      expect(list.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(list.items[0]).not.toHaveProperty('kind');
      expect(list.items[0]).not.toHaveProperty('apiVersion');
    });

    it('rejects an unsupported field selector with 400', async () => {
      const response = await server().http.request('GET', `${PODS_PATH}?fieldSelector=spec.frobnicate%3Dx`);
      expectFailure(response, 400, 'BadRequest');
    });

    it('rejects resourceVersionMatch without resourceVersion, and sendInitialEvents, with 422', async () => {
      for (const [query, field] of [
        ['resourceVersionMatch=NotOlderThan', 'resourceVersionMatch'],
        ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0', 'sendInitialEvents'],
      ] as const) {
        expectFailure(await server().http.request('GET', `${PODS_PATH}?${query}`), 422, 'Invalid', {
          details: { group: 'meta.k8s.io', kind: 'ListOptions', causes: [{ reason: 'FieldValueForbidden', field }] },
        });
      }
    });
  });

  describe('missing objects', () => {
    it('responds with 404 with the name and the resource', async () => {
      const name = uniqueName('missing');
      expectFailure(await server().pods.get(name), 404, 'NotFound', { details: { name, kind: 'pods' } });
      expectFailure(await server().http.request('GET', `/api/v1/nodes/${name}`), 404, 'NotFound', {
        details: { name, kind: 'nodes' },
      });
    });

    it('responds with 404 to a namespace that does not exist', async () => {
      const body = podManifest('x', { metadata: { namespace: 'none' } });
      expectFailure(await server().http.request('POST', '/api/v1/namespaces/none/pods', { body }), 404, 'NotFound', {
        details: { name: 'none', kind: 'namespaces' },
      });
    });

    it('responds with 404 to an unknown resource and path, 405 to an unknown method', async () => {
      const { http } = server();
      expectFailure(await http.request('GET', '/api/v1/frobs'), 404, 'NotFound');
      expect((await http.request('GET', '/frob')).status).toBe(404);
      expectFailure(await http.request('PUT', PODS_PATH, { body: {} }), 405, 'MethodNotAllowed');
    });

    it('responds with 401 to an unknown token', async () => {
      const response = await server().http.request('GET', PODS_PATH, { token: 'unknown' });
      expectFailure(response, 401, 'Unauthorized');
    });
  });
}
