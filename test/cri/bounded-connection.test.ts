import { expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import { boundedConnection } from '../../src/cri/bounded-connection.ts';
import type { CRICallOptions, CRIConnection } from '../../src/cri/cri-connection.ts';

/** A runtime that does not respond. */
function connect() {
  const clock = new FakeClock();
  const signals: (AbortSignal | undefined)[] = [];
  const call = async (_method: string, _request: object, { signal }: CRICallOptions = {}) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const stop = new AbortController();
  const connection = boundedConnection({ call } as object as CRIConnection, clock, stop.signal);
  return { clock, signals, stop, connection };
}

it('a call without a signal ends after two minutes, and its signal is aborted', async () => {
  const { clock, signals, connection } = connect();
  const call = connection.call('Version', {});
  clock.advance(120_000);
  await expect(call).rejects.toThrow('Version of the runtime took over 120000 ms');
  expect(signals[0]!.aborted).toBe(true);
});

it('a call without a signal ends when its owner stops, and leaves no timer', async () => {
  const { clock, signals, stop, connection } = connect();
  const call = connection.call('Version', {});
  stop.abort(new Error('closed'));
  await expect(call).rejects.toThrow('closed');
  expect([signals[0]!.aborted, clock.pendingTimers]).toEqual([true, 0]);
});

it("a call with a signal has its caller's deadline", () => {
  const { clock, signals, connection } = connect();
  const { signal } = new AbortController();
  void connection.call('Version', {}, { signal });
  expect([signals, clock.pendingTimers]).toEqual([[signal], 0]);
});
