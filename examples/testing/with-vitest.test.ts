import { expect, it } from 'vitest';
import { type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, fault, silentLogger, SyncedPodManager } from 'kubelet-status-manager/testing';

const pod: Pod = {
  metadata: { namespace: 'default', name: 'web', uid: 'web-1' },
  spec: { containers: [{ name: 'app', image: 'app:1' }] },
};

it('writes the status after the wait that the API server asks for', async () => {
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const client = new FakePodClient([pod], { clock });
  const podManager = new SyncedPodManager(client);
  const manager = new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
  });
  manager.start();

  client.faults.next({ verb: 'patch', name: 'web' }, fault.status(429, { retryAfterMs: 5_000 }));
  manager.setPodStatus(pod, { phase: 'Running' });
  await clock.advanceAsync(4_000);
  expect(client.pod('default', 'web')?.status?.phase).toBeUndefined();
  await clock.advanceAsync(30_000);
  expect(client.pod('default', 'web')?.status?.phase).toBe('Running');
  expect(client.faults.pending).toEqual([]);
  await manager.stop();
});
