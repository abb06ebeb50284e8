import { setMaxListeners } from 'node:events';
import { type ValidPod, type PodStatus, type ResourceRequirementsInput, StatusManager } from 'kubelet-status-manager';
import type { ContainerRuntime, EventRecorder, ObjectEvent, PodEvent, ProbeResult } from 'kubelet-status-manager/agent';
import { AgentPodSyncer, type AgentPodSyncerOptions } from '../../../src/agent/pod-syncer/agent-pod-syncer.ts';
import { boundedRuntime } from '../../../src/node/runtime/bounded-runtime.ts';
import { podStatusFromRuntime } from '../../../src/agent/pleg/pod-status-from-runtime.ts';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { AllocationManager } from '../../../src/node/allocation/allocation-manager.ts';
import { createProber } from '../../../src/node/prober/create-prober.ts';
import type { PodAdmitHandler } from '../../../src/node/allocation/pod-admit-handler.ts';
import { requirePods } from '../../../src/kube/pods/require-pod.ts';
import { createHandlerRunner, type HandlerRunner } from '../../../src/agent/pod-syncer/handler-runner.ts';
import { boundedVolumeManager } from '../../../src/agent/volumes/bounded-volume-manager.ts';
import type { VolumeManager } from '../../../src/agent/volumes/volume-manager.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { newImageManager } from './new-image-manager.ts';
import { PodSyncStatuses } from '../../../src/node/pod-workers/pod-sync-statuses.ts';
import type { PodCache } from '../../../src/node/pod-workers/pod-lifecycle-syncer.ts';
import { PodWorkers } from '../../../src/node/pod-workers/pod-workers.ts';
import { ProberManager } from '../../../src/node/prober/prober-manager.ts';
import type { ProbeResults } from '../../../src/node/probes/probe-results.ts';
import type { SyncPodType } from '../../../src/node/pod-workers/update-pod-options.ts';
import {
  FakeClock,
  FakeContainerRuntime,
  FakePodClient,
  settle,
  recordingLogger,
  silentLogger,
  SyncedPodManager,
} from 'kubelet-status-manager/testing';

const syncTickMs = 1000;
const housekeepingTicks = 2;

export interface TestAgentOptions extends Partial<Omit<AgentPodSyncerOptions, 'handlerRunner' | 'volumeManager'>> {
  readonly handlerRunner?: HandlerRunner;
  readonly volumeManager?: VolumeManager;
  /** True: probes are made, and have their effects. Default: `probeResults` is what they would find. */
  readonly withProbes?: boolean;
  readonly admitHandlers?: readonly PodAdmitHandler[];
  readonly runtimeOptions?: Omit<NonNullable<ConstructorParameters<typeof FakeContainerRuntime>[0]>, 'clock'>;
  readonly runtimeMethods?: Partial<ContainerRuntime>;
}

/**
 * Pod workers between a `FakeContainerRuntime` and a `StatusManager`, and of a sync loop what they
 * need: updates from the API server and from the runtime, a tick each second, housekeeping each two.
 */
export class TestAgent {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly client = new FakePodClient([], { clock: this.clock });
  readonly podManager = new SyncedPodManager(this.client);
  readonly events: PodEvent[] = [];
  /** Of the pod workers. */
  readonly logger = recordingLogger();
  /** By type of probe, then by container ID. */
  readonly probeResults = {
    startup: new Map<string, ProbeResult>(),
    readiness: new Map<string, ProbeResult>(),
    liveness: new Map<string, ProbeResult>(),
  } satisfies ProbeResults;
  readonly runtime: FakeContainerRuntime;
  readonly manager: StatusManager;
  readonly workers: PodWorkers;
  readonly allocationManager: AllocationManager;
  readonly syncer: AgentPodSyncer;
  readonly #history = new Map<string, readonly string[]>();
  /** All but the status, by UID. */
  readonly #desired = new Map<string, { readonly json: string; readonly pod: ValidPod }>();
  readonly #startTimes = new Map<string, readonly number[]>();
  readonly #startMs = this.clock.now();
  #ticks = 0;

