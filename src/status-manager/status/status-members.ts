import type {
  ContainerExtendedResourceRequest,
  ContainerState,
  ContainerStateRunning,
  ContainerStateTerminated,
  ContainerStateWaiting,
  ContainerStatus,
  ContainerUser,
  HostIP,
  ImageVolumeStatus,
  LinuxContainerUser,
  NodeAllocatableMappedResources,
  NodeAllocatableOverheadResources,
  NodeAllocatableResourceClaimStatus,
  PodCondition,
  PodExtendedResourceClaimStatus,
  PodIP,
  PodResourceClaimStatus,
  PodStatus,
  PodVolumeHealth,
  ResourceClaim,
  ResourceHealth,
  ResourceRequirements,
  ResourceStatus,
  VolumeHealthCondition,
  VolumeMountStatus,
  VolumeStatus,
} from '../../kube/types.ts';
import {
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
} from './status-member.ts';
import { type MembersOf } from './object-reader.ts';

/*
 * All members of a pod status, with how each is read and patched. A new member needs one line in
 * types.ts and one here; without the line here it does not compile. Source: `k8s.io/api/core/v1`,
 * v1.37, with its JSON and patch tags.
 */

const conditionMembers: MembersOf<PodCondition> = {
  type: requiredText,
  status: oneOf('True', 'False', 'Unknown'),
  lastProbeTime: time,
  lastTransitionTime: time,
  observedGeneration: omitEmpty(int64),
  reason: omitEmpty(text),
  message: omitEmpty(text),
};

const ipMembers: MembersOf<HostIP & PodIP> = { ip: text };

const ips = list(ipMembers, { mergeKey: 'ip', unique: true });

const resourceClaimMembers: MembersOf<ResourceClaim> = { name: text, request: omitEmpty(text) };

const resourceRequirementsMembers: MembersOf<ResourceRequirements> = {
  limits: quantities,
  requests: quantities,
  claims: list(resourceClaimMembers),
};

/** An empty object is kept. */
export const resourceRequirements = object(resourceRequirementsMembers);

const waitingMembers: MembersOf<ContainerStateWaiting> = { reason: omitEmpty(text), message: omitEmpty(text) };

const runningMembers: MembersOf<ContainerStateRunning> = { startedAt: time };

const terminatedMembers: MembersOf<ContainerStateTerminated> = {
  exitCode: int32,
  startedAt: time,
  finishedAt: time,
  signal: omitEmpty(int32),
  reason: omitEmpty(text),
  message: omitEmpty(text),
  containerID: omitEmpty(text),
};

const containerStateMembers: MembersOf<ContainerState> = {
  running: object(runningMembers),
  waiting: object(waitingMembers),
  terminated: object(terminatedMembers),
};

const containerState = union(containerStateMembers);

const imageVolumeMembers: MembersOf<ImageVolumeStatus> = { imageRef: omitEmpty(text) };

const volumeStatusMembers: MembersOf<VolumeStatus> = { image: object(imageVolumeMembers) };

const volumeMountMembers: MembersOf<VolumeMountStatus> = {
  name: text,
  mountPath: text,
  readOnly: omitEmpty(boolean),
  recursiveReadOnly: optional(text),
  volumeStatus: object(volumeStatusMembers),
};

const linuxUserMembers: MembersOf<LinuxContainerUser> = { uid: int64, gid: int64, supplementalGroups: listOf(int64) };

const userMembers: MembersOf<ContainerUser> = { linux: object(linuxUserMembers) };

const resourceHealthMembers: MembersOf<ResourceHealth> = {
  resourceID: text,
  health: omitEmpty(text),
  message: optional(text),
};

const resourceStatusMembers: MembersOf<ResourceStatus> = {
  name: text,
  resources: list(resourceHealthMembers, { key: 'resourceID' }),
};

const containerStatusMembers: MembersOf<ContainerStatus> = {
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
  volumeMounts: list(volumeMountMembers, { mergeKey: 'mountPath' }),
  user: object(userMembers),
  allocatedResourcesStatus: list(resourceStatusMembers, { mergeKey: 'name' }),
  stopSignal: optional(text),
};

const containerStatuses = list(containerStatusMembers, { key: 'name', unique: true });

const podResourceClaimMembers: MembersOf<PodResourceClaimStatus> = { name: text, resourceClaimName: optional(text) };

const requestMappingMembers: MembersOf<ContainerExtendedResourceRequest> = {
  containerName: text,
  resourceName: text,
  requestName: text,
};

const extendedResourceClaimMembers: MembersOf<PodExtendedResourceClaimStatus> = {
  requestMappings: nullableList(requestMappingMembers),
  resourceClaimName: text,
};

const mappedResourcesMembers: MembersOf<NodeAllocatableMappedResources> = { name: text, quantity };

const overheadResourcesMembers: MembersOf<NodeAllocatableOverheadResources> = {
  name: text,
  perPod: omitEmpty(quantity),
  perContainer: omitEmpty(quantity),
};

const nodeAllocatableMembers: MembersOf<NodeAllocatableResourceClaimStatus> = {
  resourceClaimName: text,
  containers: listOf(text),
  mapping: list(mappedResourcesMembers, { mergeKey: 'name' }),
  overhead: list(overheadResourcesMembers, { mergeKey: 'name' }),
};

const volumeHealthConditionMembers: MembersOf<VolumeHealthCondition> = {
  status: text,
  reason: text,
  message: omitEmpty(text),
};

/** The health conditions of a volume, also for a list of them alone. */
export const healthConditions = list(volumeHealthConditionMembers, { mergeKey: 'status' });

const volumeHealthMembers: MembersOf<PodVolumeHealth> = {
  name: text,
  lastTransitionTime: time,
  healthConditions,
};

export const podStatusMembers: MembersOf<PodStatus> = {
  observedGeneration: omitEmpty(int64),
  phase: omitEmpty(oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown')),
  conditions: list(conditionMembers, { mergeKey: 'type', unique: true }),
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
  resourceClaimStatuses: list(podResourceClaimMembers, { mergeKey: 'name', retainKeys: true }),
  extendedResourceClaimStatus: object(extendedResourceClaimMembers),
  allocatedResources: quantities,
  resources: resourceRequirements,
  nodeAllocatableResourceClaimStatuses: list(nodeAllocatableMembers, { mergeKey: 'resourceClaimName' }),
  volumeHealth: list(volumeHealthMembers, { key: 'name' }),
};
