import { isDeepStrictEqual } from 'node:util';
import isEqual from 'lodash/isEqual.js';
import { crashLoopRange, type PodObservation } from '../../node/index.ts';
import type { PodStatusInput, ValidPod } from '../../kube/objects/types.ts';
import { firstBy } from '../../shared/by-field.ts';
import { type BackOffEntry, type BackOffRange, unlessExpired, nextDelayMs } from '../../shared/exponential-back-off.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { ProviderOperation } from '../calls/provider-calls.ts';
import type { ProviderCapabilities } from '../capabilities/provider-capabilities.ts';
import type { ProviderContainer, ProviderPod } from '../pod-provider.ts';
import { isSamePod, podHash } from './pod-hash.ts';
import { mustRestart, shownRun } from './provider-pod-status.ts';

/** What is known of a pod in the cloud. Times are on the monotonic clock unless they say otherwise. */
export type ProviderPodState =
  /** This process has not asked for the pod, and the provider has not reported it. */
  | { readonly kind: 'notAsked' }
  /** `createPod` was called, but not accepted: the cloud may have the pod. */
  | { readonly kind: 'asked'; readonly calledMs: number | undefined }
  /** `createPod` was accepted at `atMs`, in milliseconds since the epoch; the pod has not been reported yet. */
  | { readonly kind: 'accepted'; readonly calledMs: number | undefined; readonly atMs: number }
  /**
   * The provider has the pod. `pod` is undefined if only an earlier process has seen it: the status on the API server shows
   * that it ran. `atMs` is when it was last reported, in milliseconds since the epoch.
   */
  | { readonly kind: 'reported'; readonly pod?: ProviderPod | undefined; readonly atMs?: number | undefined }
  /** `deletePod` was accepted at `deletedMs`; the pod has not been seen to end. */
  | { readonly kind: 'ending'; readonly pod?: ProviderPod | undefined; readonly deletedMs: number }
  /** The pod is reported as stopped, since `stoppedMs`, or no longer listed after its deletion; then both are undefined. */
  | {
      readonly kind: 'ended';
      readonly pod?: ProviderPod | undefined;
      readonly stoppedMs?: number | undefined;
      readonly deletedMs?: number | undefined;
    }
  /** The pod was not deleted, but too many lists in a row lacked it. `was` is the state before. */
  | { readonly kind: 'lost'; readonly was: Extract<ProviderPodState, { kind: 'asked' | 'accepted' | 'reported' }> };

/** The calls that change a pod. */
export type ProviderPodOperation = Extract<ProviderOperation, 'create_pod' | 'update_pod' | 'delete_pod'>;

/** Reason and message of a pod that fails. */
export type PodFailure = NonNullable<PodObservation['eviction']>;

/** What the status of a pod follows from: while nothing of it changes, the status does not either. */
export interface ProviderPodStatusInputs {
  readonly pod: ValidPod;
  /** The run to show: the present one or, until that is reported, the one before. Undefined if no run was reported. */
  readonly reported: ProviderPod | undefined;
  /** The pod as the provider has accepted it, as far as is known. */
  readonly accepted: ValidPod | undefined;
  /** How often the node has started the pod again. */
  readonly restartCount: number;
  /** The reported run has stopped, and the next one is not reported yet. */
  readonly isBetweenRuns: boolean;
  /** No container of the pod runs, and none will run again. */
  readonly podIsTerminal: boolean;
  /** Why `createPod` failed; undefined if the end of a run says more. */
  readonly createFailure: PodFailure | undefined;
  /** See `ProviderPodRecord`. */
  readonly unlistedSinceMs: number | undefined;
  /** How long a pod that has crashed waits for its next start; undefined if it does not wait. */
  readonly crashLoopDelayMs: number | undefined;
}

