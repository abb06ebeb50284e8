import { isJSONObject, type JSONObject, numberOf, objectOf, objectsOf, stringOf } from '../kube/json-object.ts';
import { specOf, statusOf, type StoredObject } from './objects.ts';
import { ageOf, type Cell, type Column, column, name, none } from './table-cells.ts';

export const podColumns: readonly Column[] = [
  name,
  column('Ready', 'How many of the containers are ready.'),
  column('Status', 'The aggregate status of the containers.'),
  column('Restarts', 'How often containers were restarted, and when last.'),
  column('Age', 'Time since the object was created.'),
  column('IP', "The pod's address.", 1),
  column('Node', 'The node that the pod is bound to.', 1),
  column('Nominated Node', 'The node that preemption makes room on.', 1),
  column('Readiness Gates', 'How many of the readiness gates are true.', 1),
];

/** Source: `printPod`. */
export function podRow(pod: StoredObject, nowMs: number): Cell[] {
  const spec = specOf(pod);
  const status = statusOf(pod);
  const { reason, ready, total, restarts } = summaryOf(pod);
  const podIPs = objectsOf(status, 'podIPs');
  return [
    pod.metadata.name,
    `${ready}/${total}`,
    reason,
    restartsText(restarts, nowMs),
    ageOf(pod.metadata.creationTimestamp, nowMs),
    podIPs[0] === undefined ? none : stringOf(podIPs[0], 'ip') || none,
    stringOf(spec, 'nodeName') || none,
    stringOf(status, 'nominatedNodeName') || none,
    readinessGates(spec, status),
  ];
}

interface Summary {
  readonly reason: string;
  readonly ready: number;
  readonly total: number;
  /** Statuses of the containers whose restarts count. */
  readonly restarts: readonly JSONObject[];
}

function summaryOf(pod: StoredObject): Summary {
  const status = statusOf(pod);
  const initContainers = objectsOf(specOf(pod), 'initContainers');
  const isOfSidecar = (one: JSONObject) => initContainers.some((spec) => spec.name === one.name && isSidecar(spec));
  const initStatuses = objectsOf(status, 'initContainerStatuses');
  const blocking = initStatuses.findIndex((one) => !isDone(one) && !(isOfSidecar(one) && one.started === true));
  const seen = blocking < 0 ? initStatuses : initStatuses.slice(0, blocking + 1);
  const base = {
    total: objectsOf(specOf(pod), 'containers').length + initContainers.filter(isSidecar).length,
    ready: seen.filter((one) => !isDone(one) && isOfSidecar(one) && one.started === true && one.ready === true).length,
  };
  let reason = phaseReason(status);
  if (blocking >= 0) reason = initReason(objectOf(initStatuses[blocking]!, 'state'), blocking, initContainers.length);
  if (blocking >= 0 && conditionOf(status, 'Initialized')?.status !== 'True') {
    return { ...base, reason: deletionReason(pod) ?? reason, restarts: seen };
  }
  const containers = objectsOf(status, 'containerStatuses');
  const running = containers.filter(isReadyAndRunning).length;
  return {
    total: base.total,
    ready: base.ready + running,
    reason: deletionReason(pod) ?? containersReason(containers, reason, running > 0, status),
    restarts: [...seen.filter(isOfSidecar), ...containers],
  };
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

function deletionReason(pod: StoredObject): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  if (stringOf(statusOf(pod), 'reason') === 'NodeLost') return 'Unknown';
  const phase = stringOf(statusOf(pod), 'phase');
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

function restartsText(containers: readonly JSONObject[], nowMs: number): string {
  const count = containers.reduce((sum, container) => sum + numberOf(container, 'restartCount'), 0);
  // Canonical times sort as texts.
  const last = containers.map(lastEnd).reduce((a, b) => (a > b ? a : b), '');
  return count > 0 && last !== '' ? `${count} (${ageOf(last, nowMs)} ago)` : String(count);
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

function conditionOf(status: JSONObject, type: string): JSONObject | undefined {
  return objectsOf(status, 'conditions').find((condition) => condition.type === type);
}

function readinessGates(spec: JSONObject, status: JSONObject): string {
  const gates = objectsOf(spec, 'readinessGates');
  if (gates.length === 0) return none;
  const passed = gates.filter((gate) => conditionOf(status, stringOf(gate, 'conditionType'))?.status === 'True');
  return `${passed.length}/${gates.length}`;
}
