import type { ClockLike } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { refuseOption, StatusManagerError } from '../../shared/errors.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { integerOption, requireFunctionOption } from '../../shared/validate.ts';
import { resolveAllowedHosts } from '../../shared/host-check.ts';

/** Options of `createStatusPage`. */
export interface StatusPageOptions {
  /** The heading of the page, usually the name of the node. Default: none. */
  readonly nodeName?: string | undefined;
  /**
   * The path of the page on the server. Requests arrive with this prefix, or without it if the
   * server removes it (Express: `app.use('/statusz', page)`). Default `/statusz`.
   */
  readonly path?: string | undefined;
  /**
   * Milliseconds between two updates of an open page; 100 to 60,000. Default 1,000. The JSON of all
   * pods is rendered at most once in this time, for any number of open pages, and never without one.
   */
  readonly refreshIntervalMs?: number | undefined;
  /** Maximum number of entries in the timeline of one pod; 1 to 1,000. Default 50. */
  readonly timelineLength?: number | undefined;
  /**
   * Host names, without port, that are allowed in addition to `localhost` and loopback addresses.
   * Default: none for requests that arrive on a loopback address, every name for all others.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Returns further problems of the node, one sentence each, to show above the table. Called when
   * the JSON of all pods is rendered. Default: nothing; `serveAgent` passes the problems of its agent.
   */
  readonly problems?: (() => readonly string[]) | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** Default: pino at level `warn`. A method that is missing logs nothing. */
  readonly logger?: Partial<Logger> | undefined;
}

const optionNames: ReadonlySet<string> = new Set<keyof StatusPageOptions>([
  'nodeName',
  'path',
  'refreshIntervalMs',
  'timelineLength',
  'allowedHosts',
  'problems',
  'clock',
  'logger',
]);

/** Checks the options and fills in their defaults. @throws StatusManagerError INVALID_OPTION, naming the option */
export function resolveOptions(options: StatusPageOptions) {
  if (typeof options !== 'object' || options === null) refuseOption('options', 'an object', options);
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name))
      throw new StatusManagerError('INVALID_OPTION', `Unknown option \`${name}\``, { path: name });
  }
  const { nodeName, path = '/statusz', refreshIntervalMs = 1_000, timelineLength = 50, allowedHosts } = options;
  if (nodeName !== undefined && typeof nodeName !== 'string') refuseOption('nodeName', 'a string', nodeName);
  if (typeof path !== 'string' || !/^(\/[\w.~-]+)+$/.test(path))
    refuseOption('path', 'a path like `/statusz`, without a slash at its end', path);
  requireFunctionOption('problems', options.problems);
  const logger = resolveLogger(options.logger);
  return {
    nodeName,
    path,
    refreshIntervalMs: integerOption('refreshIntervalMs', refreshIntervalMs, 100, 60_000),
    timelineLength: integerOption('timelineLength', timelineLength, 1, 1_000),
    allowedHosts: resolveAllowedHosts(allowedHosts),
    problems: options.problems ?? (() => []),
    clock: resolveClock(options.clock),
    logger,
  };
}