/** All that is known of a pod in the cloud. It never changes: `reconcileProviderPod` returns the next one. */
export interface ProviderPodRecord {
  readonly state: ProviderPodState;
  /** How often the node has started the pod again. Reports of runs with a lower count are out of date. */
  readonly restartCount: number;
  /** The run that has stopped, until the next one is reported. */
  readonly stopped?: ProviderPod | undefined;
  /** The back-off of the next start, and the containers that it is about. */
  readonly crashLoop?: (BackOffEntry & { readonly containers: unknown }) | undefined;
  /** Reports of observations up to the one with this number are out of date. */
  readonly observation: number;
  /** How many lists in a row lacked the pod; only lists that began after `observation` count. */
  readonly missingLists: number;
  /**
   * When `createPod` was accepted, in milliseconds since the epoch, if `lostAfterLists` lists since then lacked the pod and it has
   * never been reported. `createPod` is then called again.
   */
  readonly unlistedSinceMs?: number | undefined;
  /** The pod as the provider has it; undefined if that is not known. */
  readonly applied?: ValidPod | undefined;
  /**
   * Why `applied` may be wrong: `createPod` was called with it and has not been accepted, or was accepted although the cloud
   * may have had an older version of the pod; or a call of `updatePod` failed and may have had an effect.
   */
  readonly uncertain?: 'attempted' | 'created' | 'updated' | undefined;
  /** The pod whose update was refused permanently. */
  readonly refused?: ValidPod | undefined;
  /** Why `createPod` failed. */
  readonly createFailure?: PodFailure | undefined;
  /** The call that failed last. It is not repeated before `untilMs`. */
  readonly backOff?: CallBackOff | undefined;
  /** True while `deletePod` is being called. */
  readonly isDeleting?: boolean | undefined;
  /** The inputs of the last generated status, and the status that was cached afterwards. */
  readonly generated?: { readonly inputs: ProviderPodStatusInputs; readonly status: PodStatusInput } | undefined;
  /**
   * True once the worker has finished the pod. This field outlives the worker: when the pod's object is gone, what the cloud
   * still has of the pod is deleted without asking the API server.
   */
  readonly isTerminated?: boolean | undefined;
}

interface CallBackOff {
  readonly operation: ProviderPodOperation;
  /** The last delay that was not requested by the cloud; the next one is twice as long. */
  readonly delayMs: number;
  readonly untilMs: number;
  readonly message: string;
}

/** What has happened to a pod: an observation, or the beginning or result of a call. */
export type ProviderPodReport =
  /** @property atMs the time in milliseconds since the epoch */
  | { readonly kind: 'listed'; readonly pod: ProviderPod; readonly observation: number; readonly atMs: number }
  /** A list lacked it, or `getPod` did not find it. */
  | { readonly kind: 'missing' | 'notFound'; readonly observation: number }
  /** `createPod` is called; it or `deletePod` was accepted. */
  | { readonly kind: 'creating'; readonly pod: ValidPod; readonly restartCount: number; readonly observation: number }
  | { readonly kind: 'created'; readonly observation: number; readonly atMs: number }
  | { readonly kind: 'deleted'; readonly observation: number }
  | { readonly kind: 'updated'; readonly pod: ValidPod }
  /** `deletePod` is called, or the worker has finished the pod. */
  | { readonly kind: 'deleting' | 'terminated' }
  | {
      readonly kind: 'failed';
      readonly operation: ProviderPodOperation;
      readonly failure: PodFailure;
      /** Absent if the API server could not be asked before a deletion. */
      readonly pod?: ValidPod | undefined;
      readonly isPermanent: boolean;
      readonly retryAfterMs?: number | undefined;
    }
  /** The call may have had an effect, but its result is no longer waited for. */
  | { readonly kind: 'aborted'; readonly operation: ProviderPodOperation };

/** What should become of a pod. */
export type WantedPod = (
  | { readonly kind: 'running'; readonly pod: ValidPod }
  /** @property hasObject false for a pod that only the cloud has: it is deleted even if it has stopped */
  | { readonly kind: 'ended'; readonly hasObject: boolean }
) & {
  /** True if an earlier process may have created the pod. */
  readonly mayExist: boolean;
  /** The last status of the pod; undefined if it has none. */
  readonly previous?: PodStatusInput | null | undefined;
};

/** What to do next for a pod. */
export type NextCall =
  | { readonly kind: 'delete' }
  | { readonly kind: 'create'; readonly restartCount: number }
  /** @property previous what the provider has; undefined if that is not known */
  | { readonly kind: 'update'; readonly previous: ValidPod | undefined }
  /** Nothing: `applied` if the provider has the pod as it is wanted. */
  | { readonly kind: 'none' | 'applied' }
  /** The pod ran before a restart and is not listed yet: its status must not change. */
  | { readonly kind: 'wait' }
  /** The pod has ended. */
  | { readonly kind: 'terminate' }
  | { readonly kind: 'fail'; readonly failure: PodFailure }
  | { readonly kind: 'backOff'; readonly untilMs: number; readonly message: string }
  /** The pod has stopped, and is started again later. */
  | { readonly kind: 'crashLoop'; readonly untilMs: number; readonly delayMs: number };

