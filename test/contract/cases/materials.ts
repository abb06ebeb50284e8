import { describe, expect, it } from 'vitest';
import type { Json, KubeRequestOptions } from '../../support/kube-http.ts';
import { expectFailure, expectOk, MERGE_PATCH, uniqueName } from '../pod-api.ts';
import type { ContractServer } from '../servers.ts';

const path = (resource: string, name = ''): string =>
  `/api/v1/namespaces/default/${resource}/${name}`.replace(/\/$/, '');
const asTable = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' } };

/** ConfigMaps, Secrets and ServiceAccounts, and what a node's user may do with them. */
export function describeMaterials(server: () => ContractServer): void {
  describe('what pods refer to', () => {
    const asNode = (): KubeRequestOptions => ({ token: server().nodeToken('node-a') });
    const create = async (resource: string, body: Json): Promise<string> => {
      const name = uniqueName('material');
      const response = await server().http.request('POST', path(resource), { body: { metadata: { name }, ...body } });
      expect(response.status).toBe(201);
      return name;
    };

    it('the strings of a Secret become data, and an immutable one stays as it is', async () => {
      const { http } = server();
      const name = await create('secrets', { data: { a: 'Yg==' }, stringData: { a: 'c' }, immutable: true });
      const secret = expectOk(await http.request('GET', path('secrets', name)));
      expect(secret).toMatchObject({ type: 'Opaque', data: { a: 'Yw==' } });
      expect(secret).not.toHaveProperty('stringData');
      const body = { stringData: { a: 'd' } };
      const response = await http.request('PATCH', path('secrets', name), { body, contentType: MERGE_PATCH });
      expectFailure(response, 422, 'Invalid');
    });

    it('a node reads what its pods refer to, and nothing else', async () => {
      const { http, pods } = server();
      const [own, other] = [await create('secrets', {}), await create('secrets', {})];
      const map = await create('configmaps', { data: { a: 'b' } });
      const volumes = [
        { name: 'v', secret: { secretName: own } },
        { name: 'w', configMap: { name: map } },
      ];
      const pod = uniqueName('material');
      await pods.create(pod, { spec: { volumes } });
      await pods.untilNodeKnows(pod, asNode());
      expectOk(await http.request('GET', path('secrets', own), asNode()));
      expectOk(await http.request('GET', path('configmaps', map), asNode()));
      expectFailure(await http.request('GET', path('secrets', other), asNode()), 403, 'Forbidden');
      expectFailure(await http.request('GET', path('secrets'), asNode()), 403, 'Forbidden');
      const write = { ...asNode(), body: {}, contentType: MERGE_PATCH };
      expectFailure(await http.request('PATCH', path('secrets', own), write), 403, 'Forbidden');
    });

    it('a node gets tokens that are bound to its pods, which reviews accept', async () => {
      const { http, pods } = server();
      const account = await create('serviceaccounts', {});
      const sources = [{ serviceAccountToken: { path: 'token' } }];
      const name = uniqueName('material');
      const pod = await pods.create(name, {
        spec: { serviceAccountName: account, volumes: [{ name: 'v', projected: { sources } }] },
      });
      await pods.untilNodeKnows(name, asNode());
      const request = (boundObjectRef?: object) =>
        http.request('POST', path('serviceaccounts', `${account}/token`), {
          ...asNode(),
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef } },
        });
      expectFailure(await request(), 403, 'Forbidden');
      const issued = await request({ apiVersion: 'v1', kind: 'Pod', name, uid: pod.metadata.uid });
      expect(issued.status).toBe(201);
      const { token } = issued.body.status;
      const review = await http.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
      });
      expect(review.body.status).toMatchObject({
        authenticated: true,
        user: {
          username: `system:serviceaccount:default:${account}`,
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
          extra: { 'authentication.kubernetes.io/pod-name': [name] },
        },
      });
      const asAccount = await http.request('GET', path('configmaps'), { token });
      expectFailure(asAccount, 403, 'Forbidden');
    });

    it.for<[string, Json, string[], Json[]]>([
      ['configmaps', { data: { a: '' }, binaryData: { b: '' } }, ['Name', 'Data', 'Age'], [2]],
      ['secrets', { data: { a: '' } }, ['Name', 'Type', 'Data', 'Age'], ['Opaque', 1]],
    ])('%s have their columns in Tables', async ([resource, object, columns, cells]) => {
      const name = await create(resource, object);
      const table = expectOk(await server().http.request('GET', path(resource, name), asTable));
      expect(table.columnDefinitions.map((column: Json) => column.name)).toEqual(columns);
      expect(table.rows[0].cells.slice(0, -1)).toEqual([name, ...cells]);
    });
  });
}
