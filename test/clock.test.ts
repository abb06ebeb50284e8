import { expect, it } from 'vitest';
import { sleep } from '../src/clock.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';

it('sleep ends with its time, with its signal, and immediately for one that is aborted already', async () => {
  const clock = new FakeClock();
  const slept = sleep(clock, 1_000, new AbortController().signal);
  clock.advance(1_000);
  await slept;

  const controller = new AbortController();
  const cut = sleep(clock, 1_000, controller.signal);
  controller.abort();
  await cut;
  await sleep(clock, 1_000, controller.signal);
  expect(clock.pendingTimers).toBe(0);
});
