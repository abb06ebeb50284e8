import { afterEach, describe, expect, it } from 'vitest';
import { type Pod, StatusManager, type StatusManagerOptions } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import {
  APIServer,
  FakeClock,
  FakePodClient,
  recordingLogger,
  settle,
  silentLogger,
  SyncedPodManager,
} from 'kubelet-status-manager/testing';

const podNamed = (name: string, uid: string, nodeName = 'node-a'): Pod => ({
  metadata: { namespace: 'default', name, uid },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
});

describe('SyncedPodManager, of a FakePodClient', () => {
  it('has the pods of its node, and reflects every write to them', async () => {
    const client = new FakePodClient([podNamed('a', 'u1'), podNamed('b', 'u2', 'node-b')]);
    const podManager = new SyncedPodManager(client, { nodeName: 'node-a' });
    const uids = (): string[] => podManager.getPods().map(({ metadata }) => metadata.uid);
    expect(uids()).toEqual(['u1']);
    client.put(podNamed('c', 'u3'));
    client.put(podNamed('d', 'u4', 'node-b'));
    expect(uids()).toEqual(['u1', 'u3']);
    client.put(podNamed('a', 'u5'));
    expect(uids()).toEqual(['u3', 'u5']);
    client.remove('default', 'c');
    expect(uids()).toEqual(['u5']);
    podManager.stop();
    client.remove('default', 'a');
    expect(uids()).toEqual(['u5']);
  });

  it('reflects the manager’s own write, so that a full batch has nothing to do', async () => {
    const clock = new FakeClock();
    const pod = podNamed('a', 'u1');
    const client = new FakePodClient([pod]);
    const podManager = new SyncedPodManager(client);
    const manager = new StatusManager({
      client,
      podManager,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: silentLogger,
    });
    manager.start();
    manager.setPodStatus(pod, { phase: 'Running', qosClass: 'BestEffort' });
    await clock.advanceAsync(30_000);
    expect(client.actions.map(({ verb }) => verb)).toEqual(['get', 'patch']);
    await manager.stop();
  });
});

describe('SyncedPodManager, of an APIServer', () => {
  let server: APIServer;
  afterEach(() => server.close());

  it('shows pods that are created, written by the manager and deleted', async () => {
    server = await APIServer.start({ tls: false });
    const client = createPodClient(server.kubeconfig());
    const podManager = new SyncedPodManager(server.pods);
    const manager = new StatusManager({
      client,
      podManager,
      podCouldHaveRunningContainers: () => false,
      logger: silentLogger,
    });
    manager.start();
    const pod = server.pods.create(podNamed('a', ''));
    const uid = pod.metadata.uid;
    manager.setPodStatus(podManager.getPodByUID(uid)!, { phase: 'Running' });
    await settle(manager, server);
    expect(podManager.getPodByUID(uid)?.status?.phase).toBe('Running');
    server.pods.delete('default', 'a', { gracePeriodSeconds: 0 });
    expect(podManager.getPods()).toEqual([]);
    // The objects of the history were of the type `object`.
    expect(server.history('default/a').map(({ verb, object }) => `${verb} ${object.status?.phase}`)).toEqual([
      ...['create Pending', 'patch Running', 'delete Running', 'delete Running'],
    ]);
    await manager.stop();
    await client.transport.close();
  });
});

describe('APIServer, without HTTP', () => {
  let server: APIServer;
  afterEach(() => server.close());

  it('creates, changes and deletes Nodes and Namespaces', async () => {
    server = await APIServer.start({ tls: false });
    const node = server.nodes.create('node-a');
    expect(node).toMatchObject({ kind: 'Node', metadata: { name: 'node-a' } });
    server.nodes.create({ metadata: { name: 'node-b', labels: { zone: 'x' } } });
    server.nodes.patch('node-a', { metadata: { labels: { zone: 'y' } } });
    const conditions = [{ type: 'Ready', status: 'True' }];
    expect(server.nodes.patchStatus('node-a', { status: { conditions } })).toMatchObject({ status: { conditions } });
    expect(server.nodes.list().map(({ metadata: { labels } }) => labels)).toEqual([{ zone: 'y' }, { zone: 'x' }]);
    server.nodes.delete('node-b');
    expect(server.nodes.get('node-b')).toBeUndefined();
    expect(() => server.nodes.create('node-a')).toThrow('already exists');

    server.namespaces.create('mine');
    expect(server.pods.create({ ...podNamed('p', ''), metadata: { namespace: 'mine', name: 'p' } })).toBeDefined();
    const names = server.namespaces.list().map(({ metadata: { name } }) => name);
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system', 'mine']);
    expect(server.requests).toEqual([]);
  });
});

describe('a status manager on the system clock', () => {
  const clock = new FakeClock();
  const warningsOf = (options: Partial<StatusManagerOptions>): readonly string[] => {
    const logger = recordingLogger();
    void new StatusManager({ podCouldHaveRunningContainers: () => false, logger, ...options });
    return logger.warnings.map(({ message }) => message);
  };
  const podManagerOf = (source: ConstructorParameters<typeof SyncedPodManager>[0]) => new SyncedPodManager(source);
  const client = new FakePodClient([], { clock });

  it.each<[string, Partial<StatusManagerOptions>]>([
    ['a FakePodClient', { client }],
    ['a SyncedPodManager', { podManager: podManagerOf(client) }],
    ['both', { client, podManager: podManagerOf(client) }],
  ])('a status manager on the system clock warns once about %s with a FakeClock', (_, options) => {
    expect(warningsOf(options)).toEqual([expect.stringContaining('pass it as `clock`')]);
    expect(warningsOf({ ...options, clock })).toEqual([]);
  });

  it('a status manager does not warn about fakes on the system clock', () => {
    expect(warningsOf({ client: new FakePodClient(), podManager: podManagerOf(new FakePodClient()) })).toEqual([]);
  });

  it("warns of a SyncedPodManager of an APIServer's pods with a FakeClock", async () => {
    await using server = await APIServer.start({ clock });
    expect(warningsOf({ podManager: podManagerOf(server.pods) })).toHaveLength(1);
  });
});
