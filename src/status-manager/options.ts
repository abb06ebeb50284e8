import { types } from 'node:util';
import { type AllocationState, noopState } from './allocation/allocation-state.ts';
import type { CoreV1ApiLike } from '../kube/client/core-v1-api-like.ts';
import type { PodClient } from '../kube/client/pod-client.ts';
import type { KubeConfigSource } from '../kube/http/kube-config-types.ts';
import { type Clock, type ClockLike, systemClock } from '../shared/clock.ts';
import { refuseOption } from '../shared/errors.ts';
import type { Journal } from './journal/journal.ts';
import type { Logger } from '../shared/logger.ts';
import { type Metrics, resolveMetrics } from './metrics.ts';
import { guardedPodDeletionSafety, type PodDeletionSafety } from './pod-deletion-safety.ts';
import type { PodManager } from '../kube/pod-manager/pod-manager.ts';
import {
  logThrown,
  requirePort,
  resolveClock,
  resolveLogger,
  resolveRandom,
  resolvePartialPort,
} from '../shared/ports.ts';
import type { PatchStrategy } from './sync/decide.ts';
import type { StatusEventRecorder } from './sync/status-events.ts';
import type { PodStartupLatency, ReadBeforePatch } from './sync/sync-ports.ts';
import { RequestLimiter } from './sync/request-limiter.ts';
import type { Pod } from '../kube/objects/types.ts';
import { guarded } from '../shared/guarded.ts';
import { integer, oneOf, type OptionChecks, port, requireOptions, unchecked } from '../shared/option-checks.ts';

/** Options of a `StatusManager`; `P` is the type of the `podManager` option. */
export type StatusManagerOptions<P extends PodManager = PodManager> = {
  /**
   * How to reach the API server: a `KubeConfig` of client-node, a `CoreV1Api` or a mock of it,
   * `createPodClient()` of `kubelet-status-manager/http`, or any `PodClient`. Without one, statuses are
   * cached and not sent. The manager does not close a client that was passed in.
   */
  readonly client?: KubeConfigSource | CoreV1ApiLike | PodClient | undefined;
  /**
   * Whether containers of the pod may still be running; while it returns true, the pod's terminal phase
   * is held back and the pod is not deleted. Must return a boolean, not a promise. Required, unless
   * there is a `podDeletionSafety`.
   * Source: kubelet `PodDeletionSafetyProvider.PodCouldHaveRunningContainers`
   */
  readonly podCouldHaveRunningContainers?: (pod: Pod) => boolean;
  /**
   * In place of `podCouldHaveRunningContainers`: an object with that method, which can also tell how
   * the containers are being stopped.
   */
  readonly podDeletionSafety?: PodDeletionSafety;
  /**
   * The pods of this node. Default: an empty `BasicPodManager`. To start with pods, create one, fill
   * it and pass it. For partial options that keep its type, write
   * `Partial<StatusManagerOptions<BasicPodManager>>`.
   */
  readonly podManager?: P | undefined;
  /** Where allocated resources are stored. Default: nowhere (`noopState`). */
  readonly allocationState?: AllocationState | undefined;
  /**
   * Records accepted statuses until they are sent, so that a crash loses none; see `fileJournal`.
   * Default: none. The constructor caches the recovered statuses. `start()` sends them, unless the API
   * server has a newer status or a pod with another UID. `stop()` closes the journal.
   */
  readonly journal?: Journal | undefined;
  /** Default: pino at level `warn`. Missing methods are no-ops. */
  readonly logger?: Partial<Logger> | undefined;
  /** Default: no metrics. Missing methods are no-ops. */
  readonly metrics?: Partial<Metrics> | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  readonly podStartupLatency?: Partial<PodStartupLatency> | undefined;
  /**
   * Records a Kubernetes Event when the API server refuses a pod's status, another writer undoes it,
   * or the pod is stuck terminating. Default: none. `APIEventRecorder` of
   * `kubelet-status-manager/agent` implements it. Errors that it throws are logged.
   */
  readonly eventRecorder?: StatusEventRecorder | undefined;
  /** Milliseconds between two full batches; 100 to 3,600,000. Default 10,000 (kubelet: `syncPeriod`). */
  readonly syncPeriodMs?: number | undefined;
  /** Maximum number of pods synced concurrently; 1 to 1,000. Default 8; 1 syncs serially, as the kubelet does. */
  readonly concurrency?: number | undefined;
  /**
   * `always` reads a pod before it is patched, as the kubelet does. `when-stale` reads only when the
   * last response may be out of date: one request for each update instead of two. Default `always`.
   */
  readonly readBeforePatch?: ReadBeforePatch | undefined;
  /**
   * The type of the status patches. Default `strategic-merge`, as in the kubelet. Divergence, opt-in:
   * `json-patch` tests the values that it replaces, so that a concurrent write between read and patch
   * becomes a conflict.
   */
  readonly patchStrategy?: PatchStrategy | undefined;
  /**
   * Deadline of a request in milliseconds, counted from when it gets a connection; 1 to 600,000.
   * Default 30,000. Divergence: the kubelet's requests have no deadline.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Requests per second in the long run. Default: no limit. kubelet: `--kube-api-qps`. */
  readonly qps?: number | undefined;
  /** Maximum burst of requests after an idle period. Default: `qps`. kubelet: `--kube-api-burst`. */
  readonly burst?: number | undefined;
  /**
   * A limiter shared with other managers of the same API server; excludes `qps` and `burst`. With
   * its `maxInFlight`, managers of one `CoreV1Api` take turns.
   */
  readonly limiter?: RequestLimiter | undefined;
  /** The source of jitter, a number in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
} & (
  | {
      /** As above: one of the two is required. */
      readonly podCouldHaveRunningContainers: (pod: Pod) => boolean;
    }
  | {
      /** As above: one of the two is required. */
      readonly podDeletionSafety: PodDeletionSafety;
    }
);

