import { numberOf, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { conditionOf, podSummary } from '../../kube/pods/pod-summary.ts';
import { epochMsOf } from '../../shared/time.ts';
import type { ResourceDefinition } from '../resources/resources.ts';
import { specOf, type StoredObject, statusOf } from '../storage/objects.ts';

type Cell = string | number;

interface Column {
  /** An entry of the Table's `columnDefinitions`. */
  readonly definition: {
    readonly name: string;
    readonly type: 'string';
    readonly format: '' | 'name';
    readonly description: string;
    /** 0: always shown; 1: with `-o wide`. */
    readonly priority: 0 | 1;
  };
  /** @param nowMs ages are relative to this time */
  readonly cell: (object: StoredObject, nowMs: number) => Cell;
}

function column(name: string, cell: Column['cell'], description = '', priority: 0 | 1 = 0): Column {
  return { definition: { name, type: 'string', format: '', description, priority }, cell };
}

/** Shown with `-o wide`. */
function wideColumn(name: string, cell: Column['cell'], description = ''): Column {
  return column(name, cell, description, 1);
}

const none = '<none>';
const unknown = '<unknown>';
const rolePrefix = 'node-role.kubernetes.io/';

/** @param priority 1: only with `-o wide` */
function nameColumn(priority: 0 | 1 = 0): Column {
  const { definition, cell } = column('Name', ({ metadata }) => metadata.name, "The object's name.", priority);
  return { definition: { ...definition, format: 'name' }, cell };
}

const age = column(
  'Age',
  ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs),
  'Time since the object was created.',
);

/** The columns of each resource. Source: `printers/internalversion/printers.go`. */
const tables: { readonly [resource: string]: readonly Column[] } = {
  pods: [
    nameColumn(),
    column('Ready', containersReady, 'How many of the containers are ready.'),
    column('Status', (pod) => podSummary(pod).reason, 'The aggregate status of the containers.'),
    column('Restarts', restartsOf, 'How often containers were restarted, and when last.'),
    age,
    wideColumn(
      'IP',
      (pod) => stringOf(objectsOf(statusOf(pod), 'podIPs')[0] ?? {}, 'ip') || none,
      "The pod's address.",
    ),
    wideColumn('Node', (pod) => stringOf(specOf(pod), 'nodeName') || none, 'The node that the pod is bound to.'),
    wideColumn(
      'Nominated Node',
      (pod) => stringOf(statusOf(pod), 'nominatedNodeName') || none,
      'The node that preemption makes room on.',
    ),
    wideColumn('Readiness Gates', readinessGatesOf, 'How many of the readiness gates are true.'),
  ],
  nodes: [
    nameColumn(),
    column('Status', nodeStatusOf, 'The status of the node.'),
    column('Roles', nodeRolesOf, 'The roles of the node.'),
    age,
    column('Version', (node) => nodeInfo(node, 'kubeletVersion'), 'The version that the node agent reports.'),
    wideColumn('Internal-IP', (node) => addressOf(node, 'InternalIP'), 'The address inside the cluster.'),
    wideColumn('External-IP', (node) => addressOf(node, 'ExternalIP'), 'The address outside the cluster.'),
    wideColumn(
      'OS-Image',
      (node) => nodeInfo(node, 'osImage') || unknown,
      'The operating system that the node reports.',
    ),
    wideColumn(
      'Kernel-Version',
      (node) => nodeInfo(node, 'kernelVersion') || unknown,
      'The kernel that the node reports.',
    ),
    wideColumn(
      'Container-Runtime',
      (node) => nodeInfo(node, 'containerRuntimeVersion') || unknown,
      'The container runtime that the node reports.',
    ),
  ],
  services: [
    nameColumn(),
    column('Type', (service) => stringOf(specOf(service), 'type')),
    column('Cluster-IP', (service) => stringOf(specOf(service), 'clusterIP')),
    column('External-IP', () => none),
    column('Port(s)', (service) =>
      objectsOf(specOf(service), 'ports')
        .map((port) => `${numberOf(port, 'port')}/${stringOf(port, 'protocol')}`)
        .join(','),
    ),
    age,
    wideColumn('Selector', () => none),
  ],
  configmaps: [nameColumn(), column('Data', (map) => sizeOf(map, 'data') + sizeOf(map, 'binaryData')), age],
  secrets: [
    nameColumn(),
    column('Type', (secret) => stringOf(secret, 'type')),
    column('Data', (secret) => sizeOf(secret, 'data')),
    age,
  ],
  serviceaccounts: [nameColumn(), age],
  events: [
    column('Last Seen', lastSeenOf),
    column('Type', (event) => stringOf(event, 'type')),
    column('Reason', (event) => stringOf(event, 'reason')),
    column('Object', (event) => {
      const involved = objectOf(event, 'involvedObject');
      return `${stringOf(involved, 'kind').toLowerCase()}/${stringOf(involved, 'name')}`;
    }),
    wideColumn('Subobject', (event) => stringOf(objectOf(event, 'involvedObject'), 'fieldPath')),
    wideColumn('Source', sourceOf),
    column('Message', (event) => stringOf(event, 'message').trim()),
    wideColumn('First Seen', (event, nowMs) => ageOf(firstSeenOf(event), nowMs)),
    wideColumn('Count', (event) => numberOf(objectOf(event, 'series'), 'count') || numberOf(event, 'count') || 1),
    nameColumn(1),
  ],
  leases: [nameColumn(), column('Holder', (lease) => stringOf(specOf(lease), 'holderIdentity')), age],
  namespaces: [nameColumn(), column('Status', (namespace) => stringOf(statusOf(namespace), 'phase')), age],
};

