import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { closeWriteAndWait } from '../../src/kubelet-api/streaming-proxy.ts';

/** A clock that says how many of its timers are pending. */
function countingClock() {
  let pending = 0;
  const stop = (): void => void (pending -= 1);
  return { afterFunc: () => ({ stop: ((pending += 1), stop) }), pending: () => pending };
}

describe('closeWriteAndWait leaves no timer behind', () => {
  it('when the client closes the connection', async () => {
    const clock = countingClock();
    const socket = new PassThrough();
    closeWriteAndWait(clock, socket);
    expect(clock.pending()).toBe(1);
    await once(socket.destroy(), 'close');
    expect(clock.pending()).toBe(0);
  });

  it('when the client had closed it before', async () => {
    const clock = countingClock();
    const socket = new PassThrough();
    await once(socket.destroy(), 'close');
    closeWriteAndWait(clock, socket);
    expect(clock.pending()).toBe(0);
  });
});
