import type { Clock, ClockLike } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import {
  aText,
  optional,
  type OptionChecks,
  positiveInteger,
  requireOptions,
  unchecked,
} from '../../shared/option-checks.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { defaultUserAgent } from './user-agent.ts';

/** Options of `createPodClient` and `createKubeTransport`. */
export interface KubeTransportOptions {
  /**
   * Maximum number of open connections for requests. Heartbeats (Nodes and Leases) have a
   * separate pool with the same limit; each watch has its own connection. Default 64.
   */
  readonly connections?: number | undefined;
  /** A request that waited this long for a free connection ends with `connection-wait`. Default 60,000. */
  readonly connectionWaitTimeoutMs?: number | undefined;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * A request fails with `timeout` when the server sends nothing for this long. A fallback for the
   * caller's own deadline; accurate to about a second. Default 60,000.
   */
  readonly inactivityTimeoutMs?: number | undefined;
  /**
   * Timeout of an exec credential plugin, which is then killed with its children, and of an auth provider of client-node.
   * Default 60,000.
   */
  readonly execTimeoutMs?: number | undefined;
  /** Default `kubelet-status-manager/<version> (<platform>) node/<version>`; the part before `/` becomes the field manager. */
  readonly userAgent?: string | undefined;
  /** Base directory of relative file names in a plain kubeconfig object; default the working directory. */
  readonly kubeConfigDir?: string | undefined;
  /** For proxy variables and exec plugins; default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly clock?: ClockLike | undefined;
  readonly logger?: Partial<Logger> | undefined;
}

export type ResolvedTransportOptions = {
  readonly [Name in keyof KubeTransportOptions]-?: NonNullable<KubeTransportOptions[Name]>;
} & { readonly clock: Clock; readonly logger: Logger };

const checks: OptionChecks<KubeTransportOptions> = {
  connections: positiveInteger,
  connectionWaitTimeoutMs: positiveInteger,
  connectTimeoutMs: positiveInteger,
  inactivityTimeoutMs: positiveInteger,
  execTimeoutMs: positiveInteger,
  userAgent: optional('printable ASCII', (text: string) => /^[\x20-\x7e]+$/.test(text)),
  kubeConfigDir: aText,
  env: unchecked,
  clock: unchecked,
  logger: unchecked,
};

/** Throws `INVALID_OPTION`, naming option, range and value. */
export function resolveTransportOptions(options: KubeTransportOptions): ResolvedTransportOptions {
  requireOptions(options, checks);
  return {
    connections: options.connections ?? 64,
    connectionWaitTimeoutMs: options.connectionWaitTimeoutMs ?? 60_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    inactivityTimeoutMs: options.inactivityTimeoutMs ?? 60_000,
    execTimeoutMs: options.execTimeoutMs ?? 60_000,
    userAgent: options.userAgent ?? defaultUserAgent(),
    kubeConfigDir: options.kubeConfigDir ?? '.',
    env: options.env ?? process.env,
    clock: resolveClock(options.clock),
    logger: resolveLogger(options.logger),
  };
}
