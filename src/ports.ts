import { type Clock, systemClock } from './clock.ts';
import { refuseOption } from './errors.ts';
import { type ClockLike, GuardedClock } from './guarded-clock.ts';
import { guarded, tryCall } from './guarded.ts';
import { defaultLogger, type Logger, thrownFields } from './logger.ts';
import { type Metrics, noopMetrics } from './metrics.ts';

/*
 * Where objects of the caller enter. Whoever takes one (the manager, the informer, the transport,
 * the limiter, the journal) gets it from here, checked and guarded: what its methods throw, or their
 * promises reject with, is logged and goes no further.
 *
 * A port may grow with a release: a method that only some releases call counts as absent when the
 * caller's object lacks it, and is not an error.
 */

const logMethods = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[];
const metricsMethods = Object.keys(noopMetrics) as (keyof Metrics)[];

/** Default: pino at level `warn`. @throws StatusManagerError INVALID_OPTION when none of its methods is there */
export function resolveLogger(logger: Partial<Logger> | undefined): Logger {
  return guarded(tellingPort('logger', logger, logMethods) ?? defaultLogger(), logMethods, () => {});
}

/** Default: nothing is measured. @throws StatusManagerError INVALID_OPTION when none of its methods is there */
export function resolveMetrics(metrics: Partial<Metrics> | undefined, logger: Logger): Metrics {
  return guarded(
    tellingPort('metrics', metrics, metricsMethods) ?? noopMetrics,
    metricsMethods,
    logThrown(logger, 'metrics'),
  );
}

/** Default: the system clock. @throws StatusManagerError INVALID_OPTION */
export function resolveClock(clock: ClockLike | undefined, logger?: Logger): Clock {
  if (clock === undefined || clock === systemClock) return systemClock;
  if (clock instanceof GuardedClock) return clock;
  requirePort('clock', clock, ['now', 'monotonicMs', 'afterFunc']);
  return new GuardedClock(clock, logThrown(logger ?? resolveLogger(undefined), 'clock'));
}

/** Default: `Math.random`, which also stands in for a source that throws or leaves [0, 1). @throws StatusManagerError INVALID_OPTION */
export function resolveRandom(random: (() => number) | undefined, logger: Logger): () => number {
  if (random === undefined) return Math.random;
  if (typeof random !== 'function') refuseOption('random', 'a function', random);
  const onThrow = logThrown(logger, 'options');
  return () => {
    const value: unknown = tryCall(random, (thrown) => onThrow(thrown, 'random'));
    return typeof value === 'number' && value >= 0 && value < 1 ? value : Math.random();
  };
}

/** A port that is told things: some of its methods are enough, and what they throw harms nobody. @throws StatusManagerError INVALID_OPTION */
export function resolveTellingPort<Port extends object>(
  name: string,
  port: Partial<Port> | undefined,
  methods: readonly (keyof Port & string)[],
  logger: Logger,
): Port | undefined {
  const checked = tellingPort(name, port, methods);
  return checked && guarded(checked, methods, logThrown(logger, name));
}

/** A port that is asked: all of its methods are needed. @throws StatusManagerError INVALID_OPTION */
export function requirePort<Port extends object>(
  name: string,
  port: Port,
  methods: readonly (keyof Port & string)[],
): Port {
  const missing = methods.filter((method) => typeof (port as Port | null)?.[method] !== 'function');
  if (missing.length > 0)
    refuseOption(name, `an object with the methods ${methods.join(', ')} (missing: ${missing.join(', ')})`, port);
  return port;
}

/** Logs what a method of the caller's port threw. */
export function logThrown(logger: Logger, port: string, fields?: object): (thrown: unknown, method: string) => void {
  return (thrown, method) =>
    logger.error({ ...thrownFields(thrown), method: `${port}.${method}`, ...fields }, 'A method of the caller failed');
}

function tellingPort<Port extends object>(
  name: string,
  port: Partial<Port> | undefined,
  methods: readonly (keyof Port & string)[],
): Partial<Port> | undefined {
  if (port === undefined) return undefined;
  const present = methods.filter((method) => (port as Partial<Port> | null)?.[method] !== undefined);
  if (present.length === 0) refuseOption(name, `an object with methods of ${methods.join(', ')}`, port);
  for (const method of present)
    if (typeof port[method] !== 'function') refuseOption(`${name}.${method}`, 'a function', port[method]);
  return port;
}
