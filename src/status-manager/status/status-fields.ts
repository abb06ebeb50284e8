import { type CanonicalObject, type KubeType, type StructField, structFields } from '../../kube/objects/kube-object.ts';
import type { ResourceRequirements, VolumeHealthCondition } from '../../kube/objects/types.ts';
import {
  anyInteger,
  anyTime,
  boolean,
  int32,
  int64,
  list,
  listOf,
  type ListRules,
  nullableList,
  object,
  omitEmpty,
  enumOf,
  whenSet,
  quantities,
  quantity,
  requiredText,
  text,
  time,
  union,
} from './status-field.ts';
import type { FieldTable, StatusField } from './object-reader.ts';
import { podConditionByKubelet } from './ownership.ts';

/*
 * All fields of a pod status, with how each is read and patched: as their Go types say (the generated `kubeTypes`), with
 * the exceptions below.
 */

type ByField<Row> = {
  readonly [Struct in KubeType]?: { readonly [Field in keyof CanonicalObject<Struct>]?: Row };
};

/** Texts that have rules of their own. */
const exceptions: ByField<StatusField<unknown>> = {
  PodStatus: {
    phase: omitEmpty(enumOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown')),
    qosClass: omitEmpty(enumOf('Guaranteed', 'Burstable', 'BestEffort')),
  },
  PodCondition: { type: requiredText, status: enumOf('True', 'False', 'Unknown') },
  ContainerStatus: { name: requiredText },
};

/** The API server accepts all of these in a condition, so another writer may have set them. */
const foreignConditionFields = {
  ...{ status: text, lastProbeTime: anyTime, lastTransitionTime: anyTime },
  observedGeneration: omitEmpty(anyInteger),
};

const byIP: ListRules = { mergeKey: 'ip', unique: true };
const containerStatuses: ListRules = { key: 'name', unique: true };

/** How lists are read and patched. Source: the patch tags of `k8s.io/api/core/v1`, v1.37. */
const listRules: ByField<ListRules> = {
  PodStatus: {
    conditions: {
      ...{ mergeKey: 'type', unique: true },
      foreign: {
        fields: foreignConditionFields,
        has: ({ type }) => typeof type === 'string' && type !== '' && !podConditionByKubelet(type),
      },
    },
    hostIPs: byIP,
    podIPs: byIP,
    initContainerStatuses: containerStatuses,
    containerStatuses,
    ephemeralContainerStatuses: containerStatuses,
    resourceClaimStatuses: { mergeKey: 'name', retainKeys: true },
    nodeAllocatableResourceClaimStatuses: { mergeKey: 'resourceClaimName' },
    volumeHealth: { key: 'name' },
  },
  ContainerStatus: { volumeMounts: { mergeKey: 'mountPath' }, allocatedResourcesStatus: { mergeKey: 'name' } },
  ResourceStatus: { resources: { key: 'resourceID' } },
  NodeAllocatableResourceClaimStatus: { mapping: { mergeKey: 'name' }, overhead: { mergeKey: 'name' } },
  PodVolumeHealth: { healthConditions: { mergeKey: 'status' } },
};

const scalars = { string: text, bool: boolean, int32, int64, Time: time, Quantity: quantity } as const;

/** The tables of structs, so that each is read by one reader. */
const tables = new Map<KubeType, FieldTable>();

function fieldsOf(struct: KubeType): FieldTable {
  let table = tables.get(struct);
  if (table === undefined) {
    table = Object.fromEntries(structFields(struct).map((field) => [field.name, rowOf(struct, field)]));
    tables.set(struct, table);
  }
  return table;
}

function rowOf(struct: KubeType, { name, isOptional, type }: StructField): StatusField<unknown> {
  const exception = (exceptions[struct] as FieldTable | undefined)?.[name];
  if (exception !== undefined) return exception;
  if (type === 'map[string]Quantity') return quantities;
  const rules = (listRules[struct] as Readonly<Record<string, ListRules>> | undefined)?.[name];
  const [, mark, target = ''] = /^(\[\]|\*)?(\w+)/.exec(type) ?? [];
  const scalar = Object.hasOwn(scalars, target) ? scalars[target as keyof typeof scalars] : undefined;
  if (scalar === undefined) {
    const fields = fieldsOf(target as KubeType);
    if (mark === '[]') return isOptional ? list(fields, rules) : nullableList(fields);
    return mark === '*' ? object(fields) : union(fields);
  }
  if (mark === '[]') return listOf(scalar as typeof text);
  // A time and a quantity can be null, so a pointer to one says no more than the value.
  if (mark === '*' && !scalar.nullable) return whenSet(scalar as typeof text);
  return isOptional ? omitEmpty(scalar as typeof text) : scalar;
}

export const podStatusFields = fieldsOf('PodStatus');

/** An empty object is kept. */
export const resourceRequirements = object<ResourceRequirements>(fieldsOf('ResourceRequirements'));

/** The health conditions of a volume, also for a list of them alone. */
export const healthConditions = list<VolumeHealthCondition>(fieldsOf('VolumeHealthCondition'), { mergeKey: 'status' });
