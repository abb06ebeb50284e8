import type { ClockLike } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import {
  aFunction,
  aText,
  integer,
  optional,
  type OptionChecks,
  requireOptions,
  unchecked,
} from '../../shared/option-checks.ts';
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

const checks: OptionChecks<StatusPageOptions> = {
  nodeName: aText,
  path: optional('a path like `/statusz`, without a slash at its end', (path: string) => /^(\/[\w.~-]+)+$/.test(path)),
  refreshIntervalMs: integer(100, 60_000),
  timelineLength: integer(1, 1_000),
  allowedHosts: unchecked,
  problems: aFunction,
  clock: unchecked,
  logger: unchecked,
};

/** Checks the options and fills in their defaults. @throws StatusManagerError INVALID_OPTION, naming the option */
export function resolveStatusPageOptions(options: StatusPageOptions) {
  requireOptions(options, checks);
  const { nodeName, path = '/statusz', refreshIntervalMs = 1_000, timelineLength = 50, problems = () => [] } = options;
  return {
    ...{ nodeName, path, refreshIntervalMs, timelineLength, problems },
    allowedHosts: resolveAllowedHosts(options.allowedHosts),
    clock: resolveClock(options.clock),
    logger: resolveLogger(options.logger),
  };
}
