import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../src/shared/semaphore.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';

const never = new AbortController().signal;

function setUp(size: number) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const semaphore = new Semaphore({ size, clock, warning: { option: 'connections', logger } });
  const entered: string[] = [];
  const enter = async (name: string, signal: AbortSignal = never): Promise<void> => {
    await semaphore.acquire(signal);
    entered.push(name);
  };
  return { clock, logger, semaphore, entered, enter };
}

describe('Semaphore', () => {
  it('gives a slot to the caller that has waited longest, and never to one that came later', async () => {
    const { semaphore, entered, enter } = setUp(2);
    const all = ['a', 'b', 'c', 'd'].map((name) => enter(name));
    await Promise.all(all.slice(0, 2));
    semaphore.release();
    expect(semaphore.tryAcquire()).toBe(false);
    await all[2];
    expect(entered).toEqual(['a', 'b', 'c']);
    semaphore.release();
    await all[3];
    semaphore.release();
    semaphore.release();
    expect([semaphore.tryAcquire(), semaphore.tryAcquire(), semaphore.tryAcquire()]).toEqual([true, true, false]);
  });

  it('a caller that is aborted leaves the queue and takes no slot', async () => {
    const { semaphore, entered, enter } = setUp(1);
    const controller = new AbortController();
    const [, aborted, behind] = [enter('a'), enter('b', controller.signal), enter('c')];
    controller.abort(new Error('stopped'));
    await expect(aborted).rejects.toThrow('stopped');
    await expect(enter('d', controller.signal)).rejects.toThrow('stopped');
    semaphore.release();
    await behind;
    expect(entered).toEqual(['a', 'c']);
    semaphore.release();
    expect(semaphore.tryAcquire()).toBe(true);
  });

  it('logs a warning when a caller waited long, at most once a minute', async () => {
    const { clock, logger, semaphore, enter } = setUp(1);
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => enter(name));
    for (const waitMs of [9_999, 1, 59_999, 1, 0]) {
      clock.advance(waitMs);
      semaphore.release();
    }
    await Promise.all(all);
    expect(logger.warnings.map(({ fields }) => fields)).toEqual([
      { waitedMs: 10_000, connections: 1, waiting: 3, count: 1 },
      { waitedMs: 70_000, connections: 1, waiting: 1, count: expect.any(Number) as number },
    ]);
  });
});
