import { pino } from 'pino';
import { type Clock, type ClockLike, systemClock } from './clock.ts';
import { refuseOption } from './errors.ts';
import { guarded, tryCall } from './guarded.ts';
import { type Logger, thrownFields } from './logger.ts';
import { systemRandom } from './entropy.ts';

/*
 * Checks and guards the ports: objects of the caller that this library calls. Every option that takes
 * one (of the manager, the informer, the transport, the limiter, the journal) is resolved here. Errors
 * and rejections of its methods are logged and have no other effect. Only a clock is trusted: it is
 * read several times for each update.
 *
 * A release may add methods to a port. An object that lacks one is accepted, and the method does
 * nothing.
 */

const logMethods = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[];

/** Default: pino on stdout at level `warn`. @throws StatusManagerError INVALID_OPTION when none of its methods is there */
export function resolveLogger(logger: Partial<Logger> | undefined): Logger {
  const port = checkPartialPort('logger', logger, logMethods);
  return guarded(port ?? pino({ name: 'kubelet-status-manager', level: 'warn' }), logMethods, () => {});
}

/** Default: the system clock. @throws StatusManagerError INVALID_OPTION */
export function resolveClock(clock: ClockLike | undefined): Clock {
  if (clock === undefined) return systemClock;
  requirePort('clock', clock, ['now', 'monotonicMs', 'afterFunc']);
  return hasAllMethods(clock)
    ? clock
    : {
        now: () => clock.now(),
        monotonicMs: () => clock.monotonicMs(),
        afterFunc: (delayMs, callback) => clock.afterFunc(delayMs, callback),
        yieldToEventLoop: () => systemClock.yieldToEventLoop(),
      };
}

function hasAllMethods(clock: ClockLike): clock is Clock {
  return clock.yieldToEventLoop !== undefined;
}

/**
 * Default: `Math.random`. It is also used when the source throws or returns a value outside [0, 1).
 * @throws StatusManagerError INVALID_OPTION
 */
export function resolveRandom(random: (() => number) | undefined, logger: Logger): () => number {
  if (random === undefined) return systemRandom;
  if (typeof random !== 'function') refuseOption('random', 'a function', random);
  const onThrow = logThrown(logger, 'options');
  return () => {
    const value: unknown = tryCall(random, (thrown) => onThrow(thrown, 'random'));
    return typeof value === 'number' && value >= 0 && value < 1 ? value : systemRandom();
  };
}

/** A port that may lack methods, but not all of them. @throws StatusManagerError INVALID_OPTION */
export function resolvePartialPort<Port extends object>(
  name: string,
  port: Partial<Port> | undefined,
  methods: readonly (keyof Port & string)[],
  logger: Logger,
): Port | undefined {
  const checked = checkPartialPort(name, port, methods);
  return checked && guarded(checked, methods, logThrown(logger, name));
}

/** A port that must have all `methods`; not guarded. @throws StatusManagerError INVALID_OPTION */
export function requirePort<Port extends object>(
  name: string,
  port: Port,
  methods: readonly (keyof Port & string)[],
  optional: readonly (keyof Port & string)[] = [],
): Port {
  const missing = methods.filter((method) => typeof (port as Port | null)?.[method] !== 'function');
  if (missing.length > 0)
    refuseOption(name, `an object with the methods ${methods.join(', ')} (missing: ${missing.join(', ')})`, port);
  for (const method of optional)
    if (port[method] !== undefined && typeof port[method] !== 'function')
      refuseOption(`${name}.${method}`, 'a function or absent', port[method]);
  return port;
}

/** For `onThrow` of a guarded port: logs the error and the method that threw it. */
export function logThrown(logger: Logger, port: string, fields?: object): (thrown: unknown, method: string) => void {
  return (thrown, method) =>
    logger.error({ ...thrownFields(thrown), method: `${port}.${method}`, ...fields }, 'User callback threw');
}

function checkPartialPort<Port extends object>(
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
