import { beforeEach, describe, expect, it } from 'vitest';
import { FailureLog } from '../../src/shared/failure-log.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { recordingLogger, type RecordingLogger } from '../../src/testing/recording-logger.ts';

const since = '2000-01-01T00:00:00Z';

describe('FailureLog', () => {
  let clock: FakeClock;
  let logger: RecordingLogger;
  const lines = () => logger.lines.map(({ level, message }) => `${level} ${message}`);
  const logOf = () => new FailureLog({ logger, clock, what: 'Renewing the Lease' });

  beforeEach(() => {
    clock = new FakeClock(since);
    logger = recordingLogger();
  });

  it('logs the first failure, then a reminder every 10 minutes, with since when and how many', () => {
    const log = logOf();
    for (let i = 0; i <= 120; i++) {
      log.failed(new Error('refused'), { node: 'a' });
      clock.advance(10_000);
    }
    const fields = { node: 'a', reason: 'refused', failingSince: since };
    const message = 'Renewing the Lease failed';
    expect(logger.lines).toEqual([
      { level: 'warn', message, fields: { ...fields, failures: 1 } },
      { level: 'warn', message, fields: { ...fields, failures: 61 } },
      { level: 'warn', message, fields: { ...fields, failures: 121 } },
    ]);
    expect([log.failingSince, log.reason]).toEqual([since, 'refused']);
  });

  it('logs a new reason once, also when two reasons alternate', () => {
    const log = logOf();
    for (let i = 0; i < 20; i++) log.failed(new Error(i % 2 === 0 ? 'refused' : 'timed out'));
    expect(logger.lines.map(({ fields }) => fields['reason'])).toEqual(['refused', 'timed out']);
  });

  it('compares the key in place of the reason', () => {
    const log = logOf();
    for (const seconds of [10, 20, 40]) log.failed(new Error(`back-off ${seconds}s`), {}, { key: 'back-off' });
    expect(logger.lines).toHaveLength(1);
  });

  it('limits log lines when the reason differs each time', () => {
    const log = logOf();
    for (let i = 0; i < 1_000; i++) log.failed(new Error(`request ${i} failed`));
    expect(logger.lines).toHaveLength(9);
  });

  it.each(['warn', 'info', 'error'] as const)(
    'logs the recovery of what failed at %s at info, because it is good news',
    (level) => {
      const log = logOf();
      log.failed('no Error', {}, { level });
      clock.advance(1_500);
      log.succeeded({ node: 'a' });
      log.succeeded();
      const fields = { node: 'a', failingSince: since, outageMs: 1_500, failures: 1 };
      expect(logger.lines.slice(1)).toEqual([{ level: 'info', message: 'Renewing the Lease succeeded again', fields }]);
      expect([log.failingSince, log.reason]).toEqual([undefined, undefined]);
      log.failed('no Error');
      expect(logger.lines).toHaveLength(3);
    },
  );

  it('logs neither failure nor recovery of what failed for less than afterMs', () => {
    const log = logOf();
    const afterMs = 30_000;
    log.failed(new Error('refused'), {}, { afterMs });
    clock.advance(29_999);
    log.failed(new Error('refused'), {}, { afterMs });
    log.succeeded();
    expect(lines()).toEqual([]);
    log.failed(new Error('refused'), {}, { afterMs, tookMs: 10_000 });
    clock.advance(20_000);
    log.failed(new Error('refused'), {}, { afterMs });
    log.succeeded();
    expect(lines()).toEqual(['warn Renewing the Lease failed', 'info Renewing the Lease succeeded again']);
    expect(logger.lines[1]?.fields).toMatchObject({ failingSince: '2000-01-01T00:00:19Z', outageMs: 30_000 });
  });

  it('logs nothing when the operation is abandoned', () => {
    const log = logOf();
    log.failed(new Error('refused'));
    log.reset();
    log.succeeded();
    expect(lines()).toEqual(['warn Renewing the Lease failed']);
  });
});
