import { describe, expect, it } from 'vitest';
import { type Json, KubeHTTP } from '../support/kube-http.ts';
import { PODS, podOf, startServer } from './harness.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const EVENTS = '/api/v1/namespaces/default/events';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

const namesOf = (list: Json): string[] => list.items.map(({ metadata }: Json) => metadata.name);

describe('lists', () => {
  it('are paged by limit, and continue where the last page ended', async () => {
    const { server, http } = await startServer();
    for (const name of ['c', 'a', 'b']) server.pods.create(podOf(name));
    const first = (await http.request('GET', `${PODS}?limit=2`)).body;
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(first.metadata.remainingItemCount).toBe(1);
    const second = (await http.request('GET', `${PODS}?limit=2&continue=${first.metadata.continue}`)).body;
    expect(namesOf(second)).toEqual(['c']);
    expect(second.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
    server.compact();
    server.pods.create(podOf('d'));
    server.compact();
    const late = await http.request('GET', `${PODS}?limit=2&continue=${first.metadata.continue}`);
    expect(late.body).toMatchObject({ code: 410, reason: 'Expired' });
  });

  it('have remainingItemCount only without a selector, and ignore limit at resourceVersion 0', async () => {
    const { server, http } = await startServer();
    for (const name of ['a', 'b']) server.pods.create(podOf(name));
    const selected = (await http.request('GET', `${PODS}?limit=1&fieldSelector=metadata.name%21%3Dz`)).body;
    expect(selected.metadata).toEqual({ resourceVersion: expect.any(String), continue: expect.any(String) });
    expect(namesOf((await http.request('GET', `${PODS}?limit=1&resourceVersion=0`)).body)).toEqual(['a', 'b']);
  });

  it.for([
    ['limit=x', 400],
    ['continue=x', 400],
    ['resourceVersion=x', 400],
    ['resourceVersion=1000000', 504],
    ['resourceVersion=1&resourceVersionMatch=Exact', 410],
    ['fieldSelector=foo', 400],
    ['fieldSelector=foo%3Dbar', 400],
    ['labelSelector=a%20b', 400],
  ] as const)('are refused: %s with %i', async ([query, code]) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    expect((await http.request('GET', `${PODS}?${query}`)).body.code).toBe(code);
  });

  it.for([
    ['app=web', ['a']],
    ['app==web,tier!=back', ['a']],
    ['app!=web', ['b', 'c']],
    ['app in (web, db)', ['a', 'b']],
    ['app notin (web)', ['b', 'c']],
    ['app', ['a', 'b']],
    ['!app', ['c']],
    ['weight>5', ['b']],
    ['weight<5', ['a']],
    ['app in (web,db),weight>5', ['b']],
    ['constructor', []],
    ['', ['a', 'b', 'c']],
  ] as const)('select by labels: %s', async ([selector, expected]) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('a', {}, { labels: { app: 'web', tier: 'front', weight: '1' } }));
    server.pods.create(podOf('b', {}, { labels: { app: 'db', weight: '9' } }));
    server.pods.create(podOf('c'));
    const list = (await http.request('GET', `${PODS}?labelSelector=${encodeURIComponent(selector)}`)).body;
    expect(namesOf(list)).toEqual(expected);
  });

  it.for([
    ['metadata.name=a', ['a']],
    ['metadata.namespace!=default', []],
    ['spec.nodeName=', ['b']],
    ['spec.nodeName=node-a,status.phase!=Succeeded,status.phase!=Failed', ['a']],
  ] as const)('select by fields: %s', async ([selector, expected]) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('a'));
    server.pods.create(podOf('b', { nodeName: undefined }));
    server.pods.create(podOf('c'));
    server.pods.patchStatus('default', 'c', { status: { phase: 'Failed' } });
    const list = (await http.request('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`)).body;
    expect(namesOf(list)).toEqual(expected);
  });

  it('can be deleted with a selector', async () => {
    const { server, http } = await startServer();
    server.pods.create(podOf('a', {}, { labels: { run: 'x' } }));
    server.pods.create(podOf('b'));
    const gone = (await http.request('DELETE', `${PODS}?gracePeriodSeconds=0&labelSelector=run%3Dx`)).body;
    expect(namesOf(gone)).toEqual(['a']);
    expect(server.pods.list().map(({ metadata }) => metadata?.name)).toEqual(['b']);
  });
});

