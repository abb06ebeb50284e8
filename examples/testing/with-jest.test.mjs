// Jest: a request that the API server never answers, on the clock of the test.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { StatusManager } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, fault, settle, silentLogger, SyncedPodManager } from 'kubelet-status-manager/testing';

const clock = new FakeClock('2026-01-02T03:04:05Z');
let server;
let client;

beforeEach(async () => {
  server = await APIServer.start({ clock });
  client = createPodClient(server.kubeconfig());
});

afterEach(async () => {
  await client.transport.close();
  await server.close();
});

it('writes the status after a request that got no response', async () => {
  const podManager = new SyncedPodManager(server.pods);
  const manager = new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
  });
  manager.start();
  const spec = { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] };
  const pod = server.pods.create({ metadata: { name: 'web' }, spec });

  server.faults.next({ verb: 'patch', resource: 'pods', subresource: 'status' }, fault.hang());
  manager.setPodStatus(pod, { phase: 'Running' });
  await settle(clock, manager, server);
  expect(server.pods.get('default', 'web')?.status?.phase).toBe('Pending');
  expect(server.inFlight.held).toBe(1);

  // The manager gives the request up at its `requestTimeoutMs`, and tries again.
  await clock.advanceAsync(60_000, () => settle(manager, server));
  expect(server.pods.get('default', 'web')?.status?.phase).toBe('Running');
  await manager.stop();
});
