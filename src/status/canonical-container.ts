import type {
  ContainerState,
  ContainerStateRunning,
  ContainerStateTerminated,
  ContainerStateWaiting,
  ContainerStatus,
  ContainerUser,
  ImageVolumeStatus,
  LinuxContainerUser,
  Mutable,
  ResourceClaim,
  ResourceHealth,
  ResourceRequirements,
  ResourceStatus,
  VolumeMountStatus,
  VolumeStatus,
} from '../types.ts';
import {
  booleanAt,
  int32At,
  int64At,
  keepUnknownMembers,
  listAt,
  objectAt,
  type Place,
  requiredStringAt,
  resourceListAt,
  scalarListAt,
  stringAt,
  timeAt,
} from './canonical-reader.ts';
import type { Raw } from './json.ts';
import { containerStatusMembers, namesOf } from './strategic-merge-schema.ts';

// The members that each object may have; others are unknown.
const containerStatusNames = namesOf(containerStatusMembers);
const stateNames = namesOf(containerStatusMembers.state.members);
const waitingNames = namesOf(containerStatusMembers.state.members.waiting.members);
const runningNames = namesOf(containerStatusMembers.state.members.running.members);
const terminatedNames = namesOf(containerStatusMembers.state.members.terminated.members);
const resourcesNames = namesOf(containerStatusMembers.resources.members);
const claimNames = namesOf(containerStatusMembers.resources.members.claims.members);
const volumeMountNames = namesOf(containerStatusMembers.volumeMounts.members);
const volumeStatusNames = namesOf(containerStatusMembers.volumeMounts.members.volumeStatus.members);
const imageVolumeNames = namesOf(containerStatusMembers.volumeMounts.members.volumeStatus.members.image.members);
const userNames = namesOf(containerStatusMembers.user.members);
const linuxUserNames = namesOf(containerStatusMembers.user.members.linux.members);
const resourceStatusNames = namesOf(containerStatusMembers.allocatedResourcesStatus.members);
const resourceHealthNames = namesOf(containerStatusMembers.allocatedResourcesStatus.members.resources.members);

/** What most `lastState`s are: one object for all of them. */
const unknownState: ContainerState = Object.freeze({});

/** A container status in canonical form. */
export function canonicalContainerStatus(raw: Raw, place: Place): ContainerStatus {
  const status: Mutable<ContainerStatus> = {
    name: requiredStringAt(raw.name, 'name', place),
    state: objectAt(raw.state, 'state', place, canonicalState) ?? unknownState,
    lastState: objectAt(raw.lastState, 'lastState', place, canonicalState) ?? unknownState,
    ready: booleanAt(raw.ready, 'ready', place),
    restartCount: int32At(raw.restartCount, 'restartCount', place),
    image: stringAt(raw.image, 'image', place),
    imageID: stringAt(raw.imageID, 'imageID', place),
  };
  const containerID = stringAt(raw.containerID, 'containerID', place);
  if (containerID !== '') status.containerID = containerID;
  if (raw.started !== undefined && raw.started !== null) status.started = booleanAt(raw.started, 'started', place);
  const allocatedResources = resourceListAt(raw.allocatedResources, 'allocatedResources', place);
  if (allocatedResources !== undefined) status.allocatedResources = allocatedResources;
  const resources = resourcesAt(raw.resources, 'resources', place);
  if (resources !== undefined) status.resources = resources;
  const volumeMounts = listAt(raw.volumeMounts, 'volumeMounts', place, canonicalVolumeMount);
  if (volumeMounts !== undefined) status.volumeMounts = volumeMounts;
  const user = objectAt(raw.user, 'user', place, canonicalUser);
  if (user !== undefined) status.user = user;
  const allocatedResourcesStatus = listAt(
    raw.allocatedResourcesStatus,
    'allocatedResourcesStatus',
    place,
    canonicalResourceStatus,
  );
  if (allocatedResourcesStatus !== undefined) status.allocatedResourcesStatus = allocatedResourcesStatus;
  if (raw.stopSignal !== undefined && raw.stopSignal !== null)
    status.stopSignal = stringAt(raw.stopSignal, 'stopSignal', place);
  keepUnknownMembers(status, raw, containerStatusNames, place);
  return status;
}

/** Resource requirements in canonical form; present but empty is a value. */
export function resourcesAt(value: unknown, member: string, place: Place): ResourceRequirements | undefined {
  return objectAt(value, member, place, canonicalResources);
}

function canonicalResources(raw: Raw, place: Place): ResourceRequirements {
  const resources: Mutable<ResourceRequirements> = {};
  const limits = resourceListAt(raw.limits, 'limits', place);
  if (limits !== undefined) resources.limits = limits;
  const requests = resourceListAt(raw.requests, 'requests', place);
  if (requests !== undefined) resources.requests = requests;
  const claims = listAt(raw.claims, 'claims', place, canonicalClaim);
  if (claims !== undefined) resources.claims = claims;
  keepUnknownMembers(resources, raw, resourcesNames, place);
  return resources;
}

function canonicalState(raw: Raw, place: Place): ContainerState {
  const waiting = objectAt(raw.waiting, 'waiting', place, canonicalWaiting);
  const running = objectAt(raw.running, 'running', place, canonicalRunning);
  const terminated = objectAt(raw.terminated, 'terminated', place, canonicalTerminated);
  if (
    place.strict &&
    Number(waiting !== undefined) + Number(running !== undefined) + Number(terminated !== undefined) > 1
  ) {
    place.refuse('', 'at most one of waiting, running and terminated', raw);
  }
  const state: Mutable<ContainerState> = running === undefined ? {} : { running };
  if (waiting !== undefined) state.waiting = waiting;
  if (terminated !== undefined) state.terminated = terminated;
  keepUnknownMembers(state, raw, stateNames, place);
  return state;
}