export interface ReconcileInput {
  /** Default: nothing has happened. */
  readonly report?: ProviderPodReport | undefined;
  /** Default: only `report` is recorded. */
  readonly wanted?: WantedPod | undefined;
  /** True if the last list lacked the pod. */
  readonly isUnlisted: boolean;
  /** On the monotonic clock. */
  readonly nowMs: number;
}

export interface ProviderPodPolicy {
  /** A pod is lost when so many lists in a row lacked it. */
  readonly lostAfterLists: number;
  /** What happens to a lost pod: it fails, or it is created again. */
  readonly lostPods: 'fail' | 'recreate';
  /** False if the provider has no `updatePod`. */
  readonly canUpdate: boolean;
  /** See `ProviderCapabilities`. */
  readonly restarts: ProviderCapabilities['restarts'];
}

export const unknownProviderPod: ProviderPodRecord = {
  ...{ state: { kind: 'notAsked' }, restartCount: 0, observation: 0, missingLists: 0 },
};

/** The API has an int32. */
const maxRestartCount = 2 ** 31 - 1;
/** A cloud that does not list a pod may be creating it for this long after `createPod`. */
const creationMs = 60_000;
/** A deleted pod that is still listed is not an orphan for this long. */
const deletionMs = 60_000;

/** The delays after temporary failures; the worker adds jitter. A pod that must end may cost money and keeps its name. */
const retryRanges: Readonly<Record<ProviderPodOperation, BackOffRange>> = {
  create_pod: { firstMs: 1000, maxMs: 300_000 },
  update_pod: { firstMs: 1000, maxMs: 300_000 },
  delete_pod: { firstMs: 1000, maxMs: 60_000 },
};

/**
 * The state machine of a pod in the cloud. Pure: records `report`, and says what to do next for the pod that is wanted. After
 * a report of a failed call, this is about that call.
 */
export function reconcileProviderPod(
  before: ProviderPodRecord,
  { report, wanted, isUnlisted, nowMs }: ReconcileInput,
  policy: ProviderPodPolicy,
): { readonly record: ProviderPodRecord; readonly call: NextCall } {
  let record = report === undefined ? before : withReport(before, report, nowMs, policy);
  if (report?.kind === 'failed') return { record, call: afterFailure(record, report, nowMs) };
  if (wanted === undefined) return { record, call: { kind: 'none' } };
  record = withShownRun(record, wanted.previous, policy);
  if (wanted.mayExist && record.state.kind === 'notAsked') record = expectedPod(record, isUnlisted, policy);
  if (wanted.kind === 'ended') return { record, call: callToEnd(record, wanted.hasObject, nowMs) };
  record = withReportedHash(record);
  const call = callToRun(record, wanted, nowMs, policy);
  return { record: call.kind === 'applied' ? withApplied(record, wanted.pod) : record, call };
}

/** The pod as last reported; undefined if the cloud does not have it. */
export function reportedPod({ state }: ProviderPodRecord): ProviderPod | undefined {
  return 'pod' in state ? state.pod : undefined;
}

/** What the provider has accepted of the pod, as far as is known. */
export function appliedPod({ applied, uncertain }: ProviderPodRecord): ValidPod | undefined {
  return uncertain === 'attempted' ? undefined : applied;
}

/** The pod if the last list had it, unless its deletion was accepted a short time ago. */
export function listedPod(record: ProviderPodRecord, nowMs: number): ProviderPod | undefined {
  const { deletedMs = -Infinity } = 'deletedMs' in record.state ? record.state : {};
  return record.missingLists === 0 && nowMs - deletedMs >= deletionMs ? reportedPod(record) : undefined;
}

/** True if the cloud has nothing of the pod that may still run. */
export function hasEnded({ state: { kind } }: ProviderPodRecord): boolean {
  return kind === 'notAsked' || kind === 'ended';
}

/** False if the provider has neither accepted the pod nor reported it. */
export function wasAccepted({ state }: ProviderPodRecord): boolean {
  const { kind } = state.kind === 'lost' ? state.was : state;
  return kind !== 'notAsked' && kind !== 'asked';
}

