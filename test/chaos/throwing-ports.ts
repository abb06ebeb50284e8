import type { Logger, Pod, StatusListener } from '../../src/status-manager/index.ts';
import type { LogFunction } from '../../src/shared/logger.ts';
import type { Random } from './random.ts';

/** The message of errors that listeners and loggers throw on purpose. */
export const onPurpose = 'thrown on purpose';

const share = 0.05;

/** Wraps the logger, so that it sometimes throws after it has logged. */
export function throwingLogger(logger: Logger, random: Random, onThrow: () => void): Logger {
  const wrap =
    (log: LogFunction): LogFunction =>
    (fields, message) => {
      log(fields, message);
      throwSometimes(random, onThrow);
    };
  const { trace, debug, info, warn, error } = logger;
  return { trace: wrap(trace), debug: wrap(debug), info: wrap(info), warn: wrap(warn), error: wrap(error) };
}

/** A listener that sometimes throws. */
export function throwingListener(random: Random, onThrow: () => void): StatusListener {
  const listen = (): void => throwSometimes(random, onThrow);
  return { onPodUpdated: listen, onPodRemoved: listen, onOutcome: listen };
}

/** The same for the listener of an informer. */
export function throwingPodListener(random: Random, onThrow: () => void): Record<string, (pod: Pod) => void> {
  const listen = (): void => throwSometimes(random, onThrow);
  return { onPodAdded: listen, onPodUpdated: listen, onPodRemoved: listen };
}

function throwSometimes(random: Random, onThrow: () => void): void {
  if (!random.chance(share)) return;
  onThrow();
  throw new Error(onPurpose);
}
