import type { CanonicalObject, KubeType } from '../../kube/objects/kube-object.ts';
import {
  anyInteger,
  anyTime,
  boolean,
  int32,
  int64,
  list,
  nullableList,
  object,
  omitEmpty,
  oneOf,
  optional,
  union,
  quantities,
  quantity,
  requiredText,
  listOf,
  text,
  time,
} from './status-field.ts';
import { type FieldsOf } from './object-reader.ts';
import { podConditionByKubelet } from './ownership.ts';

/*
 * All fields of a pod status, with how each is read and patched. A new field of the
 * generated `kubeTypes` needs a line here; without it, this does not compile. Source: `k8s.io/api/core/v1`, v1.37, with
 * its JSON and patch tags.
 */

type Fields<Struct extends KubeType> = FieldsOf<CanonicalObject<Struct>>;

const conditionFields: Fields<'PodCondition'> = {
  type: requiredText,
  status: oneOf('True', 'False', 'Unknown'),
  lastProbeTime: time,
  lastTransitionTime: time,
  observedGeneration: omitEmpty(int64),
  reason: omitEmpty(text),
  message: omitEmpty(text),
};

/** The API server accepts all of these, so another writer may have set them. */
const foreignConditionFields: Fields<'PodCondition'> = {
  ...conditionFields,
  status: text,
  lastProbeTime: anyTime,
  lastTransitionTime: anyTime,
  observedGeneration: omitEmpty(anyInteger),
};

const ipFields: Fields<'HostIP' | 'PodIP'> = { ip: text };

const ips = list(ipFields, { mergeKey: 'ip', unique: true });

const resourceClaimFields: Fields<'ResourceClaim'> = { name: text, request: omitEmpty(text) };

const resourceRequirementsFields: Fields<'ResourceRequirements'> = {
  limits: quantities,
  requests: quantities,
  claims: list(resourceClaimFields),
};

/** An empty object is kept. */
export const resourceRequirements = object(resourceRequirementsFields);

const waitingFields: Fields<'ContainerStateWaiting'> = { reason: omitEmpty(text), message: omitEmpty(text) };

const runningFields: Fields<'ContainerStateRunning'> = { startedAt: time };

const terminatedFields: Fields<'ContainerStateTerminated'> = {
  exitCode: int32,
  startedAt: time,
  finishedAt: time,
  signal: omitEmpty(int32),
  reason: omitEmpty(text),
  message: omitEmpty(text),
  containerID: omitEmpty(text),
};

const containerStateFields: Fields<'ContainerState'> = {
  running: object(runningFields),
  waiting: object(waitingFields),
  terminated: object(terminatedFields),
};

const containerState = union(containerStateFields);

const imageVolumeFields: Fields<'ImageVolumeStatus'> = { imageRef: omitEmpty(text) };

const volumeStatusFields: Fields<'VolumeStatus'> = { image: object(imageVolumeFields) };

const volumeMountFields: Fields<'VolumeMountStatus'> = {
  name: text,
  mountPath: text,
  readOnly: omitEmpty(boolean),
  recursiveReadOnly: optional(text),
  volumeStatus: object(volumeStatusFields),
};

const linuxUserFields: Fields<'LinuxContainerUser'> = { uid: int64, gid: int64, supplementalGroups: listOf(int64) };

const userFields: Fields<'ContainerUser'> = { linux: object(linuxUserFields) };

const resourceHealthFields: Fields<'ResourceHealth'> = {
  resourceID: text,
  health: omitEmpty(text),
  message: optional(text),
};

const resourceStatusFields: Fields<'ResourceStatus'> = {
  name: text,
  resources: list(resourceHealthFields, { key: 'resourceID' }),
};

const containerStatusFields: Fields<'ContainerStatus'> = {
  name: requiredText,
  state: containerState,
  lastState: containerState,
  ready: boolean,
  restartCount: int32,
  image: text,
  imageID: text,
  containerID: omitEmpty(text),
  started: optional(boolean),
  allocatedResources: quantities,
  resources: resourceRequirements,
  volumeMounts: list(volumeMountFields, { mergeKey: 'mountPath' }),
  user: object(userFields),
  allocatedResourcesStatus: list(resourceStatusFields, { mergeKey: 'name' }),
  stopSignal: optional(text),
};

const containerStatuses = list(containerStatusFields, { key: 'name', unique: true });

const podResourceClaimFields: Fields<'PodResourceClaimStatus'> = { name: text, resourceClaimName: optional(text) };

const requestMappingFields: Fields<'ContainerExtendedResourceRequest'> = {
  containerName: text,
  resourceName: text,
  requestName: text,
};

const extendedResourceClaimFields: Fields<'PodExtendedResourceClaimStatus'> = {
  requestMappings: nullableList(requestMappingFields),
  resourceClaimName: text,
};

const mappedResourcesFields: Fields<'NodeAllocatableMappedResources'> = { name: text, quantity };

const overheadResourcesFields: Fields<'NodeAllocatableOverheadResources'> = {
  name: text,
  perPod: omitEmpty(quantity),
  perContainer: omitEmpty(quantity),
};

const nodeAllocatableFields: Fields<'NodeAllocatableResourceClaimStatus'> = {
  resourceClaimName: text,
  containers: listOf(text),
  mapping: list(mappedResourcesFields, { mergeKey: 'name' }),
  overhead: list(overheadResourcesFields, { mergeKey: 'name' }),
};

const volumeHealthConditionFields: Fields<'VolumeHealthCondition'> = {
  status: text,
  reason: text,
  message: omitEmpty(text),
};

/** The health conditions of a volume, also for a list of them alone. */
export const healthConditions = list(volumeHealthConditionFields, { mergeKey: 'status' });

const volumeHealthFields: Fields<'PodVolumeHealth'> = {
  name: text,
  lastTransitionTime: time,
  healthConditions,
};

export const podStatusFields: Fields<'PodStatus'> = {
  observedGeneration: omitEmpty(int64),
  phase: omitEmpty(oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown')),
  conditions: list(conditionFields, {
    ...{ mergeKey: 'type', unique: true },
    foreign: {
      fields: foreignConditionFields,
      has: ({ type }) => typeof type === 'string' && type !== '' && !podConditionByKubelet(type),
    },
  }),
  message: omitEmpty(text),
  reason: omitEmpty(text),
  nominatedNodeName: omitEmpty(text),
  hostIP: omitEmpty(text),
  hostIPs: ips,
  podIP: omitEmpty(text),
  podIPs: ips,
  startTime: omitEmpty(time),
  initContainerStatuses: containerStatuses,
  containerStatuses,
  qosClass: omitEmpty(oneOf('Guaranteed', 'Burstable', 'BestEffort')),
  ephemeralContainerStatuses: containerStatuses,
  resize: omitEmpty(text),
  resourceClaimStatuses: list(podResourceClaimFields, { mergeKey: 'name', retainKeys: true }),
  extendedResourceClaimStatus: object(extendedResourceClaimFields),
  allocatedResources: quantities,
  resources: resourceRequirements,
  nodeAllocatableResourceClaimStatuses: list(nodeAllocatableFields, { mergeKey: 'resourceClaimName' }),
  volumeHealth: list(volumeHealthFields, { key: 'name' }),
};
