import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';
import { informerPodManagerFrom } from '../../src/kube/informer/index.ts';
import { createNodeAgent } from '../../src/agent/index.ts';
import { FakeContainerRuntime } from '../../src/testing/index.ts';
import { SyncHarness, uidOf } from './sync/sync-harness.ts';

/** A manager whose status of pod `a` cannot be written: its PATCH never gets a response. */
function unwritable(): SyncHarness {
  const h = new SyncHarness();
  h.addPods('a');
  h.client.hold({ verb: 'patch' });
  h.manager.start();
  h.set('a', '1');
  return h;
}

type Wait = (signal: AbortSignal) => Promise<unknown>;

const waits: Record<string, () => { readonly wait: Wait; readonly end?: () => Promise<unknown> }> = {
  whenWritten: () => {
    const { manager } = unwritable();
    return { wait: (signal) => manager.whenWritten(uidOf('a'), { signal }), end: () => manager.stop() };
  },
  flush: () => {
    const { manager } = unwritable();
    return { wait: (signal) => manager.flush(60_000, { signal }), end: () => manager.stop() };
  },
  'whenSynced of an informer': () => {
    const pods = informerPodManagerFrom({ on: () => {}, off: () => {}, list: () => [] }, { logger: silentLogger });
    return { wait: (signal) => pods.whenSynced({ signal }) };
  },
  'whenReady of an agent': () => {
    const clock = new FakeClock();
    const options = { nodeName: 'a', runtime: new FakeContainerRuntime({ clock }), clock, logger: silentLogger };
    const agent = createNodeAgent({ ...options, sources: [{ name: 'silent', start: () => {}, stop: async () => {} }] });
    return { wait: (signal) => agent.whenReady({ signal }) };
  },
};

it.each(Object.entries(waits))(
  '%s rejects with the reason of its signal, and leaves no listener',
  async (_, create) => {
    const { wait, end } = create();
    const controller = new AbortController();
    const waited = wait(controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(waited).rejects.toBe(reason);
    await expect(wait(AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(wait({} as AbortSignal)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', path: 'signal' });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await end?.();
  },
);

it('whenWritten leaves no waiter behind when its signal is aborted', async () => {
  const h = unwritable();
  const controller = new AbortController();
  const [aborted, waiting] = [
    h.manager.whenWritten(uidOf('a'), { signal: controller.signal }),
    h.manager.whenWritten(uidOf('a')),
  ];
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  await h.manager.stop();
  expect(await waiting).toEqual({ written: false, reason: 'stopped' });
});

it('the statuses are still sent after a flush was aborted', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  h.client.fail({ verb: 'patch' }, 503);
  h.manager.start();
  h.set('a', '1');
  await h.settle();
  const controller = new AbortController();
  const flushed = h.manager.flush(60_000, { signal: controller.signal });
  controller.abort();
  await expect(flushed).rejects.toMatchObject({ name: 'AbortError' });
  await h.clock.advanceAsync(60_000);
  expect(h.written('a')).toBe('1');
  await h.manager.stop();
});

it('stop ends its drain when the signal is aborted, leaves no timer, and never rejects', async () => {
  const h = unwritable();
  await h.settle();
  const controller = new AbortController();
  const stopped = h.manager.stop({ drain: true, deadlineMs: 60_000, signal: controller.signal });
  controller.abort();
  await stopped;
  expect(h.manager.state).toBe('stopped');
  expect(h.clock.pendingTimers).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
});
