import type { Subject } from '../api-status.ts';
import type { KubeType } from '../../kube/objects/kube-decoder.ts';
import { type JSONObject, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf } from '../storage/objects.ts';
import { configMapStrategy } from './config-map-strategy.ts';
import { eventFromEventsAPI, eventStrategy, eventToEventsAPI, newEventStrategy } from './event-strategy.ts';
import { leaseStrategy } from './lease-strategy.ts';
import { namespaceStrategy } from './namespace-strategy.ts';
import { nodeStrategy } from './node-strategy.ts';
import { plainStrategy } from './plain-strategy.ts';
import { podStrategy } from './pod-strategy.ts';
import { secretStrategy } from './secret-strategy.ts';
import type { SelectableFields } from '../storage/selectors.ts';
import { serviceAccountStrategy } from './service-account-strategy.ts';
import type { Strategy } from './strategy.ts';
import { podSubresources, statusSubresource, type Subresource, tokenSubresource } from './subresources.ts';

/** One resource of one API version: its names, verbs and strategy. */
export interface ResourceDefinition extends Subject {
  readonly version: string;
  /** The struct that its JSON is read into. */
  readonly goType: KubeType;
  /** The table in the store, which two API groups may share. */
  readonly table: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources: readonly Subresource[];
  /** True for a resource with the verbs get, list and watch only. */
  readonly isReadOnly?: true;
  /** A DELETE returns the object, not a Status. */
  readonly returnsDeletedObject?: true;
  /** False for a resource without DELETE of a collection. */
  readonly deletesCollections?: false;
  readonly fields: SelectableFields;
  readonly strategy: Strategy;
  /** Convert between the stored form and the form of this API version. */
  readonly toStored?: (object: JSONObject) => JSONObject;
  readonly fromStored?: (object: JSONObject) => JSONObject;
}

const metadataFields: SelectableFields = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
};

const podFields: SelectableFields = {
  ...metadataFields,
  'spec.nodeName': (pod) => stringOf(specOf(pod), 'nodeName'),
  'spec.restartPolicy': (pod) => stringOf(specOf(pod), 'restartPolicy'),
  'spec.schedulerName': (pod) => stringOf(specOf(pod), 'schedulerName'),
  'spec.serviceAccountName': (pod) => stringOf(specOf(pod), 'serviceAccountName'),
  'spec.hostNetwork': (pod) => String(specOf(pod).hostNetwork === true),
  'status.phase': (pod) => stringOf(statusOf(pod), 'phase'),
  'status.podIP': (pod) => stringOf(statusOf(pod), 'podIP'),
  'status.nominatedNodeName': (pod) => stringOf(statusOf(pod), 'nominatedNodeName'),
};

const serviceFields: SelectableFields = {
  ...metadataFields,
  'spec.clusterIP': (service) => stringOf(specOf(service), 'clusterIP'),
  'spec.type': (service) => stringOf(specOf(service), 'type'),
};

const eventFields: SelectableFields = {
  ...metadataFields,
  ...referenceFields('involvedObject'),
  reason: (event) => stringOf(event, 'reason'),
  reportingComponent: (event) => stringOf(event, 'reportingComponent'),
  source: (event) => stringOf(objectOf(event, 'source'), 'component') || stringOf(event, 'reportingComponent'),
  type: (event) => stringOf(event, 'type'),
};

function referenceFields(prefix: string): SelectableFields {
  const fields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
  return Object.fromEntries(
    fields.map((field) => [`${prefix}.${field}`, (event) => stringOf(objectOf(event, 'involvedObject'), field)]),
  );
}

const event = {
  resource: 'events',
  kind: 'Event',
  version: 'v1',
  table: 'events',
  singular: 'event',
  namespaced: true,
  shortNames: ['ev'],
  subresources: [],
  strategy: eventStrategy,
} as const;

/** Everything this server serves. */
export const resources: readonly ResourceDefinition[] = [
  {
    ...{ group: '', version: 'v1', resource: 'pods', table: 'pods', singular: 'pod', kind: 'Pod', goType: 'Pod' },
    ...{ namespaced: true, shortNames: ['po'], categories: ['all'], subresources: podSubresources },
    returnsDeletedObject: true,
    fields: podFields,
    strategy: podStrategy,
  },
  {
    ...{ group: '', version: 'v1', resource: 'nodes', table: 'nodes', singular: 'node', kind: 'Node', goType: 'Node' },
    ...{ namespaced: false, shortNames: ['no'], subresources: [statusSubresource] },
    fields: { ...metadataFields, 'spec.unschedulable': (node) => String(specOf(node).unschedulable === true) },
    strategy: nodeStrategy,
  },
  {
    ...{
      group: '',
      version: 'v1',
      resource: 'namespaces',
      table: 'namespaces',
      singular: 'namespace',
      kind: 'Namespace',
      goType: 'Namespace',
    },
    ...{ namespaced: false, shortNames: ['ns'], subresources: [statusSubresource], deletesCollections: false },
    fields: { ...metadataFields, 'status.phase': (namespace) => stringOf(statusOf(namespace), 'phase') },
    strategy: namespaceStrategy,
  },
  {
    ...{
      group: '',
      version: 'v1',
      resource: 'services',
      table: 'services',
      singular: 'service',
      kind: 'Service',
      goType: 'Service',
    },
    ...{ namespaced: true, shortNames: ['svc'], categories: ['all'], subresources: [], isReadOnly: true },
    fields: serviceFields,
    strategy: plainStrategy,
  },
  {
    ...{
      group: '',
      version: 'v1',
      resource: 'configmaps',
      table: 'configmaps',
      singular: 'configmap',
      kind: 'ConfigMap',
      goType: 'ConfigMap',
    },
    ...{ namespaced: true, shortNames: ['cm'], subresources: [] },
    fields: metadataFields,
    strategy: configMapStrategy,
  },
  {
    ...{
      group: '',
      version: 'v1',
      resource: 'secrets',
      table: 'secrets',
      singular: 'secret',
      kind: 'Secret',
      goType: 'Secret',
    },
    ...{ namespaced: true, shortNames: [], subresources: [] },
    fields: { ...metadataFields, type: (secret) => stringOf(secret, 'type') },
    strategy: secretStrategy,
  },
  {
    ...{
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      table: 'serviceaccounts',
      singular: 'serviceaccount',
      kind: 'ServiceAccount',
      goType: 'ServiceAccount',
    },
    ...{ namespaced: true, shortNames: ['sa'], subresources: [tokenSubresource] },
    returnsDeletedObject: true,
    fields: metadataFields,
    strategy: serviceAccountStrategy,
  },
  { ...event, group: '', goType: 'Event', fields: eventFields },
  {
    ...event,
    group: 'events.k8s.io',
    goType: 'events.Event',
    strategy: newEventStrategy,
    fields: { ...eventFields, ...referenceFields('regarding') },
    toStored: eventFromEventsAPI,
    fromStored: eventToEventsAPI,
  },
  {
    ...{
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      table: 'leases',
      singular: 'lease',
      kind: 'Lease',
      goType: 'Lease',
    },
    ...{ namespaced: true, shortNames: [], subresources: [] },
    fields: metadataFields,
    strategy: leaseStrategy,
  },
];

/** `v1`, `coordination.k8s.io/v1`. */
export function groupVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

export function resourceNamed(group: string, version: string, resource: string): ResourceDefinition | undefined {
  return resources.find((one) => one.group === group && one.version === version && one.resource === resource);
}
