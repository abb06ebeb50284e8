import { beforeEach, expect, it } from 'vitest';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import type { PodProvider } from '../../src/virtual-nodes/pod-provider.ts';
import { ProviderCalls } from '../../src/virtual-nodes/calls/provider-calls.ts';

let clock: FakeClock;
let calls: ProviderCalls;
let metrics: string[];
beforeEach(() => {
  clock = new FakeClock();
  metrics = [];
  calls = new ProviderCalls({
    logger: recordingLogger(),
    ...{ provider: {} as PodProvider, clock, callTimeoutMs: 1000, concurrency: 2 },
    recordMetric: (...[name, , ...labels]) =>
      void (name.endsWith('total') && metrics.push([name, ...labels].join(' '))),
  });
});

/** A call that settles when it is told to. */
function controlled() {
  let resolve = (): void => {};
  let isStarted = false;
  let signal: AbortSignal | undefined;
  return {
    call: (options: { readonly signal: AbortSignal }) => {
      isStarted = true;
      signal = options.signal;
      return new Promise<void>((resolveCall) => (resolve = resolveCall));
    },
    settle: () => resolve(),
    isStarted: () => isStarted,
    isAborted: () => signal?.aborted,
  };
}
const never = new AbortController().signal;

it('calls for one pod are made one after the other, in the order of the requests', async () => {
  const [first, second] = [controlled(), controlled()];
  const firstDone = calls.forPod('a', 'create_pod', never, first.call);
  const secondDone = calls.forPod('a', 'delete_pod', never, second.call);
  await clock.yieldToEventLoop();
  expect([first.isStarted(), second.isStarted()]).toEqual([true, false]);
  first.settle();
  await firstDone;
  await clock.yieldToEventLoop();
  expect(second.isStarted()).toBe(true);
  second.settle();
  await secondDone;
  expect(calls.inProgress).toBe(0);
  expect(clock.pendingTimers).toBe(0);
});

it('an aborted call rejects immediately; the next one for the pod waits until the provider has settled it', async () => {
  const [first, second] = [controlled(), controlled()];
  const abort = new AbortController();
  const firstDone = calls.forPod('a', 'create_pod', abort.signal, first.call);
  await clock.yieldToEventLoop();
  abort.abort(new Error('superseded'));
  await expect(firstDone).rejects.toThrow('superseded');
  expect(first.isAborted()).toBe(true);
  const secondDone = calls.forPod('a', 'delete_pod', never, second.call);
  await clock.yieldToEventLoop();
  expect(second.isStarted()).toBe(false);
  first.settle();
  await clock.yieldToEventLoop();
  expect(second.isStarted()).toBe(true);
  second.settle();
  await secondDone;
});

it('a call that is aborted while it waits is not made, and the one behind it is', async () => {
  const [first, second, third] = [controlled(), controlled(), controlled()];
  const abort = new AbortController();
  void calls.forPod('a', 'create_pod', never, first.call);
  const secondDone = calls.forPod('a', 'update_pod', abort.signal, second.call);
  void calls.forPod('a', 'delete_pod', never, third.call);
  abort.abort(new Error('superseded'));
  await expect(secondDone).rejects.toThrow('superseded');
  await clock.yieldToEventLoop();
  expect(third.isStarted()).toBe(false);
  first.settle();
  await clock.yieldToEventLoop();
  expect([second.isStarted(), third.isStarted()]).toEqual([false, true]);
});

it('a call that is aborted at any moment before it is made holds neither a slot nor the turn of its pod', async () => {
  for (let ticks = 0; ticks < 10; ticks++) {
    const abort = new AbortController();
    const aborted = [1, 2, 3].map((i) => calls.forPod(`${i}`, 'create_pod', abort.signal, async () => {}));
    const settled = Promise.allSettled(aborted);
    for (let i = 0; i < ticks; i++) await Promise.resolve();
    abort.abort(new Error('superseded'));
    await settled;
    await clock.yieldToEventLoop();
    expect([calls.inProgress, clock.pendingTimers]).toEqual([0, 0]);
    await calls.forPod('1', 'delete_pod', never, async () => {});
  }
});

it('a call that does not settle rejects after the time-out, and no longer counts', async () => {
  const [first, second, third] = [controlled(), controlled(), controlled()];
  const failures = [
    calls.forPod('a', 'create_pod', never, first.call),
    calls.forPod('b', 'create_pod', never, second.call),
  ];
  const thirdDone = calls.forPod('c', 'create_pod', never, third.call);
  const settled = Promise.allSettled(failures);
  await clock.advanceAsync(999);
  expect([calls.inProgress, third.isStarted()]).toEqual([2, false]);
  await clock.advanceAsync(1);
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([calls.inProgress, third.isStarted()]).toEqual([1, true]);
  third.settle();
  await thirdDone;
  expect(metrics.toSorted()).toEqual([
    'node_agent_provider_calls_total create_pod ok',
    ...Array.from({ length: 2 }, () => 'node_agent_provider_calls_total create_pod timeout'),
    ...Array.from({ length: 2 }, () => 'runtime_operations_errors_total create_pod'),
    ...Array.from({ length: 3 }, () => 'runtime_operations_total create_pod'),
  ]);
});

it('a call that throws synchronously rejects, and the next one is made', async () => {
  const broken = () => {
    throw new TypeError('broken');
  };
  await expect(calls.forPod('a', 'create_pod', never, broken)).rejects.toThrow('broken');
  await expect(calls.forPod('a', 'create_pod', never, async () => 1)).resolves.toBe(1);
  expect(clock.pendingTimers).toBe(0);
});