describe('nodes', () => {
  const node = { metadata: { name: 'n' }, status: { capacity: { cpu: '1000m' } } };

  it('get a not-ready taint, canonical quantities and empty node info', async () => {
    const { http } = await startServer();
    const { body } = await http.request('POST', '/api/v1/nodes', { body: node });
    expect(body).toMatchObject({
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      status: { capacity: { cpu: '1' }, nodeInfo: { kubeletVersion: '' } },
    });
    expect(body.metadata).not.toHaveProperty('generation');
  });

  it('keep their spec in a status patch, and their status in a patch', async () => {
    const { http } = await startServer();
    await http.request('POST', '/api/v1/nodes', { body: node });
    const body = {
      spec: { unschedulable: true },
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00.5Z' }] },
    };
    const byStatus = (await http.request('PATCH', '/api/v1/nodes/n/status', { body, contentType: STRATEGIC })).body;
    expect(byStatus.spec).not.toHaveProperty('unschedulable');
    expect(byStatus.status.conditions).toEqual([
      { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: null },
    ]);
    const bySpec = (await http.request('PATCH', '/api/v1/nodes/n', { body, contentType: MERGE })).body;
    expect(bySpec.spec.unschedulable).toBe(true);
    expect(bySpec.status).toEqual(byStatus.status);
  });

  it('are removed immediately when deleted, with a Status; with a finalizer they stay', async () => {
    const { http } = await startServer();
    await http.request('POST', '/api/v1/nodes', { body: node });
    expect((await http.request('DELETE', '/api/v1/nodes/n')).body).toMatchObject({ kind: 'Status', status: 'Success' });
    const body = { metadata: { name: 'n', finalizers: ['a.b/c'] } };
    await http.request('POST', '/api/v1/nodes', { body });
    expect((await http.request('DELETE', '/api/v1/nodes/n')).body).toMatchObject({
      kind: 'Node',
      metadata: { deletionTimestamp: expect.any(String) },
    });
    await http.request('PATCH', '/api/v1/nodes/n', { body: { metadata: { finalizers: null } }, contentType: MERGE });
    expect((await http.request('GET', '/api/v1/nodes/n')).status).toBe(404);
  });
});

describe('leases', () => {
  const lease = (spec: object) => ({ metadata: { name: 'l' }, spec });

  it('keep microseconds, and reject a time without them', async () => {
    const { http } = await startServer();
    const renewTime = '2026-01-01T00:00:00.123456Z';
    const created = await http.request('PUT', `${LEASES}/l`, { body: lease({ renewTime }) });
    expect([created.status, created.body.spec.renewTime]).toEqual([201, renewTime]);
    const refused = await http.request('POST', LEASES, { body: lease({ renewTime: '2026-01-01T00:00:00Z' }) });
    expect(refused.status).toBe(400);
  });

  it('are replaced only with the current resourceVersion', async () => {
    const { http } = await startServer();
    const { body } = await http.request('POST', LEASES, { body: lease({ holderIdentity: 'a' }) });
    expect((await http.request('PUT', `${LEASES}/l`, { body: lease({}) })).status).toBe(422);
    expect((await http.request('PUT', `${LEASES}/l`, { body: { ...body, spec: {} } })).status).toBe(200);
    expect((await http.request('PUT', `${LEASES}/l`, { body })).body).toMatchObject({ code: 409, reason: 'Conflict' });
  });
});

