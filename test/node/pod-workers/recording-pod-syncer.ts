import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import type { ValidPod } from 'kubelet-status-manager';
import type { PodLifecycleSyncer, SyncPodResult } from '../../../src/node/pod-workers/pod-lifecycle-syncer.ts';
import { PodSyncStatuses } from '../../../src/node/pod-workers/pod-sync-statuses.ts';
import { PodWorkers } from '../../../src/node/pod-workers/pod-workers.ts';
import type { PodWorkersOptions } from '../../../src/node/pod-workers/pod-workers-options.ts';
import type { RuntimePodStatus } from '../../../src/node/runtime/runtime-pod-status.ts';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';

/** A call of a `RecordingPodSyncer`. Source: upstream's `syncPodRecord`. */
export interface SyncPodRecord {
  readonly name: string;
  readonly call: 'create' | 'update' | 'sync' | 'kill' | 'terminating' | 'terminating runtime pod' | 'terminated';
  readonly gracePeriodSeconds?: number;
}

export const emptyStatus: RuntimePodStatus = { sandboxes: [], containers: [] };

/** Does nothing but record what it is asked to do; `hold` makes the calls for a pod wait. */
export class RecordingPodSyncer implements PodLifecycleSyncer {
  readonly processed = new Map<string, SyncPodRecord[]>();
  /** The phases of the pods that the calls got, by UID. */
  readonly phases = new Map<string, (string | null | undefined)[]>();
  /** Pods of which the next sync says that they are terminal. */
  readonly terminal = new Set<string>();
  /** Pods that a sync changes in the runtime. */
  readonly changing = new Set<string>();
  /** Pods of which the next sync says that another one must follow. */
  readonly syncedAgain = new Set<string>();
  /** What the next calls for a pod reject with. */
  readonly failures = new Map<string, Error[]>();
  readonly signals = new Map<string, AbortSignal>();
  readonly #held = new Map<string, Promise<void>>();

  /** The calls for the pod wait until the returned function is called. */
  hold(uid: string): () => void {
    let release = (): void => {};
    const promise = new Promise<void>((resolve) => (release = resolve));
    this.#held.set(uid, promise);
    return () => {
      this.#held.delete(uid);
      release();
    };
  }

  async syncPod(
    ...[updateType, pod, , , { signal }]: Parameters<PodLifecycleSyncer['syncPod']>
  ): Promise<SyncPodResult> {
    await this.#record(pod, { call: updateType }, signal);
    return {
      isTerminal: this.terminal.has(pod.metadata?.uid ?? ''),
      hasChanged: this.changing.has(pod.metadata?.uid ?? ''),
      mustSyncAgain: this.syncedAgain.delete(pod.metadata?.uid ?? ''),
    };
  }

  syncTerminatingPod(
    ...[pod, , gracePeriodSeconds, , { signal }]: Parameters<PodLifecycleSyncer['syncTerminatingPod']>
  ): Promise<void> {
    return this.#record(
      pod,
      { call: 'terminating', ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) },
      signal,
    );
  }

  syncTerminatingRuntimePod(
    ...[runningPod, { signal }]: Parameters<PodLifecycleSyncer['syncTerminatingRuntimePod']>
  ): Promise<void> {
    return this.#record({ metadata: runningPod }, { call: 'terminating runtime pod' }, signal);
  }

  syncTerminatedPod(...[pod, , { signal }]: Parameters<PodLifecycleSyncer['syncTerminatedPod']>): Promise<void> {
    return this.#record(pod, { call: 'terminated' }, signal);
  }

  async #record(pod: ValidPod, record: Omit<SyncPodRecord, 'name'>, signal: AbortSignal | undefined): Promise<void> {
    const { uid, name } = pod.metadata;
    this.phases.set(uid, [...(this.phases.get(uid) ?? []), pod.status?.phase]);
    this.processed.set(uid, [...(this.processed.get(uid) ?? []), { name, ...record }]);
    if (signal !== undefined) this.signals.set(uid, signal);
    await this.#held.get(uid);
    const failure = this.failures.get(uid)?.shift();
    if (failure !== undefined) throw failure;
  }
}

export interface TestWorkers {
  readonly workers: PodWorkers;
  readonly syncer: RecordingPodSyncer;
  readonly clock: FakeClock;
  /** What the runtime is known to show of pods when they are seen first. */
  readonly cached: Map<string, RuntimePodStatus>;
  /** When pods must be synced again, as the sync loop was told. */
  readonly dueTimes: number[];
}

export function createPodWorkers(options: Partial<PodWorkersOptions> = {}): TestWorkers {
  const clock = new FakeClock();
  const syncer = new RecordingPodSyncer();
  const cached = new Map<string, RuntimePodStatus>();
  const dueTimes: number[] = [];
  const podCache = options.podCache ?? {
    get: (uid) => cached.get(uid),
    lastObservation: () => 0,
    getNewerThan: () => Promise.resolve(emptyStatus),
  };
  const logger = options.logger ?? silentLogger;
  const workers = new PodWorkers({
    statuses: new PodSyncStatuses({
      ...{ podCache, clock: options.clock ?? clock, logger },
      onSyncDue: (dueMs) => dueTimes.push(dueMs),
    }),
    podSyncer: syncer,
    podCache,
    allocationState: new MemoryState(),
    clock,
    logger,
    eventRecorder: { event: () => {} },
    requestRelist: () => {},
    random: () => 0,
    ...options,
  });
  return { workers, syncer, clock, cached, dueTimes };
}

/** Lets the workers do what they can. */
export async function drainAllWorkers({ clock }: Pick<TestWorkers, 'clock'>): Promise<void> {
  await clock.yieldToEventLoop();
  await clock.yieldToEventLoop();
}

/** A pod with a grace period of 30 seconds. */
export function newNamedPod(uid: string, namespace: string, name: string, isStatic = false): ValidPod {
  return {
    metadata: {
      uid,
      namespace,
      name,
      ...(isStatic && { annotations: { 'kubernetes.io/config.source': 'file' } }),
    },
    spec: { terminationGracePeriodSeconds: 30 },
  };
}
