import { nodeColumns, nodeRow } from './node-table.ts';
import { serviceColumns, serviceRow } from '../resources/kubernetes-service.ts';
import { type JSONObject, numberOf, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, type StoredObject } from '../storage/objects.ts';
import { partialObject } from '../http/partial-object.ts';
import { podColumns, podRow } from './pod-table.ts';
import type { ResourceDefinition } from '../resources/resources.ts';
import { type Cell, type Column, column, ageOf, name } from './table-cells.ts';

interface Printer {
  readonly columns: readonly Column[];
  /** `nowMs`: ages are relative to this time. */
  readonly row: (object: StoredObject, nowMs: number) => Cell[];
}

const age = column('Age', 'Time since the object was created.');

const printers: { readonly [table: string]: Printer } = {
  pods: { columns: podColumns, row: podRow },
  nodes: { columns: nodeColumns, row: nodeRow },
  services: { columns: serviceColumns, row: serviceRow },
  configmaps: {
    columns: [name, column('Data'), age],
    row: (configMap, nowMs) => [
      configMap.metadata.name,
      sizeOf(configMap, 'data') + sizeOf(configMap, 'binaryData'),
      ageOf(configMap.metadata.creationTimestamp, nowMs),
    ],
  },
  secrets: {
    columns: [name, column('Type'), column('Data'), age],
    row: (secret, nowMs) => [
      ...[secret.metadata.name, stringOf(secret, 'type'), sizeOf(secret, 'data')],
      ageOf(secret.metadata.creationTimestamp, nowMs),
    ],
  },
  serviceaccounts: {
    columns: [name, age],
    row: ({ metadata }, nowMs) => [metadata.name, ageOf(metadata.creationTimestamp, nowMs)],
  },
  events: {
    columns: [
      ...[column('Last Seen'), column('Type'), column('Reason'), column('Object'), column('Subobject', '', 1)],
      ...[column('Source', '', 1), column('Message'), column('First Seen', '', 1), column('Count', '', 1)],
      { ...name, priority: 1 },
    ],
    row: eventRow,
  },
  leases: {
    columns: [name, column('Holder'), age],
    row: (lease, nowMs) => [
      lease.metadata.name,
      stringOf(specOf(lease), 'holderIdentity'),
      ageOf(lease.metadata.creationTimestamp, nowMs),
    ],
  },
  namespaces: {
    columns: [name, column('Status'), age],
    row: ({ metadata, ...namespace }, nowMs) => [
      metadata.name,
      stringOf(objectOf(namespace, 'status'), 'phase'),
      ageOf(metadata.creationTimestamp, nowMs),
    ],
  },
};

function sizeOf(object: StoredObject, field: string): number {
  return Object.keys(objectOf(object, field)).length;
}

function eventRow(event: StoredObject, nowMs: number): Cell[] {
  const involved = objectOf(event, 'involvedObject');
  const firstSeen = stringOf(event, 'firstTimestamp') || stringOf(event, 'eventTime');
  const lastSeen =
    stringOf(objectOf(event, 'series'), 'lastObservedTime') || stringOf(event, 'lastTimestamp') || firstSeen;
  return [
    ageOf(lastSeen, nowMs),
    stringOf(event, 'type'),
    stringOf(event, 'reason'),
    `${stringOf(involved, 'kind').toLowerCase()}/${stringOf(involved, 'name')}`,
    stringOf(involved, 'fieldPath'),
    sourceOf(event),
    stringOf(event, 'message').trim(),
    ageOf(firstSeen, nowMs),
    numberOf(objectOf(event, 'series'), 'count') || numberOf(event, 'count') || 1,
    event.metadata.name,
  ];
}

function sourceOf(event: StoredObject): string {
  const source: JSONObject = objectOf(event, 'source');
  const component = stringOf(source, 'component') || stringOf(event, 'reportingComponent');
  const host = stringOf(source, 'host') || stringOf(event, 'reportingInstance');
  return [component, host].filter((text) => text !== '').join(', ');
}

/** The `includeObject` parameter of a Table; the default is `Metadata`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/**
 * The Table that kubectl prints, with the columns and order of kube-apiserver and shorter
 * descriptions. Source: `printers/internalversion/printers.go`.
 */
export function tableOf(
  definition: ResourceDefinition,
  objects: readonly StoredObject[],
  metadata: object,
  nowMs: number,
  includeObject: IncludeObject,
): object {
  const { columns, row } = printers[definition.resource]!;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns,
    rows: objects.map((object) => ({ cells: row(object, nowMs), object: partOf(object, includeObject) })),
  };
}

function partOf(object: StoredObject, includeObject: IncludeObject): object | null {
  if (includeObject === 'None') return null;
  if (includeObject === 'Object') return object;
  return partialObject(object);
}
