import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { ConnectionQueue } from '../../../src/kube/http/connection-queue.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

function setUp() {
  const [clock, logger] = [new FakeClock(), recordingLogger()];
  const queue = new ConnectionQueue({ connections: 1, waitTimeoutMs: 20_000, clock, logger });
  return { clock, logger, queue };
}

it('a free connection is taken at once; a request that waits is admitted when one is returned', async () => {
  const { queue, clock } = setUp();
  const events: string[] = [];
  const observed = { onQueued: () => void events.push('queued'), onStarted: () => void events.push('started') };
  expect(queue.enter(observed)).toBeUndefined();
  expect(events).toEqual([]);
  const waiting = queue.enter(observed);
  expect(events).toEqual(['queued']);
  queue.leave();
  await waiting;
  expect(events).toEqual(['queued', 'started']);
  expect(clock.pendingTimers).toBe(0);
});

it('a request that has waited too long fails, and says why', async () => {
  const { queue, clock } = setUp();
  void queue.enter({});
  const waiting = queue.enter({});
  clock.advance(20_000);
  await expect(waiting).rejects.toMatchObject({
    kind: 'connection-wait',
    message: 'no connection became free within 20000 ms (all 1 are in use)',
  });
});

it('a request that is aborted while it waits leaves neither a listener nor a timer', async () => {
  const { queue, clock } = setUp();
  void queue.enter({});
  const controller = new AbortController();
  const waiting = queue.enter({ signal: controller.signal });
  expect(getEventListeners(controller.signal, 'abort').length).toBe(1);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
  expect([getEventListeners(controller.signal, 'abort').length, clock.pendingTimers]).toEqual([0, 0]);
  // The connection is free for the next one.
  queue.leave();
  expect(queue.enter({})).toBeUndefined();
});

it('a long wait is a warning that names the option', async () => {
  const { queue, clock, logger } = setUp();
  void queue.enter({});
  const waiting = queue.enter({});
  clock.advance(15_000);
  queue.leave();
  await waiting;
  expect(logger.warnings).toMatchObject([{ fields: { waitedMs: 15_000, connections: 1 } }]);
});

it('a callback that throws is named in the log', async () => {
  const { queue, logger } = setUp();
  const fail = (): never => {
    throw new Error('broken');
  };
  void queue.enter({});
  const waiting = queue.enter({ onQueued: fail, onStarted: fail });
  queue.leave();
  await waiting;
  expect(logger.warnings).toMatchObject(
    ['onQueued', 'onStarted'].map((method) => ({
      message: 'User callback threw',
      fields: { method, reason: 'broken' },
    })),
  );
});
