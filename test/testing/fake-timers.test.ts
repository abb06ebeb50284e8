import { mock } from 'node:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BasicPodManager, type Pod, StatusManager } from '../../src/status-manager/index.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';

/** What Jest's modern fake timers replace; vitest's leave `queueMicrotask` and `nextTick` alone. */
const jestFakes = [
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] as const),
  ...(['Date', 'performance', 'hrtime', 'queueMicrotask'] as const),
];

const frameworks: Readonly<Record<string, () => void>> = {
  vitest: () => void vi.useFakeTimers(),
  Jest: () => {
    vi.useFakeTimers({ toFake: [...jestFakes] });
    // As in Jest, the global `process` is another object: Node.js itself, which delivers vitest's messages, has its own.
    vi.stubGlobal('process', Object.create(process, { nextTick: { value: () => {}, writable: true } }));
  },
  'node:test': () => mock.timers.enable(),
};

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  mock.timers.reset();
});

const pod: Pod = { metadata: { namespace: 'ns', name: 'p', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };

describe.each(Object.keys(frameworks))('FakeClock under the fake timers of %s', (name) => {
  it('a status is written, ticks follow the FakeClock, and the manager stops', async () => {
    const clock = new FakeClock();
    const client = new FakePodClient([pod]);
    const podManager = new BasicPodManager();
    podManager.setPods([pod]);
    frameworks[name]!();
    const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
    const outcomes: string[] = [];
    manager.subscribe({ onOutcome: ({ outcome }) => void outcomes.push(outcome) });
    manager.start();
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advanceAsync(0);
    expect(client.pod('ns', 'p')?.status?.phase).toBe('Running');
    expect(outcomes).toEqual(['written']);

    client.actions.length = 0;
    await clock.advanceAsync(10_000); // The pod manager still shows the old status, so a tick reads the pod.
    expect(client.actions.map(({ verb }) => verb)).toEqual(['get']);
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('the FakeClock and the fake timers are independent', async () => {
    frameworks[name]!();
    const clock = new FakeClock(0);
    const wallMs = Date.now();
    let hasFired = false;
    setTimeout(() => (hasFired = true), 1_000);
    await clock.advanceAsync(5_000);
    expect([hasFired, Date.now()]).toEqual([false, wallMs]);
    await clock.yieldToEventLoop();
    expect(clock.now()).toBe(5_000);
  });
});
