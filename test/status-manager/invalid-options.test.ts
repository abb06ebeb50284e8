import { describe, expect, it } from 'vitest';
import { defaultOptions, resolveOptions, type StatusManagerOptions } from '../../src/status-manager/options.ts';
import { StatusManager } from '../../src/status-manager/status-manager.ts';
import { RequestLimiter } from '../../src/status-manager/sync/request-limiter.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';

const podCouldHaveRunningContainers = (): boolean => false;

function withOption(name: string, value: unknown): StatusManagerOptions {
  const safety = name === 'podDeletionSafety' ? {} : { podCouldHaveRunningContainers };
  return { ...safety, logger: silentLogger, [name]: value } as StatusManagerOptions;
}

function expectRefused(options: unknown, path: string): void {
  expect(() => new StatusManager(options as StatusManagerOptions)).toThrow(
    expect.objectContaining({ name: 'StatusManagerError', code: 'INVALID_OPTION', path }),
  );
}

describe('new StatusManager refuses', () => {
  it.each([[undefined], [null], ['text'], [7], [() => {}]])('options that are %s', (options) => {
    expectRefused(options, 'options');
  });

  it('options without podCouldHaveRunningContainers', () => {
    expectRefused({}, 'podCouldHaveRunningContainers');
    expectRefused([], 'options');
  });

  it('podCouldHaveRunningContainers beside a podDeletionSafety', () => {
    expectRefused(
      { podCouldHaveRunningContainers, podDeletionSafety: { podCouldHaveRunningContainers } },
      'podDeletionSafety',
    );
  });

  it.each([
    ['podCouldHaveRunningContainers', async () => false],
    ['podDeletionSafety', { podCouldHaveRunningContainers: async () => false }],
  ])('%s that is async', (name, value) => {
    expect(() => new StatusManager(withOption(name, value))).toThrow(
      /podCouldHaveRunningContainers` to be a synchronous function, which returns a boolean/,
    );
  });

  it.each(['concurency', '__proto__', 'constructor', 'toString'])('the unknown option %s', (name) => {
    expectRefused(JSON.parse(`{"${name}": 1}`), name);
  });

  it.each([
    ['syncPeriodMs', 99],
    ['syncPeriodMs', 3_600_001],
    ['syncPeriodMs', 100.5],
    ['syncPeriodMs', '10000'],
    ['syncPeriodMs', Number.NaN],
    ['syncPeriodMs', Number.POSITIVE_INFINITY],
    ['concurrency', 0],
    ['concurrency', 1_001],
    ['concurrency', 2.5],
    ['concurrency', '8'],
    ['requestTimeoutMs', 0],
    ['requestTimeoutMs', 600_001],
    ['requestTimeoutMs', '1'],
    ['qps', 0],
    ['qps', -1],
    ['qps', Number.NaN],
    ['qps', '5'],
    ['burst', 0],
    ['burst', '5'],
    ['readBeforePatch', 'never'],
    ['readBeforePatch', 'constructor'],
    ['patchStrategy', 'merge'],
    ['random', 0.5],
    ['podCouldHaveRunningContainers', {}],
    ['podCouldHaveRunningContainers', true],
    ['podDeletionSafety', {}],
    ['podDeletionSafety', () => false],
    ['podDeletionSafety', { podCouldHaveRunningContainers: true }],
    ['podDeletionSafety', null],
    ['podManager', {}],
    ['podManager', null],
    ['podManager', new Map()],
    ['allocationState', { getPodResizeStatus: () => '' }],
    ['journal', {}],
    ['logger', console.log],
    ['logger', 'pino'],
    ['metrics', {}],
    ['clock', Date],
    ['clock', { now: Date.now }],
    ['podStartupLatency', new Map()],
    ['limiter', {}],
    ['client', null],
    ['client', {}],
    ['client', 'https://localhost'],
    ['client', { getPod: () => {}, patchPodStatus: () => {} }],
    ['client', { makeApiClient: () => {} }],
  ])('%s: %s', (name, value) => {
    expectRefused(withOption(name, value), name);
  });

  it('a limiter beside qps or burst', () => {
    const limiter = new RequestLimiter();
    expectRefused({ ...withOption('qps', 5), limiter }, 'limiter');
    expectRefused({ ...withOption('burst', 5), limiter }, 'limiter');
  });

  it('and says what is expected and what it got', () => {
    expect(() => new StatusManager(withOption('concurrency', 0))).toThrow(
      'Expected `concurrency` to be an integer between 1 and 1000, got 0 (number)',
    );
    expect(() => new StatusManager(withOption('clock', { now: Date.now }))).toThrow(/missing: monotonicMs, afterFunc/);
  });
});

describe('resolveOptions', () => {
  it('fills in the defaults, for undefined values too', () => {
    expect(resolveOptions({ podCouldHaveRunningContainers })).toMatchObject(defaultOptions);
    const all = Object.keys(resolveOptions({ podCouldHaveRunningContainers })).map((name) => [name, undefined]);
    expect(resolveOptions({ ...Object.fromEntries(all), podCouldHaveRunningContainers })).toMatchObject(defaultOptions);
  });

  it.each([
    ['syncPeriodMs', 100],
    ['syncPeriodMs', 3_600_000],
    ['concurrency', 1],
    ['concurrency', 1_000],
    ['requestTimeoutMs', 1],
    ['requestTimeoutMs', 600_000],
    ['readBeforePatch', 'when-stale'],
    ['patchStrategy', 'json-patch'],
  ])('takes %s: %s', (name, value) => {
    expect(resolveOptions(withOption(name, value))).toMatchObject({ [name]: value });
  });

  it('accepts the safety port, or its method as a function', () => {
    const port = { podCouldHaveRunningContainers: () => true };
    expect(resolveOptions({ podDeletionSafety: port }).podDeletionSafety.podCouldHaveRunningContainers({})).toBe(true);
    expect(
      resolveOptions({ podCouldHaveRunningContainers: () => true }).podDeletionSafety.podCouldHaveRunningContainers({}),
    ).toBe(true);
  });
});
