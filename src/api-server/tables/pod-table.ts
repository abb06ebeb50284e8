import { type JSONObject, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { conditionOf, podSummary, type PodSummary } from '../../kube/pods/pod-summary.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
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
  const summary = podSummary(pod);
  const { reason, ready, total } = summary;
  const podIPs = objectsOf(status, 'podIPs');
  return [
    pod.metadata.name,
    `${ready}/${total}`,
    reason,
    restartsText(summary, nowMs),
    ageOf(pod.metadata.creationTimestamp, nowMs),
    podIPs[0] === undefined ? none : stringOf(podIPs[0], 'ip') || none,
    stringOf(spec, 'nodeName') || none,
    stringOf(status, 'nominatedNodeName') || none,
    readinessGates(spec, status),
  ];
}

function readinessGates(spec: JSONObject, status: JSONObject): string {
  const gates = objectsOf(spec, 'readinessGates');
  if (gates.length === 0) return none;
  const passed = gates.filter((gate) => conditionOf(status, stringOf(gate, 'conditionType'))?.status === 'True');
  return `${passed.length}/${gates.length}`;
}

function restartsText({ restarts, lastRestartAt }: PodSummary, nowMs: number): string {
  return restarts > 0 && lastRestartAt !== '' ? `${restarts} (${ageOf(lastRestartAt, nowMs)} ago)` : String(restarts);
}
