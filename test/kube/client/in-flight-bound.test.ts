import { describe, expect, it } from 'vitest';
import { InFlightBound } from '../../../src/kube/client/in-flight-bound.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

function setUp(size: number) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const bound = new InFlightBound({ size, clock, logger });
  const entered: string[] = [];
  /** As the sync loop: takes all it may, and waits for more while it has work. */
  const owner = (name: string, work: number) => {
    const key = {};
    let left = work;
    const pump = (): void => {
      for (; left > 0; left--) {
        if (!bound.tryEnter()) return bound.wait(key, pump);
        entered.push(name);
      }
    };
    pump();
    return key;
  };
  return { clock, logger, bound, entered, owner };
}

describe('InFlightBound', () => {
  it('serves all owners in turn within one bound', () => {
    const { bound, entered, owner } = setUp(2);
    owner('a', 5);
    owner('b', 2);
    owner('c', 1);
    expect(entered).toEqual(['a', 'a']);
    expect(bound.waiting).toBe(3);
    for (let i = 0; i < 6; i++) bound.leave();
    expect(entered).toEqual(['a', 'a', 'a', 'b', 'c', 'a', 'b', 'a']);
    expect([bound.inFlight, bound.waiting]).toEqual([2, 0]);
  });

  it('passes a slot to the next owner if an owner has no more work or has withdrawn', () => {
    const { bound, entered, owner } = setUp(1);
    owner('a', 1);
    bound.wait({}, () => {});
    bound.withdraw(owner('b', 1));
    owner('c', 1);
    bound.leave();
    expect(entered).toEqual(['a', 'c']);
  });

  it('logs a warning when an owner waited long, at most once a minute', () => {
    const { clock, logger, bound, owner } = setUp(1);
    owner('a', 6);
    for (const waitMs of [9_999, 10_000, 30_000, 29_999, 60_000]) {
      clock.advance(waitMs);
      bound.leave();
    }
    expect(logger.warnings.map(({ fields }) => fields)).toEqual([
      { waitedMs: 10_000, maxInFlight: 1, waiting: 0 },
      { waitedMs: 60_000, maxInFlight: 1, waiting: 0 },
    ]);
  });
});
