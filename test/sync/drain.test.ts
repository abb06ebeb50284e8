import { describe, expect, it } from 'vitest';
import { StatusManager } from '../../src/status-manager.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

describe('stop({ drain: true })', () => {
  it('sends what was set while an older version of the same pod was on its way', async () => {
    const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' }, spec: { containers: [] } };
    const client = new FakePodClient([pod]);
    const clock = new FakeClock();
    const manager = new StatusManager({ client, podDeletionSafety: () => false, clock, logger: silent });
    manager.start();
    const release = client.hold({ verb: 'patch' }, 1);
    manager.setPodStatus(pod, { phase: 'Pending' });
    await clock.yieldToEventLoop();
    manager.setPodStatus(pod, { phase: 'Running' });

    const stopped = manager.stop({ drain: true });
    release();
    await stopped;

    expect(client.pod('default', 'web')?.status?.phase).toBe('Running');
    expect(clock.pendingTimers).toBe(0);
  });
});
