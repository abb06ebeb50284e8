import type { Logger } from '../shared/logger.ts';

const nothing = (): void => {};

/** A logger that writes nothing. */
export const silentLogger: Logger = Object.freeze({
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});