/** True if the report is about a run before the last one that was asked for, or that the status has shown. */
export function isEarlierRun({ restartCount }: ProviderPodRecord, pod: ProviderPod): boolean {
  return (pod.restartCount ?? 0) < restartCount;
}

/** True if the pod has stopped, and the node is to start it again. */
export function isRestarting(
  { state }: ProviderPodRecord,
  pod: ValidPod,
  previous: PodStatusInput | null | undefined,
  { restarts }: Pick<ProviderPodPolicy, 'restarts'>,
): boolean {
  if (restarts !== 'node' || state.kind !== 'ended' || state.pod === undefined) return false;
  return state.deletedMs === undefined && mustRestart(pod, state.pod, previous);
}

/** True if the cloud does not have the pod, so that the record can be dropped once the pod is no longer wanted. */
export function isGone(
  { state: { kind }, missingLists }: ProviderPodRecord,
  { lostAfterLists }: ProviderPodPolicy,
): boolean {
  return kind === 'notAsked' || missingLists >= lostAfterLists;
}

function withReport(
  record: ProviderPodRecord,
  report: ProviderPodReport,
  nowMs: number,
  policy: ProviderPodPolicy,
): ProviderPodRecord {
  const { state } = record;
  switch (report.kind) {
    case 'listed': {
      const { observation, pod } = report;
      if (observation <= record.observation || isEarlierRun(record, pod)) return record;
      const seen = { observation, missingLists: 0, unlistedSinceMs: undefined, stopped: undefined };
      const restartCount = policy.restarts === 'node' ? (pod.restartCount ?? 0) : record.restartCount;
      return { ...record, ...seen, restartCount, state: reportedState(state, report, nowMs, policy) };
    }
    case 'missing':
    case 'notFound': {
      if (report.observation <= record.observation || isGone(record, policy)) return record;
      const missingLists = report.kind === 'missing' ? record.missingLists + 1 : policy.lostAfterLists;
      if (missingLists < policy.lostAfterLists) return { ...record, missingLists };
      const unlistedSinceMs = record.unlistedSinceMs ?? (state.kind === 'accepted' ? state.atMs : undefined);
      return { ...record, missingLists, unlistedSinceMs, state: goneState(state) };
    }
    case 'creating': {
      const next = restartedPod(record, report, nowMs);
      const { applied: last, uncertain } = next;
      const isAsLast = last !== undefined && uncertain !== 'updated' && isSamePod(last, report.pod);
      const isFirst = next.state.kind === 'notAsked' || isAsLast;
      const applied = isFirst ? report.pod : undefined;
      const asked = { kind: 'asked', calledMs: nowMs } as const;
      return toCreated({ ...next, applied, uncertain: 'attempted' }, asked, report.observation);
    }
    case 'created': {
      const accepted = { kind: 'accepted', calledMs: calledMsOf(state), atMs: report.atMs } as const;
      const created = { ...record, uncertain: 'created', createFailure: undefined, backOff: undefined } as const;
      return toCreated(created, accepted, report.observation);
    }
    case 'updated':
      return { ...withApplied(record, report.pod), backOff: undefined };
    case 'deleting':
      return { ...record, isDeleting: true };
    case 'deleted':
      return toDeleted({ ...record, isDeleting: undefined, backOff: undefined }, nowMs, report.observation);
    case 'failed':
      return withFailure(record, report, nowMs);
    case 'aborted':
      if (report.operation === 'update_pod') return withUncertainUpdate(record);
      return report.operation === 'delete_pod' ? { ...record, isDeleting: undefined } : record;
    default: {
      const { restartCount, observation, missingLists } = record;
      return { state, restartCount, observation, missingLists, isTerminated: true };
    }
  }
}

function reportedState(
  state: ProviderPodState,
  { pod, atMs }: Extract<ProviderPodReport, { kind: 'listed' }>,
  nowMs: number,
  { restarts }: ProviderPodPolicy,
): ProviderPodState {
  const known = 'pod' in state ? state.pod : undefined;
  const fields = fieldsOf(pod, restarts, known);
  // Makes little garbage: every list reports every pod.
  const reported = isDeepStrictEqual(known, fields) ? known! : fields;
  const deletedMs = 'deletedMs' in state ? state.deletedMs : undefined;
  const hadStopped = state.kind === 'ended' && (known?.restartCount ?? 0) === (pod.restartCount ?? 0);
  if (pod.state === 'stopped') {
    return { kind: 'ended', pod: reported, stoppedMs: hadStopped ? state.stoppedMs : nowMs, deletedMs };
  }
  if (deletedMs !== undefined) return { kind: 'ending', pod: reported, deletedMs };
  // A run that has stopped does not run again: the report is out of date.
  if (restarts === 'node' && hadStopped) return state;
  return { kind: 'reported', pod: reported, atMs };
}

