import { FakeClock } from 'kubelet-status-manager/testing';
import { describe, expect, it } from 'vitest';
import { Outage } from '../../../examples/node-agent/outage.ts';

function setUp() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const server = {
    kill: async () => void calls.push('kill'),
    startAgain: async () => void calls.push('startAgain'),
  };
  const onChange = (isDown: boolean): void => void calls.push(isDown ? 'down' : 'up');
  return { clock, calls, outage: new Outage(server, { clock, durationMs: 20_000, onChange }) };
}

describe('an outage', () => {
  it('stops the server for its duration, and reports it', async () => {
    const { clock, calls, outage } = setUp();
    expect(outage.remainingSeconds).toBeUndefined();
    outage.begin();
    await clock.advanceAsync(19_500);
    expect(calls).toEqual(['kill', 'down']);
    expect(outage.remainingSeconds).toBe(1);
    await clock.advanceAsync(2_500);
    expect(calls).toEqual(['kill', 'down', 'startAgain', 'up']);
    expect(outage.remainingSeconds).toBeUndefined();
  });

  it('that is started again is extended', async () => {
    const { clock, calls, outage } = setUp();
    outage.begin();
    await clock.advanceAsync(10_000);
    outage.begin();
    await clock.advanceAsync(29_999);
    expect(calls).toEqual(['kill', 'down']);
    await clock.advanceAsync(1);
    expect(calls).toEqual(['kill', 'down', 'startAgain', 'up']);
  });

  it('begins after a time, and ends early when the agent stops', async () => {
    const { clock, calls, outage } = setUp();
    outage.beginAfter(5_000);
    await clock.advanceAsync(5_000);
    expect(calls).toEqual(['kill', 'down']);
    await outage.stop();
    expect(calls).toEqual(['kill', 'down', 'startAgain', 'up']);
    expect(clock.pendingTimers).toBe(0);
  });
});
