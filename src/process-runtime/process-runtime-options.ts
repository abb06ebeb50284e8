import { isIPAddress } from '../kube/objects/ip-address.ts';
import type { ContainerRuntime, RuntimeHelper, StreamingRuntime } from '../node/index.ts';
import type { ClockLike } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { type OptionChecks, required, requiredPort, unchecked } from '../shared/option-checks.ts';

/** Options of `createProcessRuntime`. */
export interface ProcessRuntimeOptions {
  /**
   * The absolute path of a folder that only one runtime at a time may use, for the files, logs and sockets of containers.
   * Sockets limit the path to about 88 bytes. `createRuntimeHelper` may use the same one.
   */
  readonly rootDirectory: string;
  /** A `createRuntimeHelper` with `mounts: false`, for the commands, environments and volumes of the containers. */
  readonly helper: Pick<RuntimeHelper, 'generateRunContainerOptions' | 'generatePodHostName' | 'lookupRuntimeHandler'>;
  /** The IP addresses of this machine, the primary one first: those of all its pods. */
  readonly hostIPs: readonly string[];
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
}

/** The runtime of `createProcessRuntime`, also for `kubectl logs`, `exec` and `attach`. */
export interface ProcessRuntime extends ContainerRuntime, StreamingRuntime {
  /**
   * Ends commands of `exec`, and resolves when another runtime may use the directory. Containers keep running. Call it after
   * the agent has stopped.
   */
  close(): Promise<void>;
}

export const processRuntimeOptionChecks: OptionChecks<ProcessRuntimeOptions> = {
  clock: unchecked,
  helper: requiredPort(['generateRunContainerOptions', 'generatePodHostName', 'lookupRuntimeHandler']),
  hostIPs: required(
    'a list of IP addresses, at least one',
    (ips: unknown) =>
      Array.isArray(ips) && ips.length > 0 && ips.every((ip) => typeof ip === 'string' && isIPAddress(ip)),
  ),
  logger: unchecked,
  rootDirectory: required(
    'an absolute path',
    (path: unknown) => typeof path === 'string' && path.startsWith('/') && !path.includes('\0'),
  ),
};