/** The state after too many lists without the pod, or after `getPod` has not found it. */
function goneState(state: ProviderPodState): ProviderPodState {
  switch (state.kind) {
    case 'asked':
    case 'accepted':
      return { kind: 'lost', was: state };
    case 'reported':
      return { kind: 'lost', was: { kind: 'reported', atMs: state.atMs } };
    case 'ending':
      return { kind: 'ended', deletedMs: state.deletedMs };
    default:
      return state;
  }
}

/** When the next run of a pod that has stopped is asked for, nothing is known of that run yet. */
function restartedPod(
  record: ProviderPodRecord,
  { pod, restartCount }: Extract<ProviderPodReport, { kind: 'creating' }>,
  nowMs: number,
): ProviderPodRecord {
  const { state } = record;
  const containers = restartedContainers(pod);
  if (state.kind !== 'ended' || state.deletedMs !== undefined || restartCount <= record.restartCount) {
    // The same run once more: if its containers have been changed since, the back-off is theirs.
    if (record.crashLoop === undefined || isEqual(record.crashLoop.containers, containers)) return record;
    return { ...record, crashLoop: { backoffMs: crashLoopRange.firstMs, lastUpdateMs: nowMs, containers } };
  }
  const backoffMs = nextDelayMs(liveCrashLoop(record, pod)?.backoffMs ?? 0, crashLoopRange);
  const crashLoop = { backoffMs, lastUpdateMs: nowMs, containers };
  const { state: unknown } = unknownProviderPod;
  return { ...record, state: unknown, restartCount, crashLoop, stopped: state.pod, createFailure: undefined };
}

/** The back-off of the pod that has stopped. Containers with other images or resources have none. Source: kubelet `GetBackoffKey`. */
function liveCrashLoop({ state, crashLoop }: ProviderPodRecord, pod: ValidPod): BackOffEntry | undefined {
  const stoppedMs = (state.kind === 'ended' ? state.stoppedMs : undefined) ?? -Infinity;
  const live = unlessExpired(crashLoop, stoppedMs, crashLoopRange.expiresAfterMs);
  return isEqual(live?.containers, restartedContainers(pod)) ? live : undefined;
}

function restartedContainers({ spec }: ValidPod): unknown {
  return (spec?.containers ?? []).map(({ image, resources }) => [image, resources]);
}

/** A report during the call of `createPod` says more than the call. */
function toCreated(
  record: ProviderPodRecord,
  created: Extract<ProviderPodState, { kind: 'asked' | 'accepted' }>,
  observation: number,
): ProviderPodRecord {
  const { kind } = record.state;
  if (kind === 'reported' || kind === 'ending' || kind === 'ended') return record;
  return { ...record, state: created, observation, missingLists: 0 };
}

/** Lists since the first deletion count: they may take longer than it takes until the deletion is requested again. */
function toDeleted(record: ProviderPodRecord, deletedMs: number, observation: number): ProviderPodRecord {
  const { state } = record;
  if (state.kind === 'notAsked') return record;
  const isRepeated = 'deletedMs' in state && state.deletedMs !== undefined;
  const since = { ...(!isRepeated && { observation, missingLists: 0 }), unlistedSinceMs: undefined };
  if (state.kind === 'ended') return { ...record, ...since, state: { ...state, deletedMs } };
  return { ...record, ...since, state: { kind: 'ending', pod: reportedPod(record), deletedMs } };
}

