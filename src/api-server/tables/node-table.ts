import { objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { ageOf, type Cell, type Column, column, name, none } from './table-cells.ts';

const rolePrefix = 'node-role.kubernetes.io/';
const unknown = '<unknown>';

export const nodeColumns: readonly Column[] = [
  name,
  column('Status', 'The status of the node.'),
  column('Roles', 'The roles of the node.'),
  column('Age', 'Time since the object was created.'),
  column('Version', 'The version that the node agent reports.'),
  column('Internal-IP', 'The address inside the cluster.', 1),
  column('External-IP', 'The address outside the cluster.', 1),
  column('OS-Image', 'The operating system that the node reports.', 1),
  column('Kernel-Version', 'The kernel that the node reports.', 1),
  column('Container-Runtime', 'The container runtime that the node reports.', 1),
];

/** Source: `printNode`. */
export function nodeRow(node: StoredObject, nowMs: number): Cell[] {
  const info = objectOf(statusOf(node), 'nodeInfo');
  return [
    node.metadata.name,
    nodeStatus(node),
    nodeRoles(node),
    ageOf(node.metadata.creationTimestamp, nowMs),
    stringOf(info, 'kubeletVersion'),
    addressOf(node, 'InternalIP'),
    addressOf(node, 'ExternalIP'),
    stringOf(info, 'osImage') || unknown,
    stringOf(info, 'kernelVersion') || unknown,
    stringOf(info, 'containerRuntimeVersion') || unknown,
  ];
}

function nodeStatus(node: StoredObject): string {
  const ready = objectsOf(statusOf(node), 'conditions').find(({ type }) => type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return specOf(node).unschedulable === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles({ metadata }: StoredObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.length > rolePrefix.length ? [key.slice(rolePrefix.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return roles.length === 0 ? none : [...new Set(roles)].sort().join(',');
}

function addressOf(node: StoredObject, type: string): string {
  const address = objectsOf(statusOf(node), 'addresses').find((one) => one.type === type);
  return address === undefined ? none : stringOf(address, 'address');
}
