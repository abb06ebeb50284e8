// node:test: an informer whose watch is cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager } from 'kubelet-status-manager/informer';
import { APIServer, FakeClock, fault, settle, silentLogger } from 'kubelet-status-manager/testing';

test('the informer misses nothing when its watch is cut', async (t) => {
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const server = await APIServer.start({ clock, nodeUsers: ['node-a'] });
  // Also when an assertion fails: an open server keeps the process alive.
  t.after(() => server.close());
  server.nodes.create('node-a');
  const client = createPodClient(server.kubeconfig('node-a'));
  const podManager = createInformerPodManager({
    client,
    nodeName: 'node-a',
    clock,
    logger: silentLogger,
  });
  podManager.start();
  await podManager.whenSynced();
  await settle(clock, server);

  assert.equal(server.faults.now({ verb: 'watch', resource: 'pods' }, fault.cut()), 1);
  const spec = { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] };
  server.pods.create({ metadata: { name: 'web' }, spec });
  await clock.advanceAsync(60_000, () => settle(clock, server));
  assert.deepEqual(
    podManager.getPods().map(({ metadata }) => metadata?.name),
    ['web'],
  );

  await podManager.stop();
  await client.transport.close();
});