function withFailure(
  record: ProviderPodRecord,
  report: Extract<ProviderPodReport, { kind: 'failed' }>,
  nowMs: number,
): ProviderPodRecord {
  const { operation, failure, pod, isPermanent, retryAfterMs } = report;
  if (operation === 'create_pod' && isPermanent) {
    const { state } = record;
    const refused = state.kind === 'asked' ? ({ kind: 'asked', calledMs: undefined } as const) : state;
    return { ...record, state: refused, createFailure: failure };
  }
  if (operation === 'update_pod' && isPermanent) return { ...record, refused: pod };
  const lastMs = record.backOff?.operation === operation ? record.backOff.delayMs : 0;
  const delayMs = retryAfterMs === undefined ? nextDelayMs(lastMs, retryRanges[operation]) : lastMs;
  const backOff = { operation, delayMs, untilMs: nowMs + (retryAfterMs ?? delayMs), message: failure.message };
  if (operation === 'create_pod') return { ...record, createFailure: failure, backOff };
  return operation === 'update_pod'
    ? { ...withUncertainUpdate(record), backOff }
    : { ...record, isDeleting: undefined, backOff };
}

function withUncertainUpdate(record: ProviderPodRecord): ProviderPodRecord {
  return { ...record, applied: appliedPod(record), uncertain: 'updated' };
}

function withApplied(record: ProviderPodRecord, applied: ValidPod): ProviderPodRecord {
  return { ...record, applied, uncertain: undefined, refused: undefined };
}

/**
 * After a restart of the process, the status of the pod says which run was seen last: if the cloud lists an earlier one, its
 * list lags behind, and the pod counts as missing.
 */
function withShownRun(
  record: ProviderPodRecord,
  previous: PodStatusInput | null | undefined,
  policy: ProviderPodPolicy,
): ProviderPodRecord {
  const restartCount = policy.restarts === 'node' ? shownRun(previous) : 0;
  if (restartCount <= record.restartCount) return record;
  const shown = { ...record, restartCount };
  return reportedPod(record) === undefined ? shown : expectedPod(shown, true, policy);
}

/** An earlier process may have created the pod although the cloud does not list it: one list is not enough for its end. */
function expectedPod(record: ProviderPodRecord, isUnlisted: boolean, policy: ProviderPodPolicy): ProviderPodRecord {
  const missingLists = isUnlisted ? 1 : 0;
  const state = { kind: 'reported' } as const;
  return { ...record, missingLists, state: missingLists < policy.lostAfterLists ? state : goneState(state) };
}

function afterFailure(
  record: ProviderPodRecord,
  { operation, failure, isPermanent }: Extract<ProviderPodReport, { kind: 'failed' }>,
  nowMs: number,
): NextCall {
  if (operation === 'create_pod' && isPermanent) return { kind: 'fail', failure };
  if (operation === 'update_pod' && isPermanent) return { kind: 'none' };
  return backOffOf(record, operation, nowMs) ?? { kind: 'none' };
}

function callToRun(
  record: ProviderPodRecord,
  { pod, previous }: Extract<WantedPod, { kind: 'running' }>,
  nowMs: number,
  policy: ProviderPodPolicy,
): NextCall {
  const { state, restartCount } = record;
  switch (state.kind) {
    case 'accepted':
    case 'ending':
      return { kind: 'none' };
    case 'reported':
      return state.pod === undefined ? { kind: 'wait' } : callToUpdate(record, pod, nowMs, policy);
    case 'ended':
      return isRestarting(record, pod, previous, policy)
        ? callToRestart(record, pod, previous, nowMs)
        : { kind: 'terminate' };
    default:
      return state.kind === 'lost' && state.was.kind === 'reported' && policy.lostPods === 'fail'
        ? { kind: 'fail', failure: lostFailure(state.was.atMs) }
        : (backOffOf(record, 'create_pod', nowMs) ?? { kind: 'create', restartCount });
  }
}

/**
 * There is no delay before the first start. Source: kubelet `doBackOff`.
 *
 * Divergence: the delay counts from when the end was first seen; in the kubelet from the end by the wall clock.
 */
function callToRestart(
  record: ProviderPodRecord,
  pod: ValidPod,
  previous: PodStatusInput | null | undefined,
  nowMs: number,
): NextCall {
  const { state, restartCount } = record;
  const delayMs = liveCrashLoop(record, pod)?.backoffMs ?? 0;
  const untilMs = ((state.kind === 'ended' ? state.stoppedMs : undefined) ?? nowMs) + delayMs;
  if (nowMs < untilMs) return { kind: 'crashLoop', untilMs, delayMs };
  const shown = (previous?.containerStatuses ?? []).map((status) => status.restartCount ?? 0);
  const last = Math.max(restartCount, ...shown.filter((count) => count < maxRestartCount));
  return backOffOf(record, 'create_pod', nowMs) ?? { kind: 'create', restartCount: last + 1 };
}

