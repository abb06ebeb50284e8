import type { Subject } from '../api-status.ts';
import type { KubeType } from '../../kube/objects/kube-object.ts';
import { objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { configMapStrategy } from './config-map-strategy.ts';
import { nodeStrategy } from './node-strategy.ts';
import { plainStrategy, eventStrategy, leaseStrategy, namespaceStrategy } from './plain-strategy.ts';
import { podStrategy } from './pod-strategy.ts';
import { secretStrategy } from './secret-strategy.ts';
import type { SelectableFields } from '../storage/selectors.ts';
import { serviceAccountStrategy } from './service-account-strategy.ts';
import type { Strategy } from './strategy.ts';
import { podSubresources, statusSubresource, type Subresource, tokenSubresource } from './subresources.ts';

/** A resource of version v1 of its group: its names, verbs and strategy. */
export interface ResourceDefinition extends Subject {
  /** Also the Go struct that its JSON is read into. */
  readonly kind: ResourceKind;
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
  /** The one of `fields` by which nodes select. Source: registry `NodeNameTriggerFunc`, `Indexers`. */
  readonly indexedField?: string;
  readonly strategy: Strategy;
}

type ResourceKind = Extract<
  KubeType,
  'Pod' | 'Node' | 'Namespace' | 'Service' | 'ConfigMap' | 'Secret' | 'ServiceAccount' | 'Event' | 'Lease'
>;

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

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields: SelectableFields = {
  ...metadataFields,
  ...Object.fromEntries(
    referenceFields.map((field) => [
      `involvedObject.${field}`,
      (event: StoredObject) => stringOf(objectOf(event, 'involvedObject'), field),
    ]),
  ),
  reason: (event) => stringOf(event, 'reason'),
  reportingComponent: (event) => stringOf(event, 'reportingComponent'),
  source: (event) => stringOf(objectOf(event, 'source'), 'component') || stringOf(event, 'reportingComponent'),
  type: (event) => stringOf(event, 'type'),
};

/** Everything this server serves. */
export const resources: readonly ResourceDefinition[] = [
  define('Pod', {
    ...{ shortNames: ['po'], categories: ['all'], subresources: podSubresources, returnsDeletedObject: true },
    ...{ fields: podFields, indexedField: 'spec.nodeName', strategy: podStrategy },
  }),
  define('Node', {
    ...{ namespaced: false, shortNames: ['no'], subresources: [statusSubresource] },
    fields: { ...metadataFields, 'spec.unschedulable': (node) => String(specOf(node).unschedulable === true) },
    strategy: nodeStrategy,
  }),
  define('Namespace', {
    ...{ namespaced: false, shortNames: ['ns'], subresources: [statusSubresource], deletesCollections: false },
    fields: { ...metadataFields, 'status.phase': (namespace) => stringOf(statusOf(namespace), 'phase') },
    strategy: namespaceStrategy,
  }),
  define('Service', { shortNames: ['svc'], categories: ['all'], isReadOnly: true, fields: serviceFields }),
  define('ConfigMap', { shortNames: ['cm'], strategy: configMapStrategy }),
  define('Secret', {
    fields: { ...metadataFields, type: (secret) => stringOf(secret, 'type') },
    strategy: secretStrategy,
  }),
  define('ServiceAccount', {
    ...{ shortNames: ['sa'], subresources: [tokenSubresource], returnsDeletedObject: true },
    strategy: serviceAccountStrategy,
  }),
  define('Event', { shortNames: ['ev'], fields: eventFields, strategy: eventStrategy }),
  define('Lease', { group: 'coordination.k8s.io', strategy: leaseStrategy }),
];

function define(kind: ResourceKind, definition: Partial<ResourceDefinition>): ResourceDefinition {
  return {
    ...{ kind, group: '', resource: `${kind.toLowerCase()}s`, namespaced: true, shortNames: [], subresources: [] },
    ...{ fields: metadataFields, strategy: plainStrategy },
    ...definition,
  };
}

/** `v1`, `coordination.k8s.io/v1`. */
export function groupVersionOf({ group }: { readonly group: string }): string {
  return group === '' ? 'v1' : `${group}/v1`;
}

export function singularOf({ kind }: { readonly kind: string }): string {
  return kind.toLowerCase();
}

export function resourceNamed(group: string, version: string, resource: string): ResourceDefinition | undefined {
  return version === 'v1' ? resources.find((one) => one.group === group && one.resource === resource) : undefined;
}
