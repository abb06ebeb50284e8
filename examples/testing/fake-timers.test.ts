// The timers of the code under test are those of vitest; the library is on a FakeClock.
import { afterEach, expect, it, vi } from 'vitest';
import { type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, silentLogger } from 'kubelet-status-manager/testing';

const pod: Pod = { metadata: { namespace: 'default', name: 'web', uid: 'web-1' }, spec: {} };

afterEach(() => vi.useRealTimers());

it('writes the status while the agent’s own timers are fake', async () => {
  vi.useFakeTimers();
  const clock = new FakeClock();
  const client = new FakePodClient([pod]);
  const manager = new StatusManager({
    client,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
  });
  manager.start();
  setTimeout(() => manager.setPodStatus(pod, { phase: 'Running' }), 1_000);
  vi.advanceTimersByTime(1_000);
  await clock.advanceAsync(0);
  expect(client.pod('default', 'web')?.status?.phase).toBe('Running');
  await manager.stop();
});
