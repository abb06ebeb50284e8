import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeOwnership } from '../../../src/virtual-nodes/replicas/node-ownership.ts';
import type { NodeOwnershipOptions, OwnedNode } from '../../../src/virtual-nodes/replicas/node-ownership-options.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { StatusManagerError } from 'kubelet-status-manager';
import { FakeClock, fault, recordingLogger, type RecordingLogger, settle } from 'kubelet-status-manager/testing';
import { DirectAPIServer } from '../../support/direct-api-server.ts';

const nodeNames = ['node-a', 'node-b', 'node-c', 'node-d'];
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

interface Replica {
  readonly ownership: NodeOwnership;
  readonly owned: Map<string, OwnedNode>;
  readonly ends: string[];
  readonly logger: RecordingLogger;
  /** What `onLost` waits for. */
  drained: Promise<void>;
}

let clock: FakeClock;
let server: DirectAPIServer;
let transport: KubeTransport;
let replicas: Replica[];
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  server = new DirectAPIServer({ clock });
  transport = server.client().transport;
  replicas = [];
});
afterEach(async () => {
  server.faults.clear();
  for (const { ownership } of replicas) await stopped(ownership);
  await transport.close();
  server.kill();
});

function newReplica(options: Partial<NodeOwnershipOptions> = {}): Replica {
  const owned = new Map<string, OwnedNode>();
  const ends: string[] = [];
  const logger = recordingLogger();
  const ownership = new NodeOwnership({
    transport,
    identity: `replica-${replicas.length}`,
    namespace: 'kube-system',
    nodeNames,
    onOwned: (node) => void owned.set(node.nodeName, node),
    onLost: async ({ nodeName }, reason) => {
      ends.push(reason);
      await replica.drained;
      owned.delete(nodeName);
    },
    logger,
    clock,
    random: () => 0.5,
    ...options,
  });
  const replica: Replica = { ownership, owned, ends, logger, drained: Promise.resolve() };
  replicas.push(replica);
  ownership.start();
  return replica;
}

const pass = (ms: number): Promise<void> => clock.advanceAsync(ms, () => settle(clock, server));

async function stopped(ownership: NodeOwnership): Promise<void> {
  let isStopped = false;
  void ownership.stop().then(() => (isStopped = true));
  while (!isStopped) await pass(1_000);
}

interface AnyLease {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly spec: Record<string, unknown>;
}
async function readLease(name: string): Promise<AnyLease> {
  return (await transport.request('GET', `${leasesPath}/virtual-nodes.${name}`)).json() as AnyLease;
}
async function leaseNames(): Promise<string[]> {
  const { items } = (await transport.request('GET', leasesPath)).json() as { items: AnyLease[] };
  return items.map(({ metadata }) => metadata.name);
}
async function writeLease(lease: AnyLease): Promise<void> {
  await transport.request('PUT', `${leasesPath}/${lease.metadata.name}`, { body: lease });
}
async function createLease(name: string, spec: object): Promise<void> {
  const labels = { 'kubelet-status-manager/replicas': 'virtual-nodes' };
  await transport.request('POST', leasesPath, { body: { metadata: { name: `virtual-nodes.${name}`, labels }, spec } });
}
/** How often each node's Lease was taken. */
const transitions = ({ owned }: Replica): number[] => [...owned.values()].map(({ epoch }) => epoch % 1_000_000);