/** The default values of options, each with the kubelet's. */
export const defaultOptions = {
  /** kubelet: `syncPeriod` = 10 s */
  syncPeriodMs: 10_000,
  /** kubelet: one goroutine, serial */
  concurrency: 8,
  /** kubelet: always */
  readBeforePatch: 'always',
  /** kubelet: strategic merge */
  patchStrategy: 'strategic-merge',
  /** kubelet: none; client-go waits for as long as the connection lives */
  requestTimeoutMs: 30_000,
} as const;

const journalMethods = ['accepted', 'settled', 'close'] as const;

const checks: OptionChecks<StatusManagerOptions> = {
  client: unchecked,
  podCouldHaveRunningContainers: unchecked,
  podDeletionSafety: unchecked,
  podManager: port(['getPodByUID', 'getMirrorPodByPod', 'translatePodUID', 'getUIDTranslations']),
  allocationState: port([
    'getContainerResourceAllocation',
    'getPodLevelResourceAllocation',
    'getPodResizeStatus',
    'setPodAllocation',
    'setPodResizeStatus',
    'delete',
    'removeOrphanedPods',
  ]),
  journal: port(journalMethods),
  logger: unchecked,
  metrics: unchecked,
  clock: unchecked,
  podStartupLatency: unchecked,
  eventRecorder: unchecked,
  syncPeriodMs: integer(100, 3_600_000),
  concurrency: integer(1, 1_000),
  readBeforePatch: oneOf('always', 'when-stale'),
  patchStrategy: oneOf('strategic-merge', 'json-patch'),
  requestTimeoutMs: integer(1, 600_000),
  qps: unchecked,
  burst: unchecked,
  limiter: unchecked,
  random: unchecked,
};
const latencyMethods = ['recordStatusUpdated', 'deletePodStartupState'] as const;

