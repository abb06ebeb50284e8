import type {
  ContainerExtendedResourceRequest,
  ContainerStatus,
  Mutable,
  NodeAllocatableMappedResources,
  NodeAllocatableOverheadResources,
  NodeAllocatableResourceClaimStatus,
  PodCondition,
  PodExtendedResourceClaimStatus,
  PodIP,
  PodResourceClaimStatus,
  PodStatus,
  PodVolumeHealth,
  VolumeHealthCondition,
} from '../types.ts';
import { canonicalContainerStatus, resourcesAt } from './canonical-container.ts';
import {
  int64At,
  keepUnknownMembers,
  lastOfEachKey,
  listAt,
  objectAt,
  Place,
  quantityAt,
  requiredStringAt,
  resourceListAt,
  scalarListAt,
  stringAt,
  timeAt,
} from './canonical-reader.ts';
import type { TimeSpeller } from './canonical-time.ts';
import { isObject, type Raw } from './json.ts';
import { namesOf, podStatusMembers } from './strategic-merge-schema.ts';

// The members that each object may have; others are unknown.
const podStatusNames = namesOf(podStatusMembers);
const conditionNames = namesOf(podStatusMembers.conditions.members);
const ipNames = namesOf(podStatusMembers.hostIPs.members);
const resourceClaimStatusNames = namesOf(podStatusMembers.resourceClaimStatuses.members);
const extendedResourceClaimStatusNames = namesOf(podStatusMembers.extendedResourceClaimStatus.members);
const requestMappingNames = namesOf(podStatusMembers.extendedResourceClaimStatus.members.requestMappings.members);
const nodeAllocatableNames = namesOf(podStatusMembers.nodeAllocatableResourceClaimStatuses.members);
const mappedResourcesNames = namesOf(podStatusMembers.nodeAllocatableResourceClaimStatuses.members.mapping.members);
const overheadResourcesNames = namesOf(podStatusMembers.nodeAllocatableResourceClaimStatuses.members.overhead.members);
const volumeHealthNames = namesOf(podStatusMembers.volumeHealth.members);
const volumeHealthConditionNames = namesOf(podStatusMembers.volumeHealth.members.healthConditions.members);

/** The mode and the name under which a value is read; see `Place`. */
export interface CanonicalOptions {
  /** Throw for anything odd (a caller's input) instead of keeping it (a server's object). */
  readonly strict: boolean;
  /** What the value is called in an error; default `status`. */
  readonly name?: string;
}

/**
 * A new status in canonical form: the spelling that Go's typed structs give, so that two statuses
 * that mean the same compare and patch the same. Shares nothing mutable with `input`. With `times`
 * from one call to the next, the times of many statuses are one string.
 * @throws StatusManagerError INVALID_ARGUMENT with the member's path, when strict
 */
