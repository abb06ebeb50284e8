import isEqual from 'lodash/isEqual.js';
import {
  APIError,
  BasicPodManager,
  type Pod,
  type PodStatus,
  StatusManager,
  type StatusManagerOptions,
} from 'kubelet-status-manager';
import {
  generateAllContainersRestartingCondition,
  generatePodReadyToStartContainersCondition,
} from '../../src/status-manager/status/generate-runtime-conditions.ts';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  needToReconcilePodReadiness,
} from '../../src/status-manager/status/generate-conditions.ts';
import { type FakeAction, FakeClock, FakePodClient, silentLogger } from 'kubelet-status-manager/testing';
import { canonicalPodStatus } from '../../src/status-manager/status/canonical.ts';
import { differences, type Divergence, withoutEmptyNulls } from './compare.ts';
import type { CallbackProbe } from '../status-manager/properties/callback-probe.ts';
import { reformatTrace } from './reformat-trace.ts';
import { ScriptedEvents } from './scripted-events.ts';
import type { Expectation, RecordedRequest, Trace, TraceStep } from './trace.ts';

type ManagerOptions = Pick<StatusManagerOptions, 'concurrency' | 'readBeforePatch' | 'patchStrategy'>;

export interface ReplayOptions extends ManagerOptions {
  /** Converts the statuses to other valid formats, chosen by this seed. Default: as they were recorded. */
  readonly reformatSeed?: number;
  /** Creates an observer of everything that the manager calls. Default: none. */
  readonly probing?: (...args: ConstructorParameters<typeof CallbackProbe>) => CallbackProbe;
}

/** The state that is compared after each step. */
interface Snapshot {
  readonly cache: ReadonlyMap<string, { version: number; podIsFinished: boolean; status: PodStatus }>;
  readonly sent: ReadonlyMap<string, number>;
  readonly api: ReadonlyMap<string, Pod>;
}

/**
 * Replays a trace through the public API and returns the differences from its expectations. With
 * `when-stale` or `json-patch` the requests differ by design, so only their effects are compared.
 */
export async function replayTrace(
  recorded: Trace,
  { reformatSeed, probing, ...options }: ReplayOptions = {},
): Promise<Divergence[]> {
  const trace = reformatSeed === undefined ? recorded : reformatTrace(recorded, reformatSeed);
  const replay = new Replay(trace, options, probing);
  const divergences: Divergence[] = [];
  for (const [step, traceStep] of trace.steps.entries()) {
    for (const difference of await replay.step(traceStep).catch(thrown))
      divergences.push({ trace: trace.name, step, op: traceStep.op, ...difference });
    // Later steps would only repeat the difference.
    if (divergences.length > 0) break;
  }
  await replay.end();
  return divergences;
}

/** A step that throws is also a difference. */
function thrown(error: unknown): ReturnType<typeof differences> {
  return [{ path: 'thrown', expected: undefined, got: String(error) }];
}

class Replay {
  readonly #clock: FakeClock;
  readonly #server = new FakePodClient();
  readonly #podManager = new BasicPodManager();
  readonly #couldHaveRunningContainers = new Set<string>();
  readonly #manager: StatusManager;
  readonly #probe: CallbackProbe | undefined;
  readonly #comparesRequests: boolean;
  readonly #events = new ScriptedEvents();
  /** The same script, applied to the requests that the kubelet made. */
  readonly #kubeletEvents = new ScriptedEvents();
  /** `namespace/name` by UID, mirrors included. */
  readonly #keys = new Map<string, string>();
  /** Pods that are no longer compared; see `#leaveOut`. */
  readonly #leftOut = new Set<string>();
  #requests: Record<string, { request: RecordedRequest; serverStatus: unknown }[]> = {};
  #notified: unknown[] = [];

