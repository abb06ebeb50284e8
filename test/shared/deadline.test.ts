import { expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import { boundedCall } from '../../src/shared/deadline.ts';

function bounds(clock: FakeClock) {
  return { clock, timeoutMs: 1000, signals: [] };
}

it('what a call has begun beside what has failed ends with the call, so nothing is left without a deadline', async () => {
  const clock = new FakeClock();
  const endless: string[] = [];
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        endless.push(String(signal.reason));
        reject(signal.reason as Error);
      }),
    );
  const call = boundedCall('list', bounds(clock), ({ signal }) =>
    Promise.all([never(signal), Promise.reject(new Error('refused'))]),
  );
  await expect(call).rejects.toThrow('refused');
  expect([endless, clock.pendingTimers]).toEqual([['Error: refused'], 0]);
});

it('the signal of a call that has succeeded is not aborted: its result may be a stream', async () => {
  const clock = new FakeClock();
  let signalOfCall: AbortSignal | undefined;
  await boundedCall('open', bounds(clock), async ({ signal }) => void (signalOfCall = signal));
  clock.advance(2000);
  expect(signalOfCall!.aborted).toBe(false);
});
