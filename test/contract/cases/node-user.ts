import { beforeAll, describe, expect, it } from 'vitest';
import type { Json, KubeRequestOptions } from '../../support/kube-http.ts';
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

const NODE_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const EVENTS = '/api/v1/namespaces/default/events';

/** What `system:node:NAME` may and may not do: the node authorizer and NodeRestriction. */
export function describeNodeUser(server: () => ContractServer, { isAsNewest }: ContractServerKind): void {
  describe("a node's own user", () => {
    const asNode = (nodeName = 'node-a'): KubeRequestOptions => ({ token: server().nodeToken(nodeName) });
    let own: string;
    let foreign: string;
    beforeAll(async () => {
      own = uniqueName('own');
      foreign = uniqueName('foreign');
      await server().pods.create(own);
      await server().pods.create(foreign, { spec: { nodeName: 'node-b' } });
      await server().pods.untilNodeKnows(own, asNode());
      await server().pods.untilNodeKnows(foreign, asNode('node-b'));
    });

    describe('pods', () => {
      it('may read, patch and delete its own pods', async () => {
        const name = uniqueName('own');
        await server().pods.create(name);
        await server().pods.untilNodeKnows(name, asNode());
        expectOk(await server().pods.get(name, asNode()));
        expectOk(await server().pods.patchStatus(name, { phase: 'Running' }, asNode()));
        expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }, asNode()));
      });

      it.skipIf(!isAsNewest('get-of-missing-pod'))(
        'gets 403 to the GET of a pod of another node, a missing pod and a deleted pod alike',
        async () => {
          const deleted = uniqueName('deleted');
          await server().pods.create(deleted);
          await server().pods.untilNodeKnows(deleted, asNode());
          await server().pods.delete(deleted, { gracePeriodSeconds: 0 }, asNode());
          await server().pods.untilNodeForgets(deleted, asNode());
          for (const name of [foreign, uniqueName('missing'), deleted]) {
            expectFailure(await server().pods.get(name, asNode()), 403, 'Forbidden', {
              details: { name, kind: 'pods' },
            });
          }
        },
      );

      it('gets 404 to the PATCH and DELETE of a missing pod, and 403 to those of a pod of another node', async () => {
        const missing = uniqueName('missing');
        for (const [name, code, reason] of [
          [missing, 404, 'NotFound'],
          [foreign, 403, 'Forbidden'],
        ] as const) {
          const expected = { details: { name, kind: 'pods' } };
          expectFailure(await server().pods.patchStatus(name, { phase: 'Running' }, asNode()), code, reason, expected);
          expectFailure(await server().pods.delete(name, {}, asNode()), code, reason, expected);
        }
      });

      it('may not patch the pod itself, nor its labels through the status', async () => {
        const body = { metadata: { labels: { a: 'b' } } };
        for (const path of [own, `${own}/status`]) {
          expectFailure(await server().pods.patch(path, body, STRATEGIC_MERGE_PATCH, asNode()), 403, 'Forbidden', {
            details: { name: own, kind: 'pods' },
          });
        }
      });

      it.for<[string, Json, string]>([
        ['resourceClaimStatuses', [{ name: 'a', resourceClaimName: 'x' }], 'resource claim statues'],
        [
          'nodeAllocatableResourceClaimStatuses',
          [{ resourceClaimName: 'a' }],
          'node allocatable resource claim statuses',
        ],
        [
          'extendedResourceClaimStatus',
          { resourceClaimName: 'a', requestMappings: [] },
          'extended resource claim status',
        ],
      ])('may not set %s', async ([field, value, what], { skip }) => {
        const isNewer = field !== 'resourceClaimStatuses';
        skip(isNewer && !isAsNewest('newer-claim-statuses'), 'this version differs, see version-facts.ts');
        expectFailure(await server().pods.patchStatus(own, { [field]: value }, asNode()), 403, 'Forbidden', {
          message: `pods "${own}" is forbidden: node "node-a" cannot update ${what}`,
          details: { name: own, kind: 'pods' },
        });
      });

      it.skipIf(!isAsNewest('claim-statuses-kept'))(
        'may write a status with the resourceClaimStatuses that the pod has, but neither change nor remove them',
        async () => {
          const name = uniqueName('claims');
          const claims = (claimName: string): Json => ({
            resourceClaimStatuses: [{ name: 'a', resourceClaimName: claimName }],
          });
          await server().pods.create(name, {
            spec: { resourceClaims: [{ name: 'a', resourceClaimTemplateName: 't' }] },
          });
          expectOk(await server().pods.patchStatus(name, claims('x')));
          expectOk(await server().pods.patchStatus(name, { phase: 'Running', ...claims('x') }, asNode()));
          for (const status of [
            claims('y'),
            { resourceClaimStatuses: null },
            { resourceClaimStatuses: [{ $patch: 'replace' }] },
          ]) {
            expectFailure(await server().pods.patchStatus(name, status, asNode()), 403, 'Forbidden');
          }
        },
      );

      it.skipIf(!isAsNewest('list-of-all-pods'))(
        'may list and watch only with its own spec.nodeName as field selector',
        async () => {
          const { http } = server();
          const ownPods = 'fieldSelector=spec.nodeName%3Dnode-a';
          for (const path of [`/api/v1/pods?${ownPods}`, `${PODS_PATH}?${ownPods}`]) {
            const list = expectOk(await http.request('GET', path, asNode()));
            expect(new Set(list.items.map(({ spec }: Json) => spec.nodeName))).toEqual(new Set(['node-a']));
          }
          for (const path of ['/api/v1/pods', PODS_PATH, '/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-b']) {
            const expected = { details: { kind: 'pods' } };
            expectFailure(await http.request('GET', path, asNode()), 403, 'Forbidden', expected);
            const watchPath = `${path}${path.includes('?') ? '&' : '?'}watch=true`;
            expectFailure(await http.request('GET', watchPath, asNode()), 403, 'Forbidden', expected);
          }
        },
      );
    });

    describe('mirror pods', () => {
      let nodeUID: string;
      beforeAll(async () => {
        nodeUID = (await server().http.request('GET', '/api/v1/nodes/node-a')).body.metadata.uid;
      });
      const annotations = { 'kubernetes.io/config.mirror': 'hash' };
      const owner = (uid = nodeUID): Json => [
        { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid, controller: true },
      ];

      it('may create and read one with an ownerReference to its Node', async () => {
        const name = uniqueName('mirror');
        const body = podManifest(name, { metadata: { annotations, ownerReferences: owner() } });
        const created = await server().http.request('POST', PODS_PATH, { ...asNode(), body });
        expect(created.status).toBe(201);
        await server().pods.untilNodeKnows(name, asNode());
        expect(expectOk(await server().pods.get(name, asNode()))).toEqual(created.body);
      });

      it.for<[string, () => { metadata?: Json; spec?: Json }]>([
        ['a pod that is not a mirror', () => ({ metadata: { ownerReferences: owner() } })],
        ['a mirror without ownerReference', () => ({ metadata: { annotations } })],
        [
          'a mirror owned by a Node of another uid',
          () => ({ metadata: { annotations, ownerReferences: owner('other') } }),
        ],
        [
          'a mirror on another node',
          () => ({ metadata: { annotations, ownerReferences: owner() }, spec: { nodeName: 'node-b' } }),
        ],
      ])('may not create %s', async ([, overrides]) => {
        const name = uniqueName('mirror');
        const body = podManifest(name, overrides());
        expectFailure(await server().http.request('POST', PODS_PATH, { ...asNode(), body }), 403, 'Forbidden', {
          details: { name, kind: 'pods' },
        });
      });
    });

    describe('its Node, its Lease, Services, Events', () => {
      it('may create its own Node, read it, label it and patch its status, but not delete it', async () => {
        const { http } = server();
        const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-c' } };
        const created = await http.request('POST', '/api/v1/nodes', { ...asNode('node-c'), body });
        expect(created.status).toBe(201);
        const path = '/api/v1/nodes/node-c';
        expectOk(await http.request('GET', path, asNode('node-c')));
        const patch = { ...asNode('node-c'), contentType: STRATEGIC_MERGE_PATCH };
        const labels = { 'kubernetes.io/os': 'linux' };
        const labelled = expectOk(await http.request('PATCH', path, { ...patch, body: { metadata: { labels } } }));
        expect(labelled.metadata.labels).toMatchObject(labels);
        const conditions = [{ type: 'Ready', status: 'True' }];
        const ready = expectOk(
          await http.request('PATCH', `${path}/status`, { ...patch, body: { status: { conditions } } }),
        );
        expect(ready.status.conditions).toEqual([
          { type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null },
        ]);
        expectFailure(await http.request('DELETE', path, asNode('node-c')), 403, 'Forbidden', {
          details: { name: 'node-c', kind: 'nodes' },
        });
      });

      it.skipIf(!isAsNewest('get-of-other-node'))(
        'gets 403 to the GET of another Node and to the list of all Nodes',
        async () => {
          const { http } = server();
          expectFailure(await http.request('GET', '/api/v1/nodes/node-b', asNode()), 403, 'Forbidden', {
            details: { name: 'node-b', kind: 'nodes' },
          });
          expectFailure(await http.request('GET', '/api/v1/nodes', asNode()), 403, 'Forbidden');
          const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-x' } };
          expectFailure(await http.request('POST', '/api/v1/nodes', { ...asNode(), body }), 403, 'Forbidden');
          const conditions = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
          const patch = { ...asNode(), contentType: STRATEGIC_MERGE_PATCH, body: conditions };
          expectFailure(await http.request('PATCH', '/api/v1/nodes/node-b/status', patch), 403, 'Forbidden');
        },
      );

      it('may create, read and renew only the Lease with its own name', async () => {
        const { http } = server();
        const lease = (name: string): Json => ({
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name, namespace: 'kube-node-lease' },
          spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: '2024-01-01T00:00:00.123456Z' },
        });
        const created = await http.request('POST', NODE_LEASES, { ...asNode(), body: lease('node-a') });
        expect(created.status).toBe(201);
        expect(created.body.spec).toEqual(lease('node-a').spec);
        const renewTime = '2024-01-01T00:00:10.000000Z';
        const renew = { ...asNode(), contentType: MERGE_PATCH, body: { spec: { renewTime } } };
        expect(expectOk(await http.request('PATCH', `${NODE_LEASES}/node-a`, renew)).spec.renewTime).toBe(renewTime);
        expect(expectOk(await http.request('GET', `${NODE_LEASES}/node-a`, asNode())).spec.renewTime).toBe(renewTime);
        for (const refused of [
          await http.request('POST', NODE_LEASES, { ...asNode(), body: lease('node-b') }),
          await http.request('GET', `${NODE_LEASES}/node-b`, asNode()),
        ]) {
          expectFailure(refused, 403, 'Forbidden', {
            details: { name: 'node-b', group: 'coordination.k8s.io', kind: 'leases' },
          });
        }
      });

      it('may list and watch the Services of all namespaces', async () => {
        const path = '/api/v1/services';
        const list = expectOk(await server().http.request('GET', path, asNode()));
        expect(list.items.map(({ metadata }: Json) => metadata.name)).toEqual(['kubernetes']);
        const events = await server().http.watch(`${path}?watch=true`, asNode());
        expect((await events.next()).value).toMatchObject({
          type: 'ADDED',
          object: { metadata: { name: 'kubernetes' } },
        });
        events.close();
      });

      it('may create and patch Events, but not list them', async () => {
        const { http } = server();
        const name = uniqueName('event');
        const body = {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name, namespace: 'default' },
          involvedObject: { kind: 'Pod', namespace: 'default', name: own, uid: 'u' },
          reason: 'Started',
          message: 'm',
          type: 'Normal',
          count: 1,
          firstTimestamp: '2024-01-01T00:00:00Z',
          lastTimestamp: '2024-01-01T00:00:00Z',
          source: { component: 'kubelet' },
        };
        expect((await http.request('POST', EVENTS, { ...asNode(), body })).status).toBe(201);
        const patch = { ...asNode(), contentType: STRATEGIC_MERGE_PATCH, body: { count: 2 } };
        expect(expectOk(await http.request('PATCH', `${EVENTS}/${name}`, patch)).count).toBe(2);
        expectFailure(await http.request('GET', EVENTS, asNode()), 403, 'Forbidden');
        const found = expectOk(await http.request('GET', `${EVENTS}?fieldSelector=involvedObject.name%3D${own}`));
        expect(found.items.map((event: Json) => event.metadata.name)).toEqual([name]);
      });

      const references: readonly { readonly [field: string]: string }[] = [
        {
          ...{ kind: 'Pod', namespace: 'default', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '7' },
          fieldPath: 'spec.containers{c}',
        },
        {
          ...{ kind: 'Lease', namespace: 'kube-node-lease', name: 'l', uid: 'v', resourceVersion: '8' },
          ...{ apiVersion: 'coordination.k8s.io/v1', fieldPath: 'spec.renewTime' },
        },
        { kind: 'Node', name: 'n' },
      ];
      it.for(['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const)(
        'Events are selected by involvedObject.%s',
        async (field) => {
          const { http } = server();
          const reason = uniqueName('Reason');
          const names: string[] = [];
          for (const involvedObject of references) {
            const { namespace = 'default' } = involvedObject;
            const name = uniqueName('event');
            names.push(name);
            const body = {
              apiVersion: 'v1',
              kind: 'Event',
              metadata: { name, namespace },
              involvedObject,
              reason,
            };
            const created = await http.request('POST', `/api/v1/namespaces/${namespace}/events`, { body });
            expect(created).toMatchObject({ status: 201 });
          }
          const select = async (selector: string): Promise<Set<string>> => {
            const fieldSelector = encodeURIComponent(`reason=${reason},involvedObject.${field}${selector}`);
            const found = expectOk(await http.request('GET', `/api/v1/events?fieldSelector=${fieldSelector}`));
            return new Set(found.items.map((event: Json) => event.metadata.name));
          };
          for (const [at, reference] of references.entries()) {
            const value = reference[field] ?? '';
            expect(await select(`=${value}`)).toEqual(new Set([names[at]]));
            expect(await select(`!=${value}`)).toEqual(new Set(names.toSpliced(at, 1)));
          }
        },
      );
    });
  });
}
