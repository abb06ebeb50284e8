import { isJSONObject, type JSONObject, numberOf, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';

/** A pod as `kubectl get pods` shows it: `ready` of `total` containers, sidecars included. */
export interface PodSummary {
  /** `STATUS`: `Running`, `CrashLoopBackOff`, `Init:0/1`, `Terminating`, for example. */
  readonly reason: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** When a container last ended and was started again; empty if none was. */
  readonly lastRestartAt: string;
}

/** A pod whose fields may be invalid. */
export interface SummarizedPod {
  readonly metadata?: { readonly deletionTimestamp?: unknown } | undefined;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** Source: `printPod`. */
export function podSummary(pod: SummarizedPod): PodSummary {
  const status = statusOf(pod);
  const spec = objectOf(pod as JSONObject, 'spec');
  const initContainers = objectsOf(spec, 'initContainers');
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const isOfSidecar = ({ name }: JSONObject) => sidecars.has(name);
  const initStatuses = objectsOf(status, 'initContainerStatuses');
  const blocking = initStatuses.findIndex((one) => !isDone(one) && !(isOfSidecar(one) && one.started === true));
  const seen = blocking < 0 ? initStatuses : initStatuses.slice(0, blocking + 1);
  const base = {
    total: objectsOf(spec, 'containers').length + initContainers.filter(isSidecar).length,
    ready: seen.filter((one) => !isDone(one) && isOfSidecar(one) && one.started === true && one.ready === true).length,
  };
  let reason = phaseReason(status);
  if (blocking >= 0) reason = initReason(objectOf(initStatuses[blocking]!, 'state'), blocking, initContainers.length);
  if (blocking >= 0 && conditionOf(status, 'Initialized')?.status !== 'True') {
    return { ...base, reason: deletionReason(pod) ?? reason, ...restartsOf(seen) };
  }
  const containers = objectsOf(status, 'containerStatuses');
  const running = containers.filter(isReadyAndRunning).length;
  return {
    total: base.total,
    ready: base.ready + running,
    reason: deletionReason(pod) ?? containersReason(containers, reason, running > 0, status),
    ...restartsOf([...seen.filter(isOfSidecar), ...containers]),
  };
}

/** `STATUS`, except that the reason of a failed pod, such as `Evicted`, precedes the reasons of its containers. */
export function statusWordOf(pod: SummarizedPod): string {
  const status = statusOf(pod);
  return (stringOf(status, 'phase') === 'Failed' && stringOf(status, 'reason')) || podSummary(pod).reason;
}

function phaseReason(status: JSONObject): string {
  if (conditionOf(status, 'PodScheduled')?.reason === 'SchedulingGated') return 'SchedulingGated';
  return stringOf(status, 'reason') || stringOf(status, 'phase');
}

function initReason(state: JSONObject, index: number, total: number): string {
  if (isJSONObject(state.terminated)) return `Init:${endReason(state.terminated)}`;
  const reason = stringOf(objectOf(state, 'waiting'), 'reason');
  return reason !== '' && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${total}`;
}

/** The first container that waits or has ended gives the reason. */
function containersReason(
  containers: readonly JSONObject[],
  otherwise: string,
  hasRunning: boolean,
  status: JSONObject,
): string {
  const reasons = containers.map((container) => {
    const state = objectOf(container, 'state');
    const waiting = stringOf(objectOf(state, 'waiting'), 'reason');
    return waiting !== '' || !isJSONObject(state.terminated) ? waiting : endReason(state.terminated);
  });
  const reason = reasons.find((one) => one !== '') ?? otherwise;
  if (reason !== 'Completed' || !hasRunning) return reason;
  return conditionOf(status, 'Ready')?.status === 'True' ? 'Running' : 'NotReady';
}

function deletionReason(pod: SummarizedPod): string | undefined {
  if (pod.metadata?.deletionTimestamp == null) return undefined;
  if (stringOf(statusOf(pod), 'reason') === 'NodeLost') return 'Unknown';
  const phase = stringOf(statusOf(pod), 'phase');
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

/** @param containers the containers whose restarts are counted */
function restartsOf(containers: readonly JSONObject[]): Pick<PodSummary, 'restarts' | 'lastRestartAt'> {
  return {
    restarts: containers.reduce((sum, container) => sum + numberOf(container, 'restartCount'), 0),
    // Canonical times sort as texts.
    lastRestartAt: containers.map(lastEnd).reduce((a, b) => (a > b ? a : b), ''),
  };
}

function statusOf(pod: SummarizedPod): JSONObject {
  return objectOf(pod as JSONObject, 'status');
}

function isDone(container: JSONObject): boolean {
  const { terminated } = objectOf(container, 'state');
  return isJSONObject(terminated) && numberOf(terminated, 'exitCode') === 0;
}

function isReadyAndRunning(container: JSONObject): boolean {
  const state = objectOf(container, 'state');
  const isWaiting = stringOf(objectOf(state, 'waiting'), 'reason') !== '';
  return container.ready === true && isJSONObject(state.running) && !isWaiting && !isJSONObject(state.terminated);
}

function endReason(terminated: JSONObject): string {
  const reason = stringOf(terminated, 'reason');
  if (reason !== '') return reason;
  const signal = numberOf(terminated, 'signal');
  return signal === 0 ? `ExitCode:${numberOf(terminated, 'exitCode')}` : `Signal:${signal}`;
}

function lastEnd(container: JSONObject): string {
  return stringOf(objectOf(objectOf(container, 'lastState'), 'terminated'), 'finishedAt');
}

function isSidecar(container: JSONObject): boolean {
  return container.restartPolicy === 'Always';
}

export function conditionOf(status: JSONObject, type: string): JSONObject | undefined {
  return objectsOf(status, 'conditions').find((condition) => condition.type === type);
}
