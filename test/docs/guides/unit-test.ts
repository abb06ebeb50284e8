// status.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, fault } from 'kubelet-status-manager/testing';

test('a status is written after an outage', async () => {
  const clock = new FakeClock();
  const pod = { metadata: { namespace: 'default', name: 'web', uid: 'web-1' }, spec: {} };
  const client = new FakePodClient([pod], { clock });
  const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, clock });
  manager.start();

  client.faults.next({ verb: 'patch', count: 3 }, fault.status(500));
  manager.setPodStatus(pod, { phase: 'Running' });
  await clock.advanceAsync(60_000);
  assert.equal(client.pod('default', 'web')?.status?.phase, 'Running');
  await manager.stop();
});