describe('taking nodes', () => {
  it('nodes without a Lease are taken after its duration, and shared evenly', async () => {
    const [a, b] = [newReplica(), newReplica({ random: () => 0.6 })];
    await pass(14_900);
    expect([a.owned.size, b.owned.size]).toEqual([0, 0]);
    await pass(2_300);
    expect([a.owned.size, b.owned.size]).toEqual([2, 2]);
    expect(transitions(a)).toEqual([1, 1]);
    const [nodeName] = a.owned.keys();
    const { spec } = await readLease(`node.${nodeName}`);
    expect(spec).toMatchObject({ holderIdentity: a.ownership.identity, leaseDurationSeconds: 15, leaseTransitions: 1 });
  });

  it('an idle replica renews one Lease and lists once in two seconds, whatever the number of nodes', async () => {
    newReplica({ nodeNames: Array.from({ length: 100 }, (_, i) => `node-${i}`) });
    await pass(30_000);
    const before = server.requests.length;
    await pass(21_000);
    const requests = server.requests.slice(before);
    expect(requests.filter(({ method }) => method === 'PUT')).toHaveLength(10);
    expect(requests.filter(({ method }) => method === 'GET')).toHaveLength(10);
    expect(requests).toHaveLength(20);
  });

  it('a node that the other replicas do not have is taken, and offered to them only every 150 s', async () => {
    const a = newReplica({ nodeNames: [] });
    const b = newReplica({ nodeNames: ['node-a', 'node-b'], random: () => 0.6 });
    await pass(30_000);
    expect(b.owned.size).toBe(2);
    await pass(130_000);
    expect([b.owned.size, b.ends, a.owned.size]).toEqual([2, [], 0]);
    await pass(30_000);
    expect([b.owned.size, b.ends, a.owned.size]).toEqual([2, ['handover'], 0]);
  });

  it('setNodes releases nodes that it does not have any more, and takes new ones immediately', async () => {
    const a = newReplica();
    await pass(20_000);
    a.ownership.setNodes(['node-a', 'node-x']);
    await pass(100);
    expect([...a.owned.keys()].sort()).toEqual(['node-a', 'node-x']);
    expect(a.ends).toEqual(['removed', 'removed', 'removed']);
    expect((await readLease('node.node-b')).spec['holderIdentity']).toBe('');
  });
});

describe('a node that setNodes leaves out and has again before the next list', () => {
  it('loses its owner, and is taken again with a higher epoch', async () => {
    const a = newReplica();
    await pass(20_000);
    const before = a.owned.get('node-b')!;
    a.ownership.setNodes(['node-a']);
    a.ownership.setNodes(nodeNames);
    await pass(5_000);
    expect(a.ends).toEqual(['removed', 'removed', 'removed']);
    expect(before.isOwned()).toBe(false);
    expect([...a.owned.keys()].sort()).toEqual(nodeNames);
    expect(a.owned.get('node-b')!.epoch).toBeGreaterThan(before.epoch);
  });
});

