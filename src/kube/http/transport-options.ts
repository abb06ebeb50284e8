import type { Clock, ClockLike } from '../../shared/clock.ts';
import { refuseOption, requireObject } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { positiveIntegerOption } from '../../shared/validate.ts';
import { defaultUserAgent } from './user-agent.ts';

/** Options of `createPodClient` and `createKubeTransport`. */
export interface KubeTransportOptions {
  /**
   * Most connections open at a time for requests. Watches have their own, and so have heartbeats
   * (Nodes and their Leases): as many again. Default 64.
   */
  readonly connections?: number | undefined;
  /** A request that waited this long for a free connection ends with `connection-wait`. Default 60,000. */
  readonly connectionWaitTimeoutMs?: number | undefined;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * A request ends with `timeout` when the server sends nothing for this long. A guard behind the
   * caller's own deadline; exact to about a second. Default 60,000.
   */
  readonly silenceTimeoutMs?: number | undefined;
  /** Longest run of an exec credential plugin; then it and its children are killed. Default 60,000. */
  readonly execTimeoutMs?: number | undefined;
  /** Default `kubelet-status-manager/<version> (<platform>) node/<version>`; the part before `/` becomes the field manager. */
  readonly userAgent?: string | undefined;
  /** What relative file names of a plain kubeconfig object are relative to; default the working directory. */
  readonly kubeConfigDir?: string | undefined;
  /** For proxy variables and exec plugins; default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly clock?: ClockLike | undefined;
  readonly logger?: Partial<Logger> | undefined;
}

export type ResolvedTransportOptions = {
  readonly [Name in keyof KubeTransportOptions]-?: NonNullable<KubeTransportOptions[Name]>;
} & { readonly clock: Clock; readonly logger: Logger };

/** Throws `INVALID_OPTION`, naming option, range and value. */
export function resolveTransportOptions(options: KubeTransportOptions): ResolvedTransportOptions {
  requireObject('options', options);
  const userAgent = options.userAgent ?? defaultUserAgent();
  if (!/^[\x20-\x7e]+$/.test(userAgent)) refuseOption('userAgent', 'printable ASCII', userAgent);
  if (options.kubeConfigDir !== undefined && typeof options.kubeConfigDir !== 'string')
    refuseOption('kubeConfigDir', 'a string', options.kubeConfigDir);
  const logger = resolveLogger(options.logger);
  return {
    connections: positiveIntegerOption('connections', options.connections ?? 64),
    connectionWaitTimeoutMs: positiveIntegerOption(
      'connectionWaitTimeoutMs',
      options.connectionWaitTimeoutMs ?? 60_000,
    ),
    connectTimeoutMs: positiveIntegerOption('connectTimeoutMs', options.connectTimeoutMs ?? 10_000),
    silenceTimeoutMs: positiveIntegerOption('silenceTimeoutMs', options.silenceTimeoutMs ?? 60_000),
    execTimeoutMs: positiveIntegerOption('execTimeoutMs', options.execTimeoutMs ?? 60_000),
    userAgent,
    kubeConfigDir: options.kubeConfigDir ?? '.',
    env: options.env ?? process.env,
    clock: resolveClock(options.clock),
    logger,
  };
}