/** The `includeObject` parameter of a Table; the default is `Metadata`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** The Table that kubectl prints, with the columns and order of kube-apiserver and shorter descriptions. */
export function tableOf(
  definition: ResourceDefinition,
  objects: readonly StoredObject[],
  metadata: object,
  nowMs: number,
  includeObject: IncludeObject,
): object {
  const columns = tables[definition.resource]!;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map((one) => one.definition),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, nowMs)),
      object: partOf(object, includeObject),
    })),
  };
}

function partOf(object: StoredObject, includeObject: IncludeObject): object | null {
  if (includeObject === 'None') return null;
  return includeObject === 'Object' ? object : partialObject(object);
}

/** An object reduced to the fields that all kinds have. */
export function partialObject({ metadata }: StoredObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

export function partialObjectList(objects: readonly StoredObject[], metadata: object): object {
  const items = objects.map(partialObject);
  return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
}

/** The time since `time`, or `<unknown>`. Source: `translateTimestampSince`. */
function ageOf(time: string | null | undefined, nowMs: number): string {
  if (time === undefined || time === null || time === '') return unknown;
  const ms = epochMsOf(time);
  return Number.isNaN(ms) ? unknown : humanDuration(nowMs - ms);
}

/** A duration in at most two units, fewer the longer it is. Source: `apimachinery/util/duration` `HumanDuration`. */
function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

function sizeOf(object: StoredObject, field: string): number {
  return Object.keys(objectOf(object, field)).length;
}

function containersReady(pod: StoredObject): string {
  const { ready, total } = podSummary(pod);
  return `${ready}/${total}`;
}

function restartsOf(pod: StoredObject, nowMs: number): string {
  const { restarts, lastRestartAt } = podSummary(pod);
  return restarts > 0 && lastRestartAt !== '' ? `${restarts} (${ageOf(lastRestartAt, nowMs)} ago)` : String(restarts);
}

function readinessGatesOf(pod: StoredObject): string {
  const gates = objectsOf(specOf(pod), 'readinessGates');
  if (gates.length === 0) return none;
  const status = statusOf(pod);
  const passed = gates.filter((gate) => conditionOf(status, stringOf(gate, 'conditionType'))?.status === 'True');
  return `${passed.length}/${gates.length}`;
}

function nodeStatusOf(node: StoredObject): string {
  const ready = conditionOf(statusOf(node), 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return specOf(node).unschedulable === true ? `${status},SchedulingDisabled` : status;
}

function nodeRolesOf({ metadata }: StoredObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.length > rolePrefix.length ? [key.slice(rolePrefix.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return roles.length === 0 ? none : [...new Set(roles)].sort().join(',');
}

function nodeInfo(node: StoredObject, field: string): string {
  return stringOf(objectOf(statusOf(node), 'nodeInfo'), field);
}

function addressOf(node: StoredObject, type: string): string {
  const address = objectsOf(statusOf(node), 'addresses').find((one) => one.type === type);
  return address === undefined ? none : stringOf(address, 'address');
}

function lastSeenOf(event: StoredObject, nowMs: number): string {
  const lastObserved = stringOf(objectOf(event, 'series'), 'lastObservedTime');
  return ageOf(lastObserved || stringOf(event, 'lastTimestamp') || firstSeenOf(event), nowMs);
}

function firstSeenOf(event: StoredObject): string {
  return stringOf(event, 'firstTimestamp') || stringOf(event, 'eventTime');
}

function sourceOf(event: StoredObject): string {
  const source = objectOf(event, 'source');
  const component = stringOf(source, 'component') || stringOf(event, 'reportingComponent');
  const host = stringOf(source, 'host') || stringOf(event, 'reportingInstance');
  return [component, host].filter((text) => text !== '').join(', ');
}