describe('handing over', () => {
  it('a new replica gets its share as soon as it is listed, with higher epochs', async () => {
    const a = newReplica();
    await pass(20_000);
    const b = newReplica({ random: () => 0.6 });
    await pass(2_500);
    expect(a.ends).toEqual(['handover', 'handover']);
    await pass(2_200);
    expect([a.owned.size, b.owned.size]).toEqual([2, 2]);
    expect(transitions(b)).toEqual([2, 2]);
  });

  it('stop drains: a node is owned until its onLost has ended, and has its next owner one renewal later', async () => {
    const [a, b] = [newReplica(), newReplica({ random: () => 0.6 })];
    await pass(20_000);
    let drained = (): void => {};
    a.drained = new Promise((resolve) => (drained = resolve));
    const nodes = [...a.owned.values()];
    const stopping = a.ownership.stop();
    await pass(10_000);
    expect(nodes.map((node) => node.isOwned())).toEqual([true, true]);
    expect(b.owned.size).toBe(2);
    drained();
    await pass(2_200);
    expect(nodes.map((node) => node.isOwned())).toEqual([false, false]);
    expect(b.owned.size).toBe(4);
    await stopping;
    await stopped(b.ownership);
    expect(clock.pendingTimers).toBe(0);
    expect(a.ends).toEqual(['stopping', 'stopping']);
    expect((await readLease(`member.${a.ownership.identity}`)).spec['holderIdentity']).toBe('');
  });

  it('stop leaves no timer, also if the Lease of a node is being written', async () => {
    const { ownership } = newReplica();
    const writing = server.faults.next({ verb: 'create', resource: 'leases', count: 4 }, fault.delay(2500));
    await pass(1000);
    while (writing.remaining > 0) await pass(100);
    await stopped(ownership);
    await pass(0);
    expect(clock.pendingTimers).toBe(0);
    expect(ownership.inspect().memberSince).toBeUndefined();
  });

  it('an onLost that does not end delays the release by the time-out and the margin, and is reported', async () => {
    const [a, b] = [newReplica({ drainTimeoutMs: 20_000 }), newReplica({ random: () => 0.6 })];
    await pass(20_000);
    a.drained = new Promise(() => {});
    const nodes = [...a.owned.values()];
    const stopping = a.ownership.stop();
    await pass(20_500);
    expect(nodes.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(b.owned.size).toBe(2);
    await pass(7_000);
    expect(b.owned.size).toBe(4);
    expect(a.logger.warnings.map(({ message }) => message)).toContain(
      'onLost has not ended in time: calls may still be in flight',
    );
    await stopping;
  });

  it('what onOwned and onLost throw is logged, and the node is released nevertheless', async () => {
    const failing = (): never => {
      throw new Error('no cloud');
    };
    const a = newReplica({ onOwned: failing, onLost: failing });
    await pass(20_000);
    await stopped(a.ownership);
    expect(new Set(a.logger.errors.map(({ message }) => message))).toEqual(new Set(['onOwned threw', 'onLost threw']));
    expect((await readLease('node.node-a')).spec['holderIdentity']).toBe('');
  });
});

describe('losing touch', () => {
  it('ends all ownerships 10 s after the start of the last renewal, says what failed since when, and takes the nodes again', async () => {
    const a = newReplica();
    await pass(20_000);
    const nodes = [...a.owned.values()];
    const outage = server.faults.next({ resource: 'leases', count: Infinity }, fault.status(503));
    await pass(7_900);
    expect(nodes.every((node) => node.isOwned())).toBe(true);
    await pass(2_200);
    expect(nodes.some((node) => node.isOwned() || !node.signal.aborted)).toBe(false);
    expect(a.ends).toEqual(['lost', 'lost', 'lost', 'lost']);
    const lost = a.logger.warnings.find(({ message }) => message === 'The ownership of all nodes has ended');
    expect(lost?.fields).toMatchObject({ nodes: 4, failingSince: '2026-01-02T03:04:26Z' });
    expect(a.ownership.inspect()).toMatchObject({
      memberSince: undefined,
      failingSince: '2026-01-02T03:04:26Z',
      failureReason: '503 ServiceUnavailable: the test asked for 503 ServiceUnavailable',
    });
    outage.cancel();
    await pass(4_400);
    expect(transitions(a)).toEqual([2, 2, 2, 2]);
    expect(a.ownership.inspect().failingSince).toBeUndefined();
  });

  it.each<[string, object]>([
    ['listed', { verb: 'list', resource: 'leases' }],
    ['renewed', { verb: 'update', resource: 'leases' }],
  ])('Leases that cannot be %s are enough to end all ownerships', async (_, match) => {
    const a = newReplica();
    await pass(20_000);
    const nodes = [...a.owned.values()];
    server.faults.next({ ...match, count: Infinity }, fault.status(403));
    await pass(10_100);
    expect(nodes.some((node) => node.isOwned())).toBe(false);
  });

  it('requests that hang end after 3 s, so that there are three tries', async () => {
    const a = newReplica();
    await pass(20_000);
    server.faults.next({ verb: 'update', resource: 'leases', count: 2 }, fault.hang());
    await pass(20_000);
    expect(a.ends).toEqual([]);
    expect(a.logger.warnings.map(({ message }) => message)).toContain('Renewing the Lease of this replica failed');
  });

  it('the 10 s begin when a renewal is sent, not when its response arrives', async () => {
    const a = newReplica();
    await pass(20_000);
    server.faults.next({ verb: 'update', resource: 'leases', count: Infinity }, fault.delay(2_500));
    await pass(5_000);
    const sent = server.requests.findLast(({ method }) => method === 'PUT');
    expect(sent?.status).toBe(200);
    server.faults.clear();
    server.faults.next({ resource: 'leases', count: Infinity }, fault.status(503));
    const nodes = [...a.owned.values()];
    // The last successful renewal was sent 2.5 s before its response, which came less than 5 s ago.
    await pass(7_500);
    expect(nodes.some((node) => node.isOwned())).toBe(false);
  });

  it('a Retry-After is obeyed up to a third of the duration', async () => {
    const a = newReplica();
    await pass(20_000);
    server.faults.next({ verb: 'list', resource: 'leases' }, fault.status(429, { retryAfterMs: 60_000 }));
    await pass(9_000);
    expect(a.ends).toEqual([]);
  });

  it('the wall clock may be set back and forward', async () => {
    const a = newReplica();
    await pass(20_000);
    for (const time of ['2020-01-01T00:00:00Z', '2036-01-01T00:00:00Z', '2026-01-02T03:04:05Z']) {
      clock.setWallTime(time);
      await pass(20_000);
    }
    expect([a.owned.size, a.ends]).toEqual([4, []]);
  });

  it('a replica whose Lease was changed by others after its expiry ends its ownerships and joins again', async () => {
    const a = newReplica();
    await pass(20_000);
    const member = await readLease(`member.${a.ownership.identity}`);
    await writeLease({ ...member, spec: { ...member.spec, holderIdentity: '' } });
    await pass(2_500);
    expect(a.ends).toEqual(['lost', 'lost', 'lost', 'lost']);
    await pass(4_000);
    expect(transitions(a)).toEqual([2, 2, 2, 2]);
  });
});

describe('Leases that somebody else writes or deletes', () => {
  it('a deleted Lease of a node ends its ownership within a renewal; the node is taken again with a higher epoch', async () => {
    const a = newReplica();
    await pass(20_000);
    const { epoch } = a.owned.get('node-a')!;
    await transport.request('DELETE', `${leasesPath}/virtual-nodes.node.node-a`);
    await pass(2_300);
    expect(a.ends).toEqual(['lost']);
    await pass(16_000);
    expect(a.owned.get('node-a')?.epoch).toBeGreaterThan(epoch);
    const fields = { node: 'node-a', epoch, holder: undefined };
    expect(a.logger.warnings).toContainEqual(
      expect.objectContaining({ fields, message: 'Somebody else has changed or deleted the Lease of an owned node' }),
    );
  });

  it('a Lease that was created and deleted while a replica could not list counts as held, too', async () => {
    const cutOff = new Set<string>();
    const listing = (name: string): Pick<KubeTransport, 'request'> => ({
      request: async (method, path, options) => {
        if (method === 'GET' && cutOff.has(name)) throw new Error('cut off');
        return transport.request(method, path, options);
      },
    });
    const a = newReplica({ nodeNames: [], transport: listing('a') });
    const b = newReplica({ nodeNames: [], transport: listing('b'), random: () => 0.6 });
    await pass(30_000);
    cutOff.add('b');
    a.ownership.setNodes(nodeNames);
    await pass(1_000);
    for (const nodeName of nodeNames) await transport.request('DELETE', `${leasesPath}/virtual-nodes.node.${nodeName}`);
    cutOff.add('a');
    b.ownership.setNodes(nodeNames);
    await pass(5_000);
    cutOff.delete('b');
    await pass(2_000);
    expect([...a.owned.values()].map((node) => node.isOwned())).toEqual([true, true, true, true]);
    expect(b.owned.size).toBe(0);
    await pass(30_000);
    expect(b.owned.size).toBe(4);
  });

  it('epochs grow when the Lease of a node was deleted while no replica ran', async () => {
    const a = newReplica({ nodeNames: ['node-a'] });
    await pass(20_000);
    const { epoch } = a.owned.get('node-a')!;
    await stopped(a.ownership);
    for (const name of await leaseNames()) await transport.request('DELETE', `${leasesPath}/${name}`);
    const b = newReplica({ nodeNames: ['node-a'] });
    await pass(20_000);
    expect(b.owned.get('node-a')?.epoch).toBeGreaterThan(epoch);
    expect(b.owned.get('node-a')?.epoch).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });

  it('a deleted member Lease ends all ownerships, and is created again', async () => {
    const a = newReplica();
    await pass(20_000);
    await transport.request('DELETE', `${leasesPath}/virtual-nodes.member.${a.ownership.identity}`);
    await pass(2_300);
    expect(a.ends).toEqual(['lost', 'lost', 'lost', 'lost']);
    await pass(4_400);
    expect(transitions(a)).toEqual([2, 2, 2, 2]);
  });

  it.each<[string, object]>([
    ['held by nobody that is known', { holderIdentity: 'somebody', leaseTransitions: 7 }],
    ['with a duration that no replica can have', { holderIdentity: 'somebody', leaseDurationSeconds: 2147483647 }],
    ['with a time far in the future', { holderIdentity: 'somebody', renewTime: '9999-01-01T00:00:00.000000Z' }],
  ])('a Lease %s is taken after the duration', async (_, spec) => {
    await createLease('node.node-a', spec);
    const a = newReplica({ nodeNames: ['node-a'] });
    await pass(14_000);
    expect(a.owned.size).toBe(0);
    await pass(3_000);
    expect(a.owned.size).toBe(1);
  });

  it('an epoch that cannot grow is reported, and the node is taken when its Lease was deleted', async () => {
    await createLease('node.node-a', { leaseTransitions: 2147483647 });
    const a = newReplica();
    await pass(20_000);
    expect(a.owned.size).toBe(3);
    expect(a.ownership.inspect().failureReason).toBe('spec.leaseTransitions has reached its maximum: delete the Lease');
    await transport.request('DELETE', `${leasesPath}/virtual-nodes.node.node-a`);
    await pass(20_000);
    expect(a.owned.size).toBe(4);
  });

  it('Leases of members that have never lived are removed, and do not keep nodes', async () => {
    for (let i = 0; i < 100; i++) await createLease(`member.ghost-${i}`, { holderIdentity: `ghost-${i}` });
    const a = newReplica();
    await pass(25_000);
    expect(a.owned.size).toBe(4);
    await pass(160_000);
    expect((await leaseNames()).filter((name) => name.includes('ghost'))).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['no list', []],
    ['null', null],
    ['a list of other things', { items: [null, 1, [], {}, { metadata: {} }, { metadata: { name: 1 }, spec: {} }] }],
    [
      'Leases with fields of other types',
      {
        items: [
          {
            metadata: { name: 'virtual-nodes.node.node-a', resourceVersion: '1' },
            spec: { holderIdentity: {}, leaseTransitions: 'x' },
          },
          {
            metadata: { name: 'virtual-nodes.member.__proto__', resourceVersion: '1' },
            spec: { leaseDurationSeconds: [] },
          },
          { metadata: { name: '../..', resourceVersion: '1' }, spec: {} },
        ],
      },
    ],
  ])('a response that is %s does no harm', async (_, body) => {
    const a = newReplica();
    await pass(20_000);
    server.faults.next({ verb: 'list', resource: 'leases' }, fault.body(JSON.stringify(body)));
    await pass(30_000);
    expect(a.owned.size).toBe(4);
    expect(a.logger.errors).toEqual([]);
  });
});

describe('options', () => {
  it.each<[string, Partial<NodeOwnershipOptions>]>([
    ['identity', { identity: 'a/b' }],
    ['identity', { identity: '' }],
    ['namespace', { namespace: '../x' }],
    ['name', { name: 'a.b' }],
    ['leaseDurationSeconds', { leaseDurationSeconds: 4 }],
    ['leaseDurationSeconds', { leaseDurationSeconds: 601 }],
    ['drainTimeoutMs', { drainTimeoutMs: 0 }],
  ])('%s is checked', (path, options) => {
    expect(() => newReplica(options)).toThrow(StatusManagerError);
    expect(() => newReplica(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
  });

  it('the names of Leases stay below 253 characters', async () => {
    const long = 'a'.repeat(170);
    const a = newReplica({ identity: long, name: 'a'.repeat(63), nodeNames: [long] });
    await pass(20_000);
    expect(a.owned.size).toBe(1);
  });
});
