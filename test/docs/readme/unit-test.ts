import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, fault, SyncedPodManager } from 'kubelet-status-manager/testing';

test('a status is written when the API server has recovered', async () => {
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const pod = {
    metadata: { namespace: 'default', name: 'web', uid: 'web-1' },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
  };
  const client = new FakePodClient([pod], { clock });
  const podManager = new SyncedPodManager(client);
  const manager = new StatusManager({ client, podManager, podDeletionSafety: () => false, clock });
  manager.start();

  client.faults.next({ verb: 'patch', count: 3 }, fault.status(500));
  manager.setPodStatus(pod, { phase: 'Running' });
  await clock.advanceAsync(1_000);
  assert.equal(client.pod('default', 'web')?.status?.phase, undefined);
  await clock.advanceAsync(60_000);
  assert.equal(client.pod('default', 'web')?.status?.phase, 'Running');
  await manager.stop();
});
