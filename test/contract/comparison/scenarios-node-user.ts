import type { Json } from '../../support/kube-http.ts';
import { del, get, MERGE, NODES, patch, pod, PODS, post, put, type Scenario, STRATEGIC } from './request.ts';

const P = `${PODS}/p`;
const A = `${NODES}/node-a`;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const user = { user: 'node-a' } as const;
const labelled = (labels: object) => patch(A, STRATEGIC, { metadata: { labels } }, user);
const review = (resourceAttributes: object) => post(REVIEW, { spec: { resourceAttributes } }, user);
const mirrorAnnotations = { 'kubernetes.io/config.mirror': 'x' };
/** A mirror pod whose owner is the Node that the scenario read first. */
const mirror =
  (spec: object = {}, owner: object = {}) =>
  ([node]: readonly Json[]): object => {
    const reference = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: node.metadata.uid, controller: true };
    return pod('mirror', spec, { annotations: mirrorAnnotations, ownerReferences: [{ ...reference, ...owner }] });
  };
const event = (name: string): object => ({ metadata: { name }, involvedObject: { namespace: 'other' } });
const lease = (name: string): object => ({ metadata: { name, namespace: 'kube-node-lease' } });

export const nodeUsers: readonly Scenario[] = [
  {
    title: 'a node user and pods',
    requests: [
      post(PODS, pod('p')),
      post(PODS, pod('q', { nodeName: 'node-b' })),
      get(P, user),
      get(`${PODS}/q`, user),
      get(`${PODS}/nope`, user),
      get(PODS, user),
      get(`${PODS}?fieldSelector=spec.nodeName%3Dnode-a`, user),
      get(`${PODS}?fieldSelector=spec.nodeName%3Dnode-b`, user),
      patch(P, MERGE, { metadata: { labels: { a: 'b' } } }, user),
      put(P, pod('p'), user),
      patch(`${P}/status`, STRATEGIC, { status: { phase: 'Running' } }, user),
      patch(`${P}/status`, STRATEGIC, { metadata: { labels: { a: 'b' } } }, user),
      patch(`${P}/status`, STRATEGIC, { metadata: { annotations: { a: 'b' } } }, user),
      patch(`${PODS}/q/status`, STRATEGIC, { status: { phase: 'Running' } }, user),
      patch(`${PODS}/nope/status`, STRATEGIC, { status: { phase: 'Running' } }, user),
      patch(`${P}/status`, STRATEGIC, { status: { extendedResourceClaimStatus: { resourceClaimName: 'x' } } }, user),
      patch(`${P}/resize`, STRATEGIC, { spec: {} }, user),
      patch(`${P}/ephemeralcontainers`, STRATEGIC, { spec: {} }, user),
      post(`${P}/binding`, { metadata: { name: 'p' }, target: { name: 'node-a' } }, user),
      post(`${PODS}/q/eviction`, { metadata: { name: 'q' } }, user),
      post(`${P}/eviction`, { metadata: { name: 'p' } }, user),
      post(PODS, pod('mine'), user),
      del(`${PODS}/q`, undefined, user),
      del(PODS, undefined, user),
      del(P, { gracePeriodSeconds: 0 }, user),
    ],
  },
  {
    title: 'a node user and mirror pods',
    requests: [
      get(A, user),
      post(PODS, mirror({ nodeName: 'node-b' }), user),
      post(PODS, mirror({}, { controller: false }), user),
      post(PODS, mirror({}, { uid: 'other' }), user),
      post(PODS, mirror({}, { blockOwnerDeletion: true }), user),
      post(PODS, mirror({}, { name: 'node-b' }), user),
      post(PODS, mirror({ serviceAccountName: 'x' }), user),
      post(PODS, mirror({ volumes: [{ name: 'v', secret: { secretName: 's' } }] }), user),
      post(PODS, mirror({ volumes: [{ name: 'v', configMap: { name: 's' } }] }), user),
      post(PODS, mirror({ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 's' } }] }), user),
      post(PODS, mirror({ imagePullSecrets: [{ name: 's' }] }), user),
      post(PODS, mirror({ containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'm' } }] }] }), user),
      post(PODS, pod('mirror', {}, { annotations: mirrorAnnotations }), user),
      post(PODS, mirror(), user),
      patch(`${PODS}/mirror/resize`, STRATEGIC, { spec: { containers: [{ name: 'c' }] } }),
      patch(`${PODS}/mirror`, MERGE, { metadata: { annotations: { 'kubernetes.io/config.mirror': 'y' } } }),
    ],
  },
  {
    title: 'a node user and its Node',
    requests: [
      get(A, user),
      get(`${NODES}/node-b`, user),
      get(NODES, user),
      get(`${NODES}?fieldSelector=metadata.name%3Dnode-a`, user),
      labelled({ 'node-role.kubernetes.io/control-plane': '' }),
      labelled({ 'node-restriction.kubernetes.io/x': 'y' }),
      labelled({ 'foo.node-restriction.kubernetes.io/x': 'y' }),
      labelled({ 'kubernetes.io/foo': 'y' }),
      labelled({ 'foo.k8s.io/foo': 'y' }),
      labelled({ 'kubernetes.io/hostname': 'node-a' }),
      labelled({ 'topology.kubernetes.io/zone': 'z' }),
      labelled({ 'kubelet.kubernetes.io/foo': 'y' }),
      labelled({ 'node.kubernetes.io/foo': 'y' }),
      labelled({ 'example.org/x': 'y' }),
      labelled({ 'example.org/x': null }),
      patch(A, STRATEGIC, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, user),
      patch(A, MERGE, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'a' }] } }, user),
      patch(
        A,
        STRATEGIC,
        { spec: { configSource: { configMap: { name: 'm', namespace: 'n', kubeletConfigKey: 'k' } } } },
        user,
      ),
      patch(A, STRATEGIC, { spec: { unschedulable: true } }, user),
      patch(A, STRATEGIC, { spec: { unschedulable: null } }, user),
      patch(`${A}/status`, STRATEGIC, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, user),
      patch(`${A}/status`, STRATEGIC, { metadata: { labels: { 'node-role.kubernetes.io/x': '' } } }, user),
      patch(`${NODES}/node-b`, STRATEGIC, { metadata: { labels: { a: 'b' } } }, user),
      patch(`${NODES}/node-b/status`, STRATEGIC, { status: {} }, user),
      post(NODES, { metadata: { name: 'node-x' } }, user),
      post(NODES, { metadata: { name: 'node-c', labels: { 'node-role.kubernetes.io/x': '' } } }, { user: 'node-b' }),
      del(A, undefined, user),
      del(NODES, undefined, user),
    ],
  },
  {
    title: 'a node user and Leases, Events and Namespaces',
    requests: [
      post(LEASES, lease('node-b'), user),
      post(LEASES, lease('node-a'), user),
      get(`${LEASES}/node-a`, user),
      get(`${LEASES}/node-b`, user),
      get(LEASES, user),
      patch(`${LEASES}/node-a`, MERGE, { spec: { holderIdentity: 'node-a' } }, user),
      patch(`${LEASES}/node-b`, MERGE, { spec: { holderIdentity: 'node-a' } }, user),
      post('/apis/coordination.k8s.io/v1/namespaces/NS/leases', { metadata: { name: 'node-a' } }, user),
      del(`${LEASES}/node-a`, undefined, user),
      post('/api/v1/namespaces/NS/events', event('e'), user),
      get('/api/v1/namespaces/NS/events', user),
      get('/api/v1/namespaces/NS', user),
      get('/api/v1/namespaces', user),
      get('/api/v1/namespaces/NS/services', user),
    ],
  },
  {
    title: 'access reviews',
    requests: [
      review({ verb: 'list', resource: 'pods' }),
      review({ verb: 'get', resource: 'nodes', name: 'node-a' }),
      review({ verb: 'get', resource: 'nodes', name: 'node-b' }),
      review({ verb: 'patch', resource: 'nodes', subresource: 'status', name: 'node-a' }),
      review({ verb: 'delete', resource: 'nodes', name: 'node-a' }),
      review({ verb: 'create', resource: 'events', namespace: 'default' }),
      review({ verb: 'get', resource: 'namespaces', name: 'default' }),
      review({ verb: 'list', resource: 'services' }),
      review({ verb: 'watch', resource: 'services' }),
      review({ verb: 'create', resource: 'services', namespace: 'default' }),
      review({ verb: 'patch', resource: 'pods', subresource: 'status', namespace: 'default', name: 'x' }),
      review({ verb: 'update', resource: 'pods', namespace: 'default', name: 'x' }),
      review({
        verb: 'get',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'kube-node-lease',
        name: 'node-a',
      }),
      review({ verb: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace: 'default', name: 'node-a' }),
      review({ verb: 'create', group: 'apps', resource: 'deployments' }),
      post(REVIEW, { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } }),
      post(REVIEW, { spec: { resourceAttributes: { verb: '*', group: '*', resource: '*' } } }),
      post(REVIEW, { spec: { resourceAttributes: { verb: 'list', group: 'apps', resource: 'deployments' } } }),
      post(REVIEW, { spec: {} }),
      post(REVIEW, { spec: 'x' }),
      post(REVIEW, { spec: { resourceAttributes: {}, nonResourceAttributes: {} } }),
      post(REVIEW, { spec: { nonResourceAttributes: { verb: 'get', path: '/healthz' } } }),
      post(REVIEW, { spec: { nonResourceAttributes: { verb: 'get', path: '/foo' } } }, user),
      get(REVIEW),
    ],
  },
  {
    title: 'impersonation',
    requests: [
      get(`${NODES}/node-b`, {
        headers: { 'impersonate-user': 'system:node:node-a', 'impersonate-group': 'system:nodes' },
      }),
      get(`${NODES}/node-a`, {
        headers: { 'impersonate-user': 'system:node:node-a', 'impersonate-group': 'system:nodes' },
      }),
      get(`${NODES}/node-a`, { headers: { 'impersonate-group': 'x' } }),
      get(`${NODES}/node-a`, { headers: { 'impersonate-user': 'admin' }, ...user }),
      get(`${NODES}/node-a`, { headers: { 'impersonate-user': 'alice' }, difference: 'impersonation' }),
    ],
  },
];
