import type {
  ContainerState,
  ContainerStateRunning,
  ContainerStateTerminated,
  ContainerStateWaiting,
  ContainerStatus,
  ContainerUser,
  LinuxContainerUser,
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
  type Raw,
  requiredStringAt,
  resourceListAt,
  scalarListAt,
  stringAt,
  timeAt,
} from './canonical-reader.ts';

const containerStatusMembers = new Set([
  'name',
  'state',
  'lastState',
  'ready',
  'restartCount',
  'image',
  'imageID',
  'containerID',
  'started',
  'allocatedResources',
  'resources',
  'volumeMounts',
  'user',
  'allocatedResourcesStatus',
  'stopSignal',
]);
const stateMembers = new Set(['waiting', 'running', 'terminated']);
const waitingMembers = new Set(['reason', 'message']);
const runningMembers = new Set(['startedAt']);
const terminatedMembers = new Set([
  'exitCode',
  'signal',
  'reason',
  'message',
  'startedAt',
  'finishedAt',
  'containerID',
]);
const resourcesMembers = new Set(['limits', 'requests', 'claims']);
const claimMembers = new Set(['name', 'request']);
const volumeMountMembers = new Set(['name', 'mountPath', 'readOnly', 'recursiveReadOnly', 'volumeStatus']);
const volumeStatusMembers = new Set(['image']);
const imageVolumeMembers = new Set(['imageRef']);
const userMembers = new Set(['linux']);
const linuxUserMembers = new Set(['uid', 'gid', 'supplementalGroups']);
const resourceStatusMembers = new Set(['name', 'resources']);
const resourceHealthMembers = new Set(['resourceID', 'health', 'message']);