  constructor({
    runtimeOptions,
    runtimeMethods,
    admitHandlers = [],
    withProbes = false,
    handlerRunner,
    volumeManager,
    ...options
  }: TestAgentOptions = {}) {
    const { clock } = this;
    const eventRecorder = { event: (event: PodEvent | ObjectEvent) => void this.events.push(event as PodEvent) };
    this.runtime = Object.assign(new FakeContainerRuntime({ clock, ...runtimeOptions }), runtimeMethods);
    // As in the agent, no call of the runtime takes longer than two minutes.
    const allocationState = new MemoryState();
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    const runtime = boundedRuntime(this.runtime, { clock, requestTimeoutMs: 120_000, signal });
    // Queries the runtime each time.
    const podCache: PodCache = {
      get: () => undefined,
      lastObservation: () => 0,
      getNewerThan: async (pod, _observation, callOptions) =>
        podStatusFromRuntime(pod, await runtime.getPod(pod.metadata.uid, callOptions), runtime),
    };
    const statuses = new PodSyncStatuses({ podCache, clock, logger: this.logger, onSyncDue: () => {} });
    this.manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podDeletionSafety: statuses,
      clock,
      logger: silentLogger,
    });
    this.syncer = new AgentPodSyncer({
      runtime,
      statusManager: this.manager,
      clock,
      logger: silentLogger,
      eventRecorder,
      probeManager: withProbes
        ? this.#newProberManager(eventRecorder, options.agentStartedMs)
        : {
            ...{ addPod: () => {}, removePod: () => {}, stopLivenessAndStartup: () => {}, triggerReadiness: () => {} },
            results: this.probeResults,
          },
      networkErrors: () => [],
      imageManager: newImageManager({ runtime, clock, eventRecorder }),
      qosCgroups: { update: async () => {} },
      handlerRunner: asBounded(handlerRunner ?? createHandlerRunner({ runtime, clock, eventRecorder })),
      volumeManager: volumeManager && boundedVolumeManager(volumeManager, { clock, signal }),
      reconcileMirrorPod: () => {},
      agentStartedMs: -Infinity,
      ...options,
    });
    this.allocationManager = new AllocationManager({
      ...{
        runtime,
        statusManager: this.manager,
        allocationState,
        admitHandlers,
        clock,
        logger: silentLogger,
        eventRecorder,
      },
      getActivePods: () => this.pods(),
      getPodByUID: (uid) => this.podManager.getPodByUID(uid),
      allSourcesReady: () => true,
      triggerPodSync: (pod) => this.workers.updatePod({ updateType: 'sync', pod }),
    });
    this.workers = new PodWorkers({
      ...{ statuses, podSyncer: this.syncer, podCache },
      requestRelist: (podUID) => this.#update('sync', podUID),
      allocationState,
      clock,
      logger: this.logger,
      eventRecorder,
      random: () => 0,
    });
    this.runtime.subscribe?.(({ podUID }) => this.#update('sync', podUID));
    this.client.subscribe(({ type, pod }) => this.#onPodEvent(type, pod as ValidPod));
    this.manager.start();
    this.allocationManager.start();
    clock.afterFunc(syncTickMs, () => this.#tick());
  }

  /** The pods that the API server shows. */
  pods(): readonly ValidPod[] {
    return requirePods(this.client.list());
  }

  /** The pod that the API server shows. */
  pod(namespace: string, name: string): ValidPod {
    return this.pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)!;
  }

  /** The API server shows this pod. */
  async create(pod: ValidPod): Promise<void> {
    this.client.put(pod);
    await this.settle();
  }

  /** As `kubectl patch --subresource=resize` does: the first container is to have these resources. */
  async resize(name: string, resources: ResourceRequirementsInput): Promise<void> {
    const pod = this.client.pod('ns', name)!;
    const [first, ...others] = pod.spec!.containers!;
    this.client.put({
      ...pod,
      metadata: { ...pod.metadata, generation: (pod.metadata?.generation ?? 1) + 1 },
      spec: { ...pod.spec, containers: [{ ...first!, resources }, ...others] },
    });
    await this.settle();
  }

  /** As `kubectl delete` does: the pod is marked. */
  async delete(name: string, gracePeriodSeconds = 30): Promise<void> {
    const pod = this.client.pod('ns', name)!;
    const deletionTimestamp = new Date(this.clock.now()).toISOString().replace('.000', '');
    const { metadata } = pod;
    this.client.put({
      ...pod,
      metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: gracePeriodSeconds },
    });
    await this.settle();
  }

  /** As `kubectl delete --force --grace-period=0` does: the pod is gone. */
  async forceDelete(name: string): Promise<void> {
    this.client.remove('ns', name);
    await this.settle();
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms, () => this.settle());
  }

  /** Lets everything happen that is due now. */
  settle(): Promise<void> {
    return settle(this.clock, this.manager, this.client);
  }

  /** The status as the API server has it. */
  status(name: string): PodStatus | undefined {
    return this.client.pod('ns', name)?.status as PodStatus | undefined;
  }

  /** What the API server saw of the pod: its phases, and the states of its containers, without repetitions. */
  history(uid: string): readonly string[] {
    return this.#history.get(uid) ?? [];
  }

  /** Seconds since the start at which a container was started. */
  startTimes(container: string): readonly number[] {
    return this.#startTimes.get(container) ?? [];
  }

  eventReasons(container?: string): string[] {
    return this.events.filter((event) => event.container === container).map(({ reason }) => reason);
  }

  /** Source: kubelet `syncLoopIteration`. */
  #newProberManager(recorder: EventRecorder, agentStartedMs = -3_600_000): ProberManager {
    const { clock, manager, runtime } = this;
    return new ProberManager({
      prober: asBounded(createProber({ runtime, recorder, clock })),
      ...{ clock, agentStartedMs, random: () => 0, recordMetric: () => {} },
      getPodStatus: (uid) => manager.getPodStatus(uid),
      onUpdate: (probeType, { podUID, containerID, result }) => {
        const succeeded = result === 'success';
        if (probeType === 'readiness') manager.setContainerReadiness(podUID, containerID, succeeded);
        if (probeType === 'startup') manager.setContainerStartup(podUID, containerID, succeeded);
        if (probeType !== 'liveness' || result === 'failure') this.#update('sync', podUID);
      },
    });
  }

  #onPodEvent(type: string, pod: ValidPod): void {
    const uid = pod.metadata.uid;
    if (type === 'DELETED') return this.workers.updatePod({ updateType: 'kill', pod });
    const history = this.#history.get(uid) ?? [];
    const entry = describePod(pod);
    if (history.at(-1) !== entry) this.#history.set(uid, [...history, entry]);

    // Changes of the status are the agent's own.
    const json = JSON.stringify({ ...pod, status: undefined });
    const before = this.#desired.get(uid);
    this.#desired.set(uid, { json, pod });
    if (before?.json === json) return this.allocationManager.podReconciled(before.pod, pod);
    if (before === undefined) {
      this.allocationManager.addPod(this.pods(), pod);
      this.allocationManager.podsAdded([pod]);
    } else {
      this.allocationManager.podUpdated(before.pod, pod);
    }
    this.workers.updatePod({ updateType: before === undefined ? 'create' : 'update', pod });
  }

  #update(updateType: SyncPodType, podUID: string): void {
    const started = this.runtime.pod(podUID)?.containers.filter(({ state }) => state === 'running') ?? [];
    for (const { name, startedAtMs = 0 } of started) {
      const times = this.#startTimes.get(name) ?? [];
      const seconds = (startedAtMs - this.#startMs) / 1000;
      if (!times.includes(seconds)) this.#startTimes.set(name, [...times, seconds]);
    }
    const pod = this.podManager.getPodByUID(podUID);
    if (pod !== undefined) this.workers.updatePod({ updateType, pod });
  }

  #tick(): void {
    this.#ticks++;
    const due = new Set(this.workers.statuses.getWork());
    for (const pod of this.pods()) {
      if (this.syncer.activeDeadlineHandler.shouldSync(pod)) due.add(pod.metadata.uid);
    }
    for (const uid of due) this.#update('sync', uid);
    if (this.#ticks % housekeepingTicks === 0) this.#housekeeping();
    this.clock.afterFunc(syncTickMs, () => this.#tick());
  }

  /** Source: kubelet `HandlePodCleanups`. */
  #housekeeping(): void {
    const pods = this.pods();
    const known = this.workers.syncKnownPods(pods);
    this.workers.statuses.podsSynced();
    for (const pod of pods) {
      if (!known.has(pod.metadata.uid)) this.workers.updatePod({ updateType: 'create', pod });
    }
    this.manager.removeOrphanedStatuses([...known.keys(), ...pods.map(({ metadata }) => metadata.uid)]);
  }
}

function describePod({ metadata, status }: ValidPod): string {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = (status ?? {}) as PodStatus;
  const states = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].map(({ name, state }) => {
    const { waiting, running, terminated } = state ?? {};
    if (running != null) return `${name} running`;
    return `${name} ${terminated == null ? (waiting?.reason ?? 'unknown') : `exit ${terminated.exitCode}`}`;
  });
  const deleted = metadata?.deletionTimestamp == null ? '' : ' (deleted)';
  return `${phase ?? 'new'}${deleted}: ${states.join(', ')}`;
}