function callToUpdate(record: ProviderPodRecord, pod: ValidPod, nowMs: number, policy: ProviderPodPolicy): NextCall {
  const { refused, uncertain } = record;
  if (!policy.canUpdate || (refused !== undefined && isSamePod(refused, pod))) return { kind: 'none' };
  const previous = appliedPod(record);
  const isApplied = previous === undefined ? reportedPod(record)?.podHash === podHash(pod) : isSamePod(previous, pod);
  if (isApplied && uncertain !== 'updated') return { kind: 'applied' };
  return backOffOf(record, 'update_pod', nowMs) ?? { kind: 'update', previous };
}

/** The reported hash shows whether the cloud had an older version of the pod when `createPod` was accepted. */
function withReportedHash(record: ProviderPodRecord): ProviderPodRecord {
  const { applied, uncertain } = record;
  const reportedHash = reportedPod(record)?.podHash;
  if (reportedHash === undefined || uncertain === undefined || uncertain === 'attempted' || applied === undefined)
    return record;
  if (podHash(applied) !== reportedHash) return { ...record, applied: undefined };
  return uncertain === 'created' ? { ...record, uncertain: undefined } : record;
}

function callToEnd(record: ProviderPodRecord, hasObject: boolean, nowMs: number): NextCall {
  if (hasEnded(record) && (hasObject || reportedPod(record) === undefined)) return { kind: 'none' };
  return backOffOf(record, 'delete_pod', nowMs) ?? { kind: 'delete' };
}

/**
 * What to do instead of a call that has failed recently; undefined if it may be repeated. A cloud may refuse to delete a pod
 * that it does not have or is still creating.
 */
function backOffOf(
  { state, backOff }: ProviderPodRecord,
  operation: ProviderPodOperation,
  nowMs: number,
): NextCall | undefined {
  if (backOff?.operation !== operation || nowMs >= backOff.untilMs) return undefined;
  const mayBeCreating = nowMs < (calledMsOf(state) ?? -Infinity) + creationMs;
  if (operation === 'delete_pod' && state.kind === 'lost' && !mayBeCreating) return { kind: 'none' };
  return { kind: 'backOff', untilMs: backOff.untilMs, message: backOff.message };
}

function calledMsOf(state: ProviderPodState): number | undefined {
  const asked = state.kind === 'lost' ? state.was : state;
  return asked.kind === 'asked' || asked.kind === 'accepted' ? asked.calledMs : undefined;
}

function lostFailure(reportedAtMs: number | undefined): PodFailure {
  const since =
    reportedAtMs === undefined ? 'since this process was started' : `since ${timeFromEpochMs(reportedAtMs)}`;
  return { reason: 'LostByProvider', message: `The provider has not listed the pod ${since}` };
}

type Fields<T> = { readonly [Field in keyof Required<T>]: T[Field] };

/**
 * Only the known fields. What a provider adds, such as the object of its cloud, is neither compared nor stored. With
 * `restarts: 'node'`, a container runs once in a run of its pod, so a report that shows it without its known end is out of date.
 */
function fieldsOf(
  pod: ProviderPod,
  restarts: ProviderPodPolicy['restarts'],
  known: ProviderPod | undefined,
): Fields<ProviderPod> {
  const { uid, namespace, name, nodeName, state, ips, reason, message, podHash, restartCount, startedAt } = pod;
  const isSameRun = restarts === 'node' && (known?.restartCount ?? 0) === (restartCount ?? 0);
  const endedBefore = isSameRun ? known?.containers?.filter(({ exit }) => exit !== undefined) : undefined;
  const ended = endedBefore && firstBy(endedBefore, 'name');
  const reported = pod.containers ?? (endedBefore?.length ? known?.containers : undefined);
  const containers = reported?.map((container): Fields<ProviderContainer> => {
    const shown = container.exit === undefined ? (ended?.get(container.name) ?? container) : container;
    const { name, ready, started, startedAt, exit, waiting, imageID } = shown;
    const ownCount = restarts === 'node' ? restartCount : (container.restartCount ?? restartCount);
    return { name, ready, started, restartCount: ownCount, startedAt, exit, waiting, imageID };
  });
  return { uid, namespace, name, nodeName, state, ips, reason, message, podHash, restartCount, startedAt, containers };
}