/** Checks the options and fills in their defaults. @throws StatusManagerError INVALID_OPTION, naming the option, what is expected, and the value */
export function resolveOptions<P extends PodManager>(options: StatusManagerOptions<P>) {
  requireOptions(options, checks);
  const { podManager, allocationState = noopState } = options;
  const valueOf = <K extends keyof typeof defaultOptions>(name: K) => options[name] ?? defaultOptions[name];
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  warnOfOtherClock(options, clock, logger);
  return {
    client: options.client,
    podDeletionSafety: resolvePodDeletionSafety(options, logger),
    ...{ podManager, allocationState },
    journal: resolveJournal(options.journal, logger),
    logger,
    metrics: resolveMetrics(options.metrics, logger),
    clock,
    podStartupLatency: resolvePartialPort('podStartupLatency', options.podStartupLatency, latencyMethods, logger),
    eventRecorder: resolvePartialPort('eventRecorder', options.eventRecorder, ['event'], logger),
    syncPeriodMs: valueOf('syncPeriodMs'),
    concurrency: valueOf('concurrency'),
    readBeforePatch: valueOf('readBeforePatch'),
    patchStrategy: valueOf('patchStrategy'),
    requestTimeoutMs: valueOf('requestTimeoutMs'),
    limiter: resolveLimiter(options, clock),
    random: resolveRandom(options.random, logger),
  };
}

/** A test that passes its `FakeClock` only to the fakes would wait forever. */
function warnOfOtherClock({ client, podManager }: StatusManagerOptions, clock: Clock, logger: Logger): void {
  const clocks = [client, podManager].map((port) => (port as { readonly clock?: Partial<Clock> } | undefined)?.clock);
  const isOther = (other: Partial<Clock> | undefined): boolean => other?.afterFunc !== undefined && other !== clock;
  if (clock === systemClock && clocks.some(isOther))
    logger.warn({}, 'The client or pod manager has a fake clock, but the status manager does not: pass it as `clock`');
}

function resolvePodDeletionSafety(options: StatusManagerOptions, logger: Logger): PodDeletionSafety {
  const { podCouldHaveRunningContainers, podDeletionSafety } = options;
  if (podDeletionSafety === undefined) {
    requireSynchronous('podCouldHaveRunningContainers', podCouldHaveRunningContainers);
    return guardedPodDeletionSafety({ podCouldHaveRunningContainers }, logger);
  }
  if (podCouldHaveRunningContainers !== undefined)
    refuseOption('podDeletionSafety', 'absent when `podCouldHaveRunningContainers` is given', podDeletionSafety);
  requirePort('podDeletionSafety', podDeletionSafety, ['podCouldHaveRunningContainers']);
  requireSynchronous(
    'podDeletionSafety.podCouldHaveRunningContainers',
    Reflect.get(podDeletionSafety, 'podCouldHaveRunningContainers'),
  );
  return guardedPodDeletionSafety(podDeletionSafety, logger);
}

/** Refuses what cannot be seen to be synchronous; any other function that returns a promise is noticed when it is called. */
function requireSynchronous(name: string, value: unknown): asserts value is (pod: Pod) => boolean {
  if (typeof value !== 'function' || types.isAsyncFunction(value))
    refuseOption(name, 'a synchronous function, which returns a boolean', value);
}

function resolveJournal(journal: Journal | undefined, logger: Logger): Journal | undefined {
  if (journal === undefined) return undefined;
  const methods = guarded<Omit<Journal, 'recovered'>>(
    journal,
    [...journalMethods, 'failure'],
    logThrown(logger, 'journal'),
  );
  return { ...methods, recovered: journal.recovered };
}

/** @throws StatusManagerError INVALID_OPTION */
export function resolveLimiter(
  { limiter, qps, burst }: Pick<StatusManagerOptions, 'burst' | 'limiter' | 'qps'>,
  clock: Clock,
): RequestLimiter {
  if (limiter === undefined) return new RequestLimiter({ clock, qps, burst });
  if (qps !== undefined || burst !== undefined)
    refuseOption('limiter', 'absent when `qps` or `burst` is given', limiter);
  return requirePort('limiter', limiter, ['forClient']);
}