export function canonicalPodStatus(input: unknown, options: CanonicalOptions, times?: TimeSpeller): Mutable<PodStatus> {
  const place = new Place(options.strict, options.name ?? 'status', times);
  if (!isObject(input)) {
    return options.strict ? place.refuse('', 'an object', input) : {};
  }
  const raw = input;
  const status: Mutable<PodStatus> = {};
  const observedGeneration = int64At(raw.observedGeneration, 'observedGeneration', place);
  if (observedGeneration !== 0) status.observedGeneration = observedGeneration;
  const phase = stringAt(raw.phase, 'phase', place);
  if (phase !== '') status.phase = phase;
  const conditions = lastOfEachKey(listAt(raw.conditions, 'conditions', place, canonicalPodCondition), 'type', place);
  if (conditions !== undefined) status.conditions = conditions;
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') status.message = message;
  const reason = stringAt(raw.reason, 'reason', place);
  if (reason !== '') status.reason = reason;
  const nominatedNodeName = stringAt(raw.nominatedNodeName, 'nominatedNodeName', place);
  if (nominatedNodeName !== '') status.nominatedNodeName = nominatedNodeName;
  const hostIP = stringAt(raw.hostIP, 'hostIP', place);
  if (hostIP !== '') status.hostIP = hostIP;
  const hostIPs = lastOfEachKey(listAt(raw.hostIPs, 'hostIPs', place, canonicalIP), 'ip', place);
  if (hostIPs !== undefined) status.hostIPs = hostIPs;
  const podIP = stringAt(raw.podIP, 'podIP', place);
  if (podIP !== '') status.podIP = podIP;
  const podIPs = lastOfEachKey(listAt(raw.podIPs, 'podIPs', place, canonicalIP), 'ip', place);
  if (podIPs !== undefined) status.podIPs = podIPs;
  const startTime = timeAt(raw.startTime, 'startTime', place);
  if (startTime !== null) status.startTime = startTime;
  const initContainerStatuses = containerStatusesAt(raw.initContainerStatuses, 'initContainerStatuses', place);
  if (initContainerStatuses !== undefined) status.initContainerStatuses = initContainerStatuses;
  const containerStatuses = containerStatusesAt(raw.containerStatuses, 'containerStatuses', place);
  if (containerStatuses !== undefined) status.containerStatuses = containerStatuses;
  const qosClass = stringAt(raw.qosClass, 'qosClass', place);
  if (qosClass !== '') status.qosClass = qosClass;
  const ephemeralContainerStatuses = containerStatusesAt(
    raw.ephemeralContainerStatuses,
    'ephemeralContainerStatuses',
    place,
  );
  if (ephemeralContainerStatuses !== undefined) status.ephemeralContainerStatuses = ephemeralContainerStatuses;
  const resize = stringAt(raw.resize, 'resize', place);
  if (resize !== '') status.resize = resize;
  const resourceClaimStatuses = listAt(
    raw.resourceClaimStatuses,
    'resourceClaimStatuses',
    place,
    canonicalResourceClaimStatus,
  );
  if (resourceClaimStatuses !== undefined) status.resourceClaimStatuses = resourceClaimStatuses;
  const extended = objectAt(
    raw.extendedResourceClaimStatus,
    'extendedResourceClaimStatus',
    place,
    canonicalExtendedResourceClaimStatus,
  );
  if (extended !== undefined) status.extendedResourceClaimStatus = extended;
  const allocatedResources = resourceListAt(raw.allocatedResources, 'allocatedResources', place);
  if (allocatedResources !== undefined) status.allocatedResources = allocatedResources;
  const resources = resourcesAt(raw.resources, 'resources', place);
  if (resources !== undefined) status.resources = resources;
  const nodeAllocatable = listAt(
    raw.nodeAllocatableResourceClaimStatuses,
    'nodeAllocatableResourceClaimStatuses',
    place,
    canonicalNodeAllocatable,
  );
  if (nodeAllocatable !== undefined) status.nodeAllocatableResourceClaimStatuses = nodeAllocatable;
  const volumeHealth = listAt(raw.volumeHealth, 'volumeHealth', place, canonicalVolumeHealth);
  if (volumeHealth !== undefined) status.volumeHealth = volumeHealth;
  keepUnknownMembers(status, raw, podStatusNames, place);
  return status;
}

/** Health conditions of a volume in canonical form; undefined for none. */
export function canonicalVolumeHealthConditions(
  input: unknown,
  options: CanonicalOptions,
): VolumeHealthCondition[] | undefined {
  const name = options.name ?? 'conditions';
  return listAt(input, name, new Place(options.strict, ''), canonicalVolumeHealthCondition);
}

/** A pod condition in canonical form. */
function canonicalPodCondition(raw: Raw, place: Place): PodCondition {
  const condition: Mutable<PodCondition> = {
    type: requiredStringAt(raw.type, 'type', place),
    status: stringAt(raw.status, 'status', place),
    lastProbeTime: timeAt(raw.lastProbeTime, 'lastProbeTime', place),
    lastTransitionTime: timeAt(raw.lastTransitionTime, 'lastTransitionTime', place),
  };
  const observedGeneration = int64At(raw.observedGeneration, 'observedGeneration', place);
  if (observedGeneration !== 0) condition.observedGeneration = observedGeneration;
  const reason = stringAt(raw.reason, 'reason', place);
  if (reason !== '') condition.reason = reason;
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') condition.message = message;
  keepUnknownMembers(condition, raw, conditionNames, place);
  return condition;
}

function containerStatusesAt(value: unknown, member: string, place: Place): ContainerStatus[] | undefined {
  return lastOfEachKey(listAt(value, member, place, canonicalContainerStatus), 'name', place);
}

function canonicalIP(raw: Raw, place: Place): PodIP {
  const ip: Mutable<PodIP> = { ip: stringAt(raw.ip, 'ip', place) };
  keepUnknownMembers(ip, raw, ipNames, place);
  return ip;
}

