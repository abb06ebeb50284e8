import { del, get, MERGE, NODES, patch, post, put, type Scenario, STRATEGIC } from './request.ts';

const N = `${NODES}/NS`;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/NS/leases';
const EVENTS = '/api/v1/namespaces/NS/events';
const time = '2001-02-03T04:05:06Z';
const microTime = '2001-02-03T04:05:06.000007Z';
const node = (rest: object = {}): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'NS' }, ...rest });
const named = (name: string, rest: object = {}): object => ({ metadata: { name }, ...rest });
/** An event for an object in the namespace that is called NS in the titles. */
const event = (name: string, rest: object = {}): object => ({
  metadata: { name },
  involvedObject: { kind: 'Pod', name: 'p' },
  ...rest,
});

export const others: readonly Scenario[] = [
  {
    title: 'nodes',
    requests: [
      post(NODES, node({ spec: { taints: [{ key: 'a', effect: 'Never' }] } })),
      post(NODES, node({ spec: { taints: [{ key: 'a b', effect: 'NoSchedule' }] } })),
      post(NODES, node({ status: { declaredFeatures: ['B', 'A', 'A', 'c'] } })),
      post(
        NODES,
        node({
          spec: {
            taints: [
              { key: 'a', effect: 'NoSchedule' },
              { key: 'a', effect: 'NoSchedule' },
            ],
          },
        }),
      ),
      post(NODES, node({ spec: { podCIDR: 'x' } })),
      post(NODES, node({ spec: { unschedulable: 'yes' } })),
      post(NODES, node({ metadata: { name: 'A B' } })),
      post(NODES, node({ spec: { podCIDR: '10.1.0.0/24', providerID: 'x://y', foo: 1 } })),
      post(NODES, node()),
      get(N),
      patch(N, STRATEGIC, { spec: { unschedulable: true } }),
      patch(N, STRATEGIC, { spec: { podCIDR: '10.2.0.0/24' } }),
      patch(N, STRATEGIC, { spec: { providerID: 'z://z' } }),
      patch(N, STRATEGIC, { spec: { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } }),
      patch(N, MERGE, { spec: { taints: null } }),
      patch(N, MERGE, { status: { phase: 'Running' } }),
      patch(`${N}/status`, STRATEGIC, {
        status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time }] },
      }),
      patch(`${N}/status`, STRATEGIC, { status: { conditions: [{ type: 'Other', status: 'False', foo: 1 }] } }),
      patch(`${N}/status`, STRATEGIC, { status: { capacity: { cpu: '4000m', memory: '1024Ki' } } }),
      patch(`${N}/status`, STRATEGIC, { status: { capacity: { cpu: 'x' } } }),
      patch(`${N}/status`, STRATEGIC, { status: { allocatable: { pods: 110, cpu: '-1' } } }),
      patch(`${N}/status`, STRATEGIC, { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } }),
      patch(`${N}/status`, STRATEGIC, { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] } }),
      patch(`${N}/status`, STRATEGIC, { status: { nodeInfo: { kubeletVersion: 'v1' } } }),
      patch(`${N}/status`, STRATEGIC, { status: { nodeInfo: 'x' } }),
      patch(`${N}/status`, STRATEGIC, { spec: { unschedulable: null } }),
      patch(N, MERGE, { metadata: { labels: { a: 'b' } } }),
      put(N, node({ spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'], providerID: 'x://y' } })),
      put(`${N}/status`, node({ status: { conditions: [] } })),
      put(`${NODES}/nope`, node({ metadata: { name: 'nope' } })),
      del(N),
    ],
  },
  {
    title: 'leases',
    requests: [
      post(LEASES, named('l', { spec: { renewTime: time } })),
      post(LEASES, named('l', { spec: { renewTime: 'x' } })),
      post(LEASES, named('l', { spec: { leaseDurationSeconds: 0 } })),
      post(LEASES, named('l', { spec: { leaseDurationSeconds: -1 } })),
      post(LEASES, named('l', { spec: { leaseDurationSeconds: '40' } })),
      post(LEASES, named('l', { spec: { leaseTransitions: -1 } })),
      post(LEASES, named('l', { spec: { holderIdentity: 7 } })),
      post(LEASES, named('l', { spec: { strategy: 'Nonsense' } })),
      post(LEASES, named('l', { spec: { preferredHolder: 'x' } })),
      post(
        LEASES,
        named('l', { spec: { foo: 1, holderIdentity: 'a', leaseDurationSeconds: 40, renewTime: microTime } }),
      ),
      post(LEASES, named('l')),
      patch(`${LEASES}/l`, MERGE, { spec: { renewTime: '2001-02-03T04:05:07.000008+01:00' } }),
      patch(`${LEASES}/l`, STRATEGIC, { spec: { holderIdentity: null } }),
      patch(`${LEASES}/l`, MERGE, { spec: { leaseDurationSeconds: -5 } }),
      put(`${LEASES}/l`, named('l', { spec: {} })),
      put(`${LEASES}/l`, named('l', { metadata: { name: 'l', resourceVersion: '1' } })),
      put(`${LEASES}/l`, (seen: readonly { metadata?: { resourceVersion?: string } }[]) => {
        const resourceVersion = seen.findLast((body) => body.metadata?.resourceVersion !== undefined)?.metadata;
        return {
          metadata: { name: 'l', resourceVersion: resourceVersion?.resourceVersion },
          spec: { holderIdentity: 'b' },
        };
      }),
      put(`${LEASES}/m`, named('m', { spec: { holderIdentity: 'c' } })),
      put(`${LEASES}/n`, named('o')),
      get(`${LEASES}/l/status`),
      get(LEASES),
      del(`${LEASES}/l`),
      del(`${LEASES}/l`),
    ],
  },
  {
    title: 'events',
    requests: [
      post(EVENTS, event('e', { involvedObject: { namespace: 'other' } })),
      post(EVENTS, event('e')),
      post(EVENTS, event('e', { involvedObject: { kind: 'Node', name: 'n' } })),
      post('/api/v1/namespaces/default/events', {
        ...event('NS-a', {
          involvedObject: { kind: 'Node', name: 'n' },
          reason: 'R',
          message: 'M',
          type: 'Normal',
          count: 1,
        }),
      }),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-b', { involvedObject: { namespace: 'default' }, type: 'Odd' }),
      ),
      post('/api/v1/namespaces/default/events', event('NS-c', { involvedObject: 'x' })),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-c', { involvedObject: { namespace: 'default' }, count: '1' }),
      ),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-c', { involvedObject: { namespace: 'default' }, firstTimestamp: 'x' }),
      ),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-c', { involvedObject: { namespace: 'default' }, eventTime: time }),
      ),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-c', { involvedObject: { namespace: 'default' }, eventTime: microTime }),
      ),
      post(
        '/api/v1/namespaces/default/events',
        event('NS-d', { involvedObject: { namespace: 'default' }, message: 'x'.repeat(2000) }),
      ),
      post('/api/v1/namespaces/default/events', {
        ...event('NS-f', { involvedObject: { namespace: 'default', foo: 1 }, bar: 2, series: { count: 3 } }),
      }),
      patch('/api/v1/namespaces/default/events/NS-a', STRATEGIC, { count: 2, lastTimestamp: time }),
      patch('/api/v1/namespaces/default/events/NS-a', STRATEGIC, { involvedObject: { namespace: 'other' } }),
      patch('/api/v1/namespaces/default/events/NS-a', MERGE, { message: 'N' }),
      put('/api/v1/namespaces/default/events/NS-g', event('NS-g', { involvedObject: { namespace: 'default' } })),
      get('/api/v1/namespaces/default/events/NS-a'),
    ],
  },
  {
    title: 'namespaces',
    requests: [
      get('/api/v1/namespaces/NS'),
      post('/api/v1/namespaces', { metadata: { name: 'NS' } }),
      post('/api/v1/namespaces', { metadata: { name: 'A' } }),
      post('/api/v1/namespaces', { metadata: { name: 'a.b' } }),
      post('/api/v1/namespaces', { metadata: { name: 'x-NS' }, spec: { foo: 1 }, status: { phase: 'Terminating' } }),
      patch('/api/v1/namespaces/x-NS', MERGE, { metadata: { labels: { a: 'b' } } }),
      patch('/api/v1/namespaces/x-NS', MERGE, { metadata: { labels: { 'kubernetes.io/metadata.name': 'other' } } }),
      patch('/api/v1/namespaces/x-NS', STRATEGIC, { spec: { finalizers: [] } }),
      patch('/api/v1/namespaces/x-NS/status', STRATEGIC, { status: { phase: 'Terminating' } }),
      put('/api/v1/namespaces/x-NS', { metadata: { name: 'x-NS' } }),
      get('/api/v1/namespaces/nope'),
      post('/api/v1/namespaces/nope/pods', {
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      }),
      get('/api/v1/namespaces/nope/pods'),
      del('/api/v1/namespaces/default'),
      del('/api/v1/namespaces/kube-system'),
      del('/api/v1/namespaces/x-NS'),
      post('/api/v1/namespaces/x-NS/pods', {
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      }),
    ],
  },
];
