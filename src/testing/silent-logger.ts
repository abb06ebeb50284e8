import type { Logger } from '../shared/logger.ts';

const nothing = (): void => {};

/**
 * A logger that discards all lines.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, silentLogger } from 'kubelet-status-manager/testing';
 *
 * const client = new FakePodClient();
 * const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, logger: silentLogger });
 * ```
 */
export const silentLogger: Logger = Object.freeze({
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});