function canonicalWaiting(raw: Raw, place: Place): ContainerStateWaiting {
  const waiting: Mutable<ContainerStateWaiting> = {};
  const reason = stringAt(raw.reason, 'reason', place);
  if (reason !== '') waiting.reason = reason;
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') waiting.message = message;
  keepUnknownMembers(waiting, raw, waitingNames, place);
  return waiting;
}

function canonicalRunning(raw: Raw, place: Place): ContainerStateRunning {
  const running: Mutable<ContainerStateRunning> = { startedAt: timeAt(raw.startedAt, 'startedAt', place) };
  keepUnknownMembers(running, raw, runningNames, place);
  return running;
}

function canonicalTerminated(raw: Raw, place: Place): ContainerStateTerminated {
  const terminated: Mutable<ContainerStateTerminated> = {
    exitCode: int32At(raw.exitCode, 'exitCode', place),
    startedAt: timeAt(raw.startedAt, 'startedAt', place),
    finishedAt: timeAt(raw.finishedAt, 'finishedAt', place),
  };
  const signal = int32At(raw.signal, 'signal', place);
  if (signal !== 0) terminated.signal = signal;
  const reason = stringAt(raw.reason, 'reason', place);
  if (reason !== '') terminated.reason = reason;
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') terminated.message = message;
  const containerID = stringAt(raw.containerID, 'containerID', place);
  if (containerID !== '') terminated.containerID = containerID;
  keepUnknownMembers(terminated, raw, terminatedNames, place);
  return terminated;
}

function canonicalClaim(raw: Raw, place: Place): ResourceClaim {
  const claim: Mutable<ResourceClaim> = { name: stringAt(raw.name, 'name', place) };
  const request = stringAt(raw.request, 'request', place);
  if (request !== '') claim.request = request;
  keepUnknownMembers(claim, raw, claimNames, place);
  return claim;
}

function canonicalVolumeMount(raw: Raw, place: Place): VolumeMountStatus {
  const mount: Mutable<VolumeMountStatus> = {
    name: stringAt(raw.name, 'name', place),
    mountPath: stringAt(raw.mountPath, 'mountPath', place),
  };
  if (booleanAt(raw.readOnly, 'readOnly', place)) mount.readOnly = true;
  if (raw.recursiveReadOnly !== undefined && raw.recursiveReadOnly !== null) {
    mount.recursiveReadOnly = stringAt(raw.recursiveReadOnly, 'recursiveReadOnly', place);
  }
  const volumeStatus = objectAt(raw.volumeStatus, 'volumeStatus', place, canonicalVolumeStatus);
  if (volumeStatus !== undefined) mount.volumeStatus = volumeStatus;
  keepUnknownMembers(mount, raw, volumeMountNames, place);
  return mount;
}

function canonicalVolumeStatus(raw: Raw, place: Place): VolumeStatus {
  const status: Mutable<VolumeStatus> = {};
  const image = objectAt(raw.image, 'image', place, canonicalImageVolume);
  if (image !== undefined) status.image = image;
  keepUnknownMembers(status, raw, volumeStatusNames, place);
  return status;
}

function canonicalImageVolume(raw: Raw, place: Place): ImageVolumeStatus {
  const image: Mutable<ImageVolumeStatus> = {};
  const imageRef = stringAt(raw.imageRef, 'imageRef', place);
  if (imageRef !== '') image.imageRef = imageRef;
  keepUnknownMembers(image, raw, imageVolumeNames, place);
  return image;
}

function canonicalUser(raw: Raw, place: Place): ContainerUser {
  const user: Mutable<ContainerUser> = {};
  const linux = objectAt(raw.linux, 'linux', place, canonicalLinuxUser);
  if (linux !== undefined) user.linux = linux;
  keepUnknownMembers(user, raw, userNames, place);
  return user;
}

function canonicalLinuxUser(raw: Raw, place: Place): LinuxContainerUser {
  const user: Mutable<LinuxContainerUser> = {
    uid: int64At(raw.uid, 'uid', place),
    gid: int64At(raw.gid, 'gid', place),
  };
  const supplementalGroups = scalarListAt(raw.supplementalGroups, 'supplementalGroups', place, int64At);
  if (supplementalGroups !== undefined) user.supplementalGroups = supplementalGroups;
  keepUnknownMembers(user, raw, linuxUserNames, place);
  return user;
}

function canonicalResourceStatus(raw: Raw, place: Place): ResourceStatus {
  const status: Mutable<ResourceStatus> = { name: stringAt(raw.name, 'name', place) };
  const resources = listAt(raw.resources, 'resources', place, canonicalResourceHealth);
  if (resources !== undefined) status.resources = resources;
  keepUnknownMembers(status, raw, resourceStatusNames, place);
  return status;
}

function canonicalResourceHealth(raw: Raw, place: Place): ResourceHealth {
  const health: Mutable<ResourceHealth> = { resourceID: stringAt(raw.resourceID, 'resourceID', place) };
  const state = stringAt(raw.health, 'health', place);
  if (state !== '') health.health = state;
  if (raw.message !== undefined && raw.message !== null) health.message = stringAt(raw.message, 'message', place);
  keepUnknownMembers(health, raw, resourceHealthNames, place);
  return health;
}