/** A container status in canonical form. */
export function canonicalContainerStatus(raw: Raw, place: Place): ContainerStatus {
  const status: ContainerStatus = {
    name: requiredStringAt(raw.name, 'name', place),
    state: stateAt(raw.state, 'state', place),
    lastState: stateAt(raw.lastState, 'lastState', place),
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
  const user = userAt(raw.user, 'user', place);
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
  keepUnknownMembers(status, raw, containerStatusMembers, place);
  return status;
}

/** Resource requirements in canonical form; present but empty is a value. */
export function resourcesAt(input: unknown, member: string, place: Place): ResourceRequirements | undefined {
  const value = objectAt(input, member, place);
  if (value === undefined) return undefined;
  const inner = place.child(member);
  const resources: ResourceRequirements = {};
  const limits = resourceListAt(value.limits, 'limits', inner);
  if (limits !== undefined) resources.limits = limits;
  const requests = resourceListAt(value.requests, 'requests', inner);
  if (requests !== undefined) resources.requests = requests;
  const claims = listAt(value.claims, 'claims', inner, canonicalClaim);
  if (claims !== undefined) resources.claims = claims;
  keepUnknownMembers(resources, value, resourcesMembers, inner);
  return resources;
}

function stateAt(input: unknown, member: string, place: Place): ContainerState {
  const value = objectAt(input, member, place);
  const state: ContainerState = {};
  if (value === undefined) return state;
  const inner = place.child(member);
  const waiting = objectAt(value.waiting, 'waiting', inner);
  if (waiting !== undefined) state.waiting = canonicalWaiting(waiting, inner.child('waiting'));
  const running = objectAt(value.running, 'running', inner);
  if (running !== undefined) state.running = canonicalRunning(running, inner.child('running'));
  const terminated = objectAt(value.terminated, 'terminated', inner);
  if (terminated !== undefined) state.terminated = canonicalTerminated(terminated, inner.child('terminated'));
  if (
    inner.strict &&
    Number(waiting !== undefined) + Number(running !== undefined) + Number(terminated !== undefined) > 1
  ) {
    inner.refuse('', 'at most one of waiting, running and terminated', value);
  }
  keepUnknownMembers(state, value, stateMembers, inner);
  return state;
}

function canonicalWaiting(raw: Raw, place: Place): ContainerStateWaiting {
  const waiting: ContainerStateWaiting = {};
  const reason = stringAt(raw.reason, 'reason', place);
  if (reason !== '') waiting.reason = reason;
  const message = stringAt(raw.message, 'message', place);
  if (message !== '') waiting.message = message;
  keepUnknownMembers(waiting, raw, waitingMembers, place);
  return waiting;
}

function canonicalRunning(raw: Raw, place: Place): ContainerStateRunning {
  const running: ContainerStateRunning = { startedAt: timeAt(raw.startedAt, 'startedAt', place) };
  keepUnknownMembers(running, raw, runningMembers, place);
  return running;
}

function canonicalTerminated(raw: Raw, place: Place): ContainerStateTerminated {
  const terminated: ContainerStateTerminated = {
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
  keepUnknownMembers(terminated, raw, terminatedMembers, place);
  return terminated;
}

function canonicalClaim(raw: Raw, place: Place): ResourceClaim {
  const claim: ResourceClaim = { name: stringAt(raw.name, 'name', place) };
  const request = stringAt(raw.request, 'request', place);
  if (request !== '') claim.request = request;
  keepUnknownMembers(claim, raw, claimMembers, place);
  return claim;
}

function canonicalVolumeMount(raw: Raw, place: Place): VolumeMountStatus {
  const mount: VolumeMountStatus = {
    name: stringAt(raw.name, 'name', place),
    mountPath: stringAt(raw.mountPath, 'mountPath', place),
  };
  if (booleanAt(raw.readOnly, 'readOnly', place)) mount.readOnly = true;
  if (raw.recursiveReadOnly !== undefined && raw.recursiveReadOnly !== null) {
    mount.recursiveReadOnly = stringAt(raw.recursiveReadOnly, 'recursiveReadOnly', place);
  }
  const volumeStatus = objectAt(raw.volumeStatus, 'volumeStatus', place);
  if (volumeStatus !== undefined) mount.volumeStatus = canonicalVolumeStatus(volumeStatus, place.child('volumeStatus'));
  keepUnknownMembers(mount, raw, volumeMountMembers, place);
  return mount;
}

function canonicalVolumeStatus(raw: Raw, place: Place): VolumeStatus {
  const status: VolumeStatus = {};
  const image = objectAt(raw.image, 'image', place);
  if (image !== undefined) {
    const inner = place.child('image');
    const imageRef = stringAt(image.imageRef, 'imageRef', inner);
    status.image = imageRef === '' ? {} : { imageRef };
    keepUnknownMembers(status.image, image, imageVolumeMembers, inner);
  }
  keepUnknownMembers(status, raw, volumeStatusMembers, place);
  return status;
}

function userAt(input: unknown, member: string, place: Place): ContainerUser | undefined {
  const value = objectAt(input, member, place);
  if (value === undefined) return undefined;
  const inner = place.child(member);
  const user: ContainerUser = {};
  const linux = objectAt(value.linux, 'linux', inner);
  if (linux !== undefined) user.linux = canonicalLinuxUser(linux, inner.child('linux'));
  keepUnknownMembers(user, value, userMembers, inner);
  return user;
}

function canonicalLinuxUser(raw: Raw, place: Place): LinuxContainerUser {
  const user: LinuxContainerUser = { uid: int64At(raw.uid, 'uid', place), gid: int64At(raw.gid, 'gid', place) };
  const supplementalGroups = scalarListAt(raw.supplementalGroups, 'supplementalGroups', place, int64At);
  if (supplementalGroups !== undefined) user.supplementalGroups = supplementalGroups;
  keepUnknownMembers(user, raw, linuxUserMembers, place);
  return user;
}

function canonicalResourceStatus(raw: Raw, place: Place): ResourceStatus {
  const status: ResourceStatus = { name: stringAt(raw.name, 'name', place) };
  const resources = listAt(raw.resources, 'resources', place, canonicalResourceHealth);
  if (resources !== undefined) status.resources = resources;
  keepUnknownMembers(status, raw, resourceStatusMembers, place);
  return status;
}

function canonicalResourceHealth(raw: Raw, place: Place): ResourceHealth {
  const health: ResourceHealth = { resourceID: stringAt(raw.resourceID, 'resourceID', place) };
  const state = stringAt(raw.health, 'health', place);
  if (state !== '') health.health = state;
  if (raw.message !== undefined && raw.message !== null) health.message = stringAt(raw.message, 'message', place);
  keepUnknownMembers(health, raw, resourceHealthMembers, place);
  return health;
}