describe('events', () => {
  const event = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default', uid: 'u' },
    ...{ reason: 'R', message: 'm', count: 1 },
  };

  it('are selected as kubectl describe selects them', async () => {
    const { http } = await startServer();
    await http.request('POST', EVENTS, { body: event });
    const query = (namespace: string) =>
      `involvedObject.name=p,involvedObject.namespace=${namespace},involvedObject.kind=Pod,involvedObject.uid=u`;
    for (const [namespace, expected] of [
      ['default', ['e']],
      ['', []],
    ] as const) {
      const path = `${EVENTS}?fieldSelector=${encodeURIComponent(query(namespace))}`;
      expect(namesOf((await http.request('GET', path)).body)).toEqual(expected);
    }
  });
});

describe('namespaces', () => {
  it('hold objects until they are being deleted', async () => {
    const { http } = await startServer();
    const pods = '/api/v1/namespaces/n/pods';
    expect((await http.request('POST', pods, { body: podOf('p') })).status).toBe(404);
    await http.request('POST', '/api/v1/namespaces', { body: { metadata: { name: 'n' } } });
    expect((await http.request('POST', pods, { body: podOf('p') })).status).toBe(201);
    expect((await http.request('DELETE', '/api/v1/namespaces/n')).body.status).toEqual({ phase: 'Terminating' });
    expect((await http.request('POST', pods, { body: podOf('q') })).body).toMatchObject({ code: 403 });
  });
});

describe('services', () => {
  it('the Service kubernetes leads to the server, for users and nodes', async () => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const path = '/api/v1/namespaces/default/services';
    const url = new URL(server.url);
    const { body } = await http.request('GET', `${path}/kubernetes`);
    expect(body.spec).toMatchObject({ clusterIP: url.hostname, ports: [{ port: Number(url.port), protocol: 'TCP' }] });
    const node = new KubeHTTP({ url: server.url, token: server.nodeToken('node-a') });
    expect(namesOf((await node.request('GET', path)).body)).toEqual(['kubernetes']);
    await node.close();
    expect(namesOf((await http.request('GET', '/api/v1/namespaces/kube-system/services')).body)).toEqual([]);
    expect(namesOf((await http.request('GET', '/api/v1/services?fieldSelector=spec.type=ClusterIP')).body)).toEqual([
      'kubernetes',
    ]);
  });

  it('it is still the same after a crash of the server', async () => {
    const { server, http } = await startServer();
    const path = '/api/v1/namespaces/default/services/kubernetes';
    const { body: before } = await http.request('GET', path);
    await server.kill();
    await server.startAgain();
    expect((await http.request('GET', path)).body).toEqual(before);
  });
});

describe('pods', () => {
  it.for([
    ['another priority', { priority: 5 }, 403],
    ['an unknown priority class', { priorityClassName: 'nope' }, 403],
    ['an unknown restart policy', { restartPolicy: 'Sometimes' }, 422],
    [
      'a name twice',
      {
        containers: [
          { name: 'c', image: 'x' },
          { name: 'c', image: 'x' },
        ],
      },
      422,
    ],
    ['a bad quantity', { containers: [{ name: 'c', image: 'x', resources: { limits: { cpu: 'x' } } }] }, 400],
    ['no list of containers', { containers: 'c' }, 400],
  ] as const)('are refused with %s', async ([, spec, code]) => {
    const { http } = await startServer();
    expect((await http.request('POST', PODS, { body: podOf('p', spec) })).body.code).toBe(code);
  });

  it('accept updates of image, deadline and tolerations, and get the default tolerations back', async () => {
    const { server } = await startServer();
    const { spec } = server.pods.create(podOf('p')) as { spec: Json };
    const patch = {
      spec: { containers: [{ name: 'c', image: 'other' }], activeDeadlineSeconds: 5, tolerations: [{ key: 'k' }] },
    };
    const patched = server.pods.patch('default', 'p', patch) as { spec: Json };
    expect(patched.spec).toMatchObject({ containers: [{ image: 'other' }], activeDeadlineSeconds: 5 });
    expect(patched.spec.tolerations).toEqual([{ key: 'k' }, ...spec.tolerations]);
    expect(() => server.pods.patch('default', 'p', { spec: { terminationGracePeriodSeconds: 1 } })).toThrow(
      /pod updates may not change fields/,
    );
    expect(() => server.pods.patch('default', 'p', { spec: { containers: [{ name: 'd', image: 'x' }] } })).toThrow(
      /may not add or remove containers/,
    );
  });

  it('keep observed generations that an update omits', async () => {
    const { server } = await startServer();
    server.pods.create(podOf('p'));
    const conditions = [{ type: 'A', status: 'True', observedGeneration: 4 }];
    server.pods.patchStatus('default', 'p', { status: { observedGeneration: 5, conditions } });
    const patch = { observedGeneration: null, conditions: [{ type: 'A', status: 'False', observedGeneration: null }] };
    expect(server.pods.patchStatus('default', 'p', { status: patch }).status).toMatchObject({
      observedGeneration: 5,
      conditions: [{ type: 'A', status: 'False', observedGeneration: 4 }],
    });
  });
});