  constructor(trace: Trace, options: ManagerOptions, probing: ReplayOptions['probing']) {
    this.#clock = new FakeClock(trace.start);
    this.#comparesRequests = options.readBeforePatch !== 'when-stale' && options.patchStrategy !== 'json-patch';
    const couldHaveRunningContainers = (pod: Pod): boolean =>
      this.#couldHaveRunningContainers.has(pod.metadata?.uid ?? '');
    const probe = probing?.(this.#clock, couldHaveRunningContainers);
    this.#probe = probe;
    this.#manager = new StatusManager({
      ...options,
      client: probe?.client(this.#server) ?? this.#server,
      podManager: this.#podManager,
      podCouldHaveRunningContainers: couldHaveRunningContainers,
      clock: this.#clock,
      logger: silentLogger,
      ...probe?.ports,
    });
    probe?.attach(this.#manager);
    this.#server.react({}, (action) => this.#record(action), Number.POSITIVE_INFINITY);
    this.#manager.subscribe({
      onPodUpdated: (pod, _status, isAdded) =>
        this.#notified.push({ kind: 'updated', uid: pod.metadata?.uid, ...(isAdded && { isAdded }) }),
      onPodRemoved: (pod) => this.#notified.push({ kind: 'removed', uid: pod.metadata?.uid }),
    });
  }

  async step(step: TraceStep): Promise<ReturnType<typeof differences>> {
    this.#requests = {};
    this.#notified = [];
    for (const { metadata } of [...(step.pod ? [step.pod] : []), ...(step.pods ?? [])])
      this.#keys.set(metadata?.uid ?? '', `${metadata?.namespace}/${metadata?.name}`);
    const before = this.#snapshot();
    const returned = await this.#perform(step);
    const after = this.#snapshot();
    if (this.#comparesRequests) return this.#compare(step, before, after, returned);
    this.#leaveOut(before, step.expect);
    return this.#compareEffects(step, before, after, returned);
  }

  async end(): Promise<void> {
    await this.#manager.stop();
    this.#probe?.detach();
  }

  #perform(step: TraceStep): unknown {
    const { uid = '', reason = '', message = '', generation = 0, value = false } = step;
    const manager = this.#manager;
    switch (step.op) {
      case 'advance':
        return this.#clock.advance((step.seconds ?? 0) * 1000);
      case 'api.put':
        return this.#server.put(step.pod!);
      case 'api.delete':
        return this.#server.remove(step.namespace!, step.name!);
      case 'api.fail':
        for (const events of [this.#events, this.#kubeletEvents])
          events.fail(`${step.namespace}/${step.name}`, step.verb!, step.code!, step.times ?? 1);
        return undefined;
      case 'api.recreateAfterGet':
        return this.#recreateAfterGet(step.pod!);
      case 'pods.set':
        return this.#podManager.updatePod(step.pod!);
      case 'pods.observe': {
        const pod = this.#server.pod(step.namespace!, step.name!);
        return pod && this.#podManager.updatePod(structuredClone(pod));
      }
      case 'pods.remove':
        return this.#podManager.removePod(this.#podManager.getPodByUID(uid) ?? step.pod!);
      case 'safety.set':
        return void (value ? this.#couldHaveRunningContainers.add(uid) : this.#couldHaveRunningContainers.delete(uid));
      case 'setPodStatus': {
        const { status, changed } = manager.setPodStatus(this.#podOf(step), step.status ?? {});
        return { status, changed };
      }
      case 'terminatePod':
        return void manager.terminatePod(this.#podOf(step));
      case 'getPodStatus':
        return manager.getPodStatus(uid);
      case 'setContainerReadiness':
        return void manager.setContainerReadiness(uid, step.containerID!, value);
      case 'setContainerStartup':
        return void manager.setContainerStartup(uid, step.containerID!, value);
      case 'setPodVolumeHealth':
        return manager.setPodVolumeHealth(uid, step.volumeName!, step.health ?? []).changed;
      case 'removeOrphanedStatuses':
        return manager.removeOrphanedStatuses(step.uids ?? []);
      case 'syncBatch':
        return manager.syncBatch(step.all ?? false).then(({ tried }) => tried);
      case 'setPodResizePendingCondition':
        return manager.setPodResizePendingCondition(uid, reason, message, generation);
      case 'setPodResizeInProgressCondition':
        return pair(manager.setPodResizeInProgressCondition(uid, reason, message, generation));
      case 'clearPodResizePendingCondition':
        return manager.clearPodResizePendingCondition(uid);
      case 'clearPodResizeInProgressCondition':
        return pair(manager.clearPodResizeInProgressCondition(uid));
      case 'getPodResizeConditions': {
        const conditions = manager.getPodResizeConditions(uid);
        return conditions.length === 0 ? null : conditions;
      }
      case 'isPodResizeDeferred':
        return manager.isPodResizeDeferred(uid);
      case 'isPodResizeInfeasible':
        return manager.isPodResizeInfeasible(uid);
      case 'backfillPodResizeConditions':
        return manager.backfillPodResizeConditions(step.pods ?? []);
      default:
        return generate(step);
    }
  }

  #podOf(step: TraceStep): Pod {
    return this.#podManager.getPodByUID(step.uid!) ?? step.pod!;
  }

  #recreateAfterGet(pod: Pod): void {
    const { namespace = '', name = '' } = pod.metadata ?? {};
    for (const events of [this.#events, this.#kubeletEvents]) events.recreateAfterGet(`${namespace}/${name}`, pod);
  }

  #record({ verb, namespace, name, patch, preconditions }: FakeAction): void | (() => void) {
    const pod = this.#server.pod(namespace, name);
    const body = patch === undefined ? {} : { body: structuredClone(patch.body) };
    const request: RecordedRequest = { verb, ...body, ...preconditions };
    (this.#requests[`${namespace}/${name}`] ??= []).push({
      request,
      serverStatus: pod?.status,
    });
    const { failure, recreation } = this.#events.apply(`${namespace}/${name}`, verb, pod !== undefined);
    if (failure !== undefined) throw new APIError('scripted failure', { kind: 'http', statusCode: failure });
    if (recreation !== undefined) return () => this.#server.put(recreation);
  }

  #snapshot(): Snapshot {
    const { pods, apiStatusVersions } = this.#manager.inspect();
    const cache = new Map(
      pods.map(({ podUID, version, podIsFinished }) => [
        podUID,
        { version, podIsFinished, status: this.#manager.getPodStatus(podUID)! },
      ]),
    );
    return { cache, sent: apiStatusVersions, api: new Map(this.#server.pods) };
  }

  #compare(step: TraceStep, before: Snapshot, after: Snapshot, returned: unknown): ReturnType<typeof differences> {
    const { expect = {} } = step;
    const found = [
      ...differences(expect.cache ?? {}, changes(before.cache, after.cache), 'cache'),
      ...differences(expect.notified ?? [], this.#notified, 'notified'),
      ...differences(expect.signal ?? false, this.#manager.inspect().isWakeUpWaiting, 'signal'),
    ];
    if (Object.keys(this.#requests).length > 0 || expect.api !== undefined) {
      found.push(...differences(expect.api ?? {}, changes(shown(before.api), shown(after.api)), 'api'));
    }
    const requests = mapValues(this.#requests, (list) =>
      list.map(({ request, serverStatus }) => withoutEmptyNulls(request, serverStatus)),
    );
    const expectedRequests = mapValues(expect.requests ?? {}, (list, key) =>
      list.map((request, i) => withoutEmptyNulls(request, this.#requests[key]?.[i]?.serverStatus)),
    );
    found.push(
      ...differences(expect.returns, returned, 'returns'),
      ...differences(expectedRequests, requests, 'requests'),
      ...differences(expect.sent ?? {}, changes(before.sent, after.sent), 'sent'),
    );
    return found;
  }

  /**
   * Scripted events belong to a request. If an event affected a request of the kubelet that we never
   * made, or the other way round, the two saw different API servers. We respond to a PATCH that fails
   * with 404, 409 or 422 by reading and sending again, so a scripted event may be used up before the
   * kubelet's next batch. Such a pod, and no other, is not compared from there on.
   */
  #leaveOut(before: Snapshot, { requests = {} }: Expectation = {}): void {
    for (const [key, list] of Object.entries(requests))
      for (const { verb } of list) this.#kubeletEvents.apply(key, verb, before.api.has(key));
    const [ours, theirs] = [this.#events.takeMet(), this.#kubeletEvents.takeMet()];
    for (const key of new Set([...ours.keys(), ...theirs.keys()])) {
      const met = ours.get(key) ?? [];
      if (!isEqual(met, theirs.get(key) ?? []) || met.some((event) => /^patch 4(04|09|22)$/.test(event)))
        this.#leftOut.add(key);
    }
  }

  /**
   * The effects of both on the API server, the cache and the listeners. The order of conditions and
   * their null fields are not compared, because they depend on what a patch was computed from. The
   * cached time of a DisruptionTarget is not compared either, because the kubelet refreshes it before
   * a PATCH that may fail, and so at other moments than we do.
   */
  #compareEffects(
    step: TraceStep,
    before: Snapshot,
    after: Snapshot,
    returned: unknown,
  ): ReturnType<typeof differences> {
    const { expect = {} } = step;
    const isCompared = (uid: string): boolean => !this.#leftOut.has(this.#keys.get(uid) ?? uid);
    const ofCompared = (record: Readonly<Record<string, unknown>> = {}): Record<string, unknown> =>
      Object.fromEntries(Object.entries(record).filter(([uid]) => isCompared(uid)));
    const notified = (list: readonly unknown[]): unknown[] =>
      list.filter((notification) => isCompared((notification as { uid: string }).uid));
    const touched = Object.keys(ofCompared({ ...expect.cache, ...changes(before.cache, after.cache) }));
    const found = [
      ...touched.flatMap((uid) => {
        const expected = expect.cache?.[uid] === undefined ? before.cache.get(uid) : expect.cache[uid];
        return differences(version(expected), version(after.cache.get(uid)), `cache.${uid}`);
      }),
      ...differences(ofCompared(expect.sent), ofCompared(changes(before.sent, after.sent)), 'sent'),
      ...differences(notified(expect.notified ?? []), notified(this.#notified), 'notified'),
    ];
    if (this.#leftOut.size === 0) {
      found.push(
        ...differences(expect.signal ?? false, this.#manager.inspect().isWakeUpWaiting, 'signal'),
        ...differences(expect.returns, returned, 'returns'),
      );
    }
    if (Object.keys(this.#requests).length > 0 || expect.api !== undefined) {
      found.push(
        ...differences(
          mapValues(ofCompared(expect.api), comparable),
          mapValues(ofCompared(changes(shown(before.api), shown(after.api))), comparable),
          'api',
        ),
      );
    }
    return found;
  }
}

/** A cache entry without the status itself. */
function version(cached: unknown): unknown {
  return cached == null ? null : { ...cached, status: null };
}

function comparable(object: unknown): unknown {
  if (object === null) return null;
  const { uid, status } = object as { uid: string; status: PodStatus };
  const canonical = canonicalPodStatus(status, { strict: false });
  const conditions = canonical.conditions?.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return { uid, status: { ...canonical, conditions } };
}

function generate({ op, pod: given, status, oldStatus, sandboxes, runtime }: TraceStep): unknown {
  const pod = given!;
  const list = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const statuses = list.length === 0 ? undefined : list;
  const phase = status?.phase ?? '';
  switch (op) {
    case 'generate.containersReady':
      return generateContainersReadyCondition(pod, oldStatus, statuses, phase);
    case 'generate.podReady':
      return generatePodReadyCondition(pod, oldStatus, status?.conditions, statuses, phase);
    case 'generate.podInitialized':
      return generatePodInitializedCondition(pod, oldStatus, statuses, phase);
    case 'generate.podReadyToStartContainers':
      return generatePodReadyToStartContainersCondition(
        pod,
        oldStatus,
        sandboxes?.map(({ ready = false, hostNetwork, noNetwork, ip }) => ({
          ready,
          hostNetwork,
          network: noNetwork ? undefined : { ip },
        })),
      );
    case 'generate.allContainersRestarting':
      return generateAllContainersRestartingCondition(
        pod,
        oldStatus,
        runtime?.map(({ name, exited = false, exitCode }) => ({ name, exited, exitCode })),
        phase,
      );
    case 'needToReconcilePodReadiness':
      return needToReconcilePodReadiness(pod);
    default:
      throw new Error(`unknown op ${op}`);
  }
}

function pair({ observedGeneration, changed }: { observedGeneration: number; changed: boolean }): [number, boolean] {
  return [observedGeneration, changed];
}

function shown(pods: ReadonlyMap<string, Pod>): Map<string, unknown> {
  return new Map([...pods].map(([key, pod]) => [key, { uid: pod.metadata?.uid, status: pod.status ?? {} }]));
}

/** New and changed entries; null for removed ones. */
function changes(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const key of before.keys()) if (!after.has(key)) changed[key] = null;
  for (const [key, value] of after) if (!isEqual(before.get(key), value)) changed[key] = value;
  return changed;
}

function mapValues<In, Out>(
  record: Readonly<Record<string, In>>,
  map: (value: In, key: string) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