function canonicalResourceClaimStatus(raw: Raw, place: Place): PodResourceClaimStatus {
  const claim: Mutable<PodResourceClaimStatus> = { name: stringAt(raw.name, 'name', place) };
  if (raw.resourceClaimName !== undefined && raw.resourceClaimName !== null) {
    claim.resourceClaimName = stringAt(raw.resourceClaimName, 'resourceClaimName', place);
  }
  keepUnknownMembers(claim, raw, resourceClaimStatusNames, place);
  return claim;
}

function canonicalExtendedResourceClaimStatus(raw: Raw, place: Place): PodExtendedResourceClaimStatus {
  const mappings = listAt(raw.requestMappings, 'requestMappings', place, canonicalRequestMapping);
  const extended: Mutable<PodExtendedResourceClaimStatus> = {
    // The one list that Go writes even when it is nil, and then as null.
    requestMappings: mappings ?? (Array.isArray(raw.requestMappings) ? [] : null),
    resourceClaimName: stringAt(raw.resourceClaimName, 'resourceClaimName', place),
  };
  keepUnknownMembers(extended, raw, extendedResourceClaimStatusNames, place);
  return extended;
}

function canonicalRequestMapping(raw: Raw, place: Place): ContainerExtendedResourceRequest {
  const mapping: Mutable<ContainerExtendedResourceRequest> = {
    containerName: stringAt(raw.containerName, 'containerName', place),
    resourceName: stringAt(raw.resourceName, 'resourceName', place),
    requestName: stringAt(raw.requestName, 'requestName', place),
  };
  keepUnknownMembers(mapping, raw, requestMappingNames, place);
  return mapping;
}

function canonicalNodeAllocatable(raw: Raw, place: Place): NodeAllocatableResourceClaimStatus {
  const claim: Mutable<NodeAllocatableResourceClaimStatus> = {
    resourceClaimName: stringAt(raw.resourceClaimName, 'resourceClaimName', place),
  };
  const containers = scalarListAt(raw.containers, 'containers', place, stringAt);
  if (containers !== undefined) claim.containers = containers;
  const mapping = listAt(raw.mapping, 'mapping', place, canonicalMappedResources);
  if (mapping !== undefined) claim.mapping = mapping;
  const overhead = listAt(raw.overhead, 'overhead', place, canonicalOverheadResources);
  if (overhead !== undefined) claim.overhead = overhead;
  keepUnknownMembers(claim, raw, nodeAllocatableNames, place);
  return claim;
}

function canonicalMappedResources(raw: Raw, place: Place): NodeAllocatableMappedResources {
  const mapped: Mutable<NodeAllocatableMappedResources> = {
    name: stringAt(raw.name, 'name', place),
    quantity: quantityAt(raw.quantity, 'quantity', place),
  };
  keepUnknownMembers(mapped, raw, mappedResourcesNames, place);
  return mapped;
}

function canonicalOverheadResources(raw: Raw, place: Place): NodeAllocatableOverheadResources {
  const overhead: Mutable<NodeAllocatableOverheadResources> = { name: stringAt(raw.name, 'name', place) };
  const perPod = quantityAt(raw.perPod, 'perPod', place);
  if (perPod !== null) overhead.perPod = perPod;
  const perContainer = quantityAt(raw.perContainer, 'perContainer', place);
  if (perContainer !== null) overhead.perContainer = perContainer;
  keepUnknownMembers(overhead, raw, overheadResourcesNames, place);
  return overhead;
}

function canonicalVolumeHealth(raw: Raw, place: Place): PodVolumeHealth {
  const health: Mutable<PodVolumeHealth> = {
    name: stringAt(raw.name, 'name', place),
    lastTransitionTime: timeAt(raw.lastTransitionTime, 'lastTransitionTime', place),
  };
  const healthConditions = listAt(raw.healthConditions, 'healthConditions', place, canonicalVolumeHealthCondition);
  if (healthConditions !== undefined) health.healthConditions = healthConditions;
  keepUnknownMembers(health, raw, volumeHealthNames, place);
  return health;
}

function canonicalVolumeHealthCondition(raw: Raw, place: Place): VolumeHealthCondition {
  const condition: Mutable<VolumeHealthCondition> = {
    status: stringAt(raw.status, 'status', place),
    reason: stringAt(raw.reason, 'reason', place),
  };
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') condition.message = message;
  keepUnknownMembers(condition, raw, volumeHealthConditionNames, place);
  return condition;
}