describe("a mirror pod of a node's user", () => {
  it.for([
    ['is taken', {}, 201],
    ['is refused with an owner that is no controller', { controller: false }, 403],
    ['is refused with an owner of another kind', { kind: 'Pod' }, 403],
    ['is refused with another Node as owner', { name: 'node-b' }, 403],
    ['is refused with another UID', { uid: 'other' }, 403],
  ] as const)('%s', async ([, owner, code]) => {
    const { server, http } = await startServer({ nodeUsers: ['node-a'] });
    const node = (await http.request('POST', '/api/v1/nodes', { body: { metadata: { name: 'node-a' } } })).body;
    const reference = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: node.metadata.uid, controller: true };
    const annotations = { 'kubernetes.io/config.mirror': 'hash' };
    const body = podOf('m', {}, { annotations, ownerReferences: [{ ...reference, ...owner }] });
    expect((await http.request('POST', PODS, { body, token: server.nodeToken('node-a') })).status).toBe(code);
  });
});

describe('discovery', () => {
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

  it('lists the resources of each group version', async () => {
    const { http } = await startServer();
    expect((await http.request('GET', '/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const groups = (await http.request('GET', '/apis')).body.groups.map(({ name }: Json) => name);
    expect(groups.toSorted()).toEqual(['authentication.k8s.io', 'authorization.k8s.io', 'coordination.k8s.io']);
    const core = (await http.request('GET', '/api/v1')).body.resources;
    expect(core.map(({ name }: Json) => name)).toEqual(
      expect.arrayContaining(['pods', 'pods/status', 'pods/binding', 'nodes', 'nodes/status', 'events', 'namespaces']),
    );
    for (const group of groups) {
      expect((await http.request('GET', `/apis/${group}`)).body).toMatchObject({ kind: 'APIGroup', name: group });
      expect((await http.request('GET', `/apis/${group}/v1`)).body).toMatchObject({ groupVersion: `${group}/v1` });
    }
    expect((await http.request('GET', '/apis/apps/v1')).status).toBe(404);
  });

  it('responds in the aggregated form if the client accepts it', async () => {
    const { http } = await startServer();
    const headers = { accept: `${aggregated},application/json` };
    for (const path of ['/api', '/apis']) {
      const response = await http.request('GET', path, { headers });
      expect(response.headers['content-type']).toBe(aggregated);
      expect(response.body.kind).toBe('APIGroupDiscoveryList');
    }
    const { body } = await http.request('GET', '/api', { headers });
    const pods = body.items[0].versions[0].resources.find(({ resource }: Json) => resource === 'pods');
    expect(pods).toMatchObject({ scope: 'Namespaced', singularResource: 'pod', responseKind: { kind: 'Pod' } });
  });

  it('serves its version and an OpenAPI document with fieldValidation', async () => {
    const { http } = await startServer();
    expect((await http.request('GET', '/version')).body.gitVersion).toMatch(/^v1\.37\./);
    const { paths } = (await http.request('GET', '/openapi/v3')).body;
    const core = (await http.request('GET', paths['api/v1'].serverRelativeURL)).body;
    const { post } = core.paths['/api/v1/namespaces/{namespace}/pods'];
    expect(post.parameters).toContainEqual(expect.objectContaining({ name: 'fieldValidation', in: 'query' }));
  });
});
