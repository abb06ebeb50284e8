import type { ClockLike } from '../shared/clock.ts';
import { refuseOption } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import {
  aBoolean,
  anAbsolutePath,
  integer,
  optional,
  type OptionChecks,
  required,
  requiredPort,
  requireOptions,
  unchecked,
} from '../shared/option-checks.ts';
import { resolveClock, resolveLogger } from '../shared/ports.ts';
import { createCgroupManager } from './cgroup-driver.ts';
import { boundedConnection } from './bounded-connection.ts';
import { parseCgroupName } from './cgroup-manager.ts';
import { type CRIHost, thisHost } from './cri-host.ts';
import { CRIRuntime } from './cri-runtime.ts';
import { PodCgroups } from './pod-cgroups.ts';
import type { RuntimeHelper } from '../node/index.ts';

/** Options of `createCRIRuntime`. */
export interface CRIRuntimeOptions {
  /** The runtime's socket: `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Environment, mounts, DNS and credentials of the pods. */
  readonly helper: RuntimeHelper;
  /** Folders of pods and seccomp profiles are below it. Default: `/var/lib/kubelet`. */
  readonly rootDirectory?: string | undefined;
  /** The folder `containers` beside it has a link to each log. Default: `/var/log/pods`. */
  readonly podLogsDirectory?: string | undefined;
  /**
   * A larger log of a running container is rotated, in bytes; Infinity: never. Default: 10 MiB. kubelet:
   * `containerLogMaxSize`.
   */
  readonly containerLogMaxSizeBytes?: number | undefined;
  /** Log files of one run of a container, at least 2; older ones are compressed. Default: 5. kubelet: `containerLogMaxFiles`. */
  readonly containerLogMaxFiles?: number | undefined;
  /**
   * The cgroup of all pods; the cgroup of each pod in it has the limits of the pod. If the runtime uses the cgroup driver
   * systemd, `/kubepods` is the slice `kubepods.slice`. A kubelet on the same machine kills all processes in its own
   * `/kubepods` that it does not know. Default: the runtime decides, and only containers have limits; containerd with the driver systemd
   * cannot decide.
   */
  readonly cgroupRoot?: string | undefined;
  /** How many processes a pod may have. Needs `cgroupRoot`. Default: no limit. kubelet: `podPidsLimit`. */
  readonly podPidsLimit?: number | undefined;
  /** Whether a container without a seccomp profile gets that of the runtime. Default: false. kubelet: `seccompDefault`. */
  readonly seccompDefault?: boolean | undefined;
  /** Aborts the attempt to connect. Default: none; each call has a time-out. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
}

/**
 * Connects to a container runtime that implements the CRI, version 1, for example containerd or CRI-O. Needs the
 * packages `@grpc/grpc-js` and `protobufjs`, and usually root. Call `close()` after the agent has stopped.
 *
 * Rejects if the runtime does not respond, or if it uses the cgroup driver systemd, and systemd cannot be reached or
 * `cgroupRoot` is missing.
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { createCRIRuntime, type CRIRuntimeOptions } from 'kubelet-status-manager/cri';
 *
 * declare const helper: CRIRuntimeOptions['helper'];
 * const runtime = await createCRIRuntime({ endpoint: 'unix:///run/containerd/containerd.sock', helper });
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime });
 * agent.start();
 * ```
 */
export async function createCRIRuntime(options: CRIRuntimeOptions): Promise<CRIRuntime> {
  return createCRIRuntimeOn(thisHost, options);
}

const checks: OptionChecks<CRIRuntimeOptions> = {
  cgroupRoot: anAbsolutePath,
  clock: unchecked,
  containerLogMaxFiles: integer(2),
  containerLogMaxSizeBytes: optional('a number above 0', (bytes) => bytes > 0),
  endpoint: required(
    'a socket like unix:///run/containerd/containerd.sock',
    (endpoint: unknown) => typeof endpoint === 'string' && endpoint.startsWith('unix:/'),
  ),
  helper: requiredPort([
    'generateRunContainerOptions',
    'getPodDNS',
    'generatePodHostName',
    'lookupRuntimeHandler',
    'pullCredentials',
  ]),
  logger: unchecked,
  podLogsDirectory: anAbsolutePath,
  podPidsLimit: integer(1),
  rootDirectory: anAbsolutePath,
  seccompDefault: aBoolean,
  signal: optional('an AbortSignal', (signal: unknown) => signal instanceof AbortSignal),
};

/** Like `createCRIRuntime`, on another host. */
export async function createCRIRuntimeOn(host: CRIHost, options: CRIRuntimeOptions): Promise<CRIRuntime> {
  requireOptions(options, checks);
  const { endpoint, rootDirectory = '/var/lib/kubelet', podLogsDirectory = '/var/log/pods', cgroupRoot } = options;
  const { containerLogMaxSizeBytes = 10 * 2 ** 20, containerLogMaxFiles = 5, podPidsLimit, helper } = options;
  if (podPidsLimit !== undefined && cgroupRoot === undefined)
    refuseOption('podPidsLimit', 'absent, as there is no `cgroupRoot`', podPidsLimit);
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const client = host.connect(endpoint);
  try {
    options.signal?.throwIfAborted();
    const calls = boundedConnection(client, clock, options.signal ?? new AbortController().signal);
    const { runtime_name: runtimeName } = await calls.call('Version', {}).catch((cause: Error) => {
      throw new Error(`The container runtime at ${endpoint} does not respond: ${cause.message}`, { cause });
    });
    const cgroupFiles = host.cgroupFiles();
    const driver = { endpoint, runtimeName, cgroupRoot, files: cgroupFiles, run: host.runCommand };
    const manager = await createCgroupManager(calls, driver);
    const machine = await host.readMachineResources();
    const root = parseCgroupName(cgroupRoot ?? '');
    return new CRIRuntime({
      client,
      files: host.podFiles({ rootDirectory, podLogsDirectory, logger }),
      runtimeName,
      rootDirectory,
      seccompDefault: options.seccompDefault ?? false,
      podLogsDirectory,
      containerLogMaxSizeBytes,
      containerLogMaxFiles,
      podCgroups: manager && new PodCgroups({ files: cgroupFiles, manager, root, machine, podPidsLimit, logger }),
      helper,
      userNamespaces: await host.loadUserNamespaces(rootDirectory),
      machine,
      clock,
      logger,
    });
  } catch (error) {
    client.close();
    throw error;
  }
}
