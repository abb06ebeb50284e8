import { isIP, isIPv4 } from 'node:net';
import pick from 'lodash/pick.js';
import { allBy } from '../../shared/by-field.ts';
import { isIPAddress, isIPv4Mapped } from '../../kube/objects/ip-address.ts';
import {
  type ContainerStatusesField,
  containerStatusesFields,
} from '../../status-manager/status/container-statuses.ts';
import { foreignStatusFields } from '../../status-manager/status/ownership.ts';
import { containerShouldRestart, hasRestartAllContainersRule } from '../../status-manager/status/container-restart.ts';
import type { Container, PodSpec } from '../../kube/objects/types.ts';
import { type FieldError, forbiddenValue, invalidValue } from '../../kube/validation/field-error.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { isSubdomain, validateQualifiedName } from '../../kube/validation/rules.ts';

/** podIP and podIPs[0] are one field with two names; podIP wins. Source: `SetDefaults_PodStatus`. */
export function withSyncedPodIPs(status: JSONObject): JSONObject {
  const podIP = stringOf(status, 'podIP');
  const podIPs = objectsOf(status, 'podIPs');
  const first = podIPs[0] === undefined ? '' : stringOf(podIPs[0], 'ip');
  if (podIP === first) return status;
  if (podIP === '') return { ...status, podIP: first };
  return { ...status, podIPs: [{ ip: podIP }] };
}

/** Fields that are kept if an update omits them, because an older client does not know them. */
const preservedFields = ['qosClass', 'observedGeneration', ...foreignStatusFields];

/**
 * Drops fields of disabled feature gates, and keeps the fields that an update cannot unset: the QoS
 * class, the observed generations and the statuses of claims.
 * Source: `podStatusStrategy.PrepareForUpdate`.
 */
export function withKnownStatus(sent: JSONObject, before: JSONObject): JSONObject {
  const status = withoutGatedFields(sent);
  const known = { ...pick(before, preservedFields), ...status };
  if (status.conditions === undefined) return known;
  // Several conditions may have the same type: the n-th of a type is the same one as before.
  const byType = allBy(objectsOf(before, 'conditions'), 'type');
  const earlier = new Map([...byType].map(([type, list]) => [type, list.values()]));
  const conditions = objectsOf(status, 'conditions').map((condition) => {
    const { observedGeneration } = earlier.get(condition.type)?.next().value ?? {};
    return observedGeneration === undefined ? condition : { observedGeneration, ...condition };
  });
  return { ...known, conditions };
}

function withoutGatedFields(status: JSONObject): JSONObject {
  const { volumeHealth: _health, nodeAllocatableResourceClaimStatuses: _claims, ...known } = status;
  for (const list of containerStatusesFields) {
    if (known[list] !== undefined) known[list] = objectsOf(known, list).map(withoutVolumeStatus);
  }
  return known;
}

function withoutVolumeStatus(containerStatus: JSONObject): JSONObject {
  if (containerStatus.volumeMounts === undefined) return containerStatus;
  const volumeMounts = objectsOf(containerStatus, 'volumeMounts').map((mount) => {
    const { volumeStatus: _, ...known } = mount;
    return known;
  });
  return { ...containerStatus, volumeMounts };
}

/** Validates a status update of a pod. Source: `validation.ValidatePodStatusUpdate`. */
export function validatePodStatusUpdate(next: StoredObject, old: StoredObject): FieldError[] {
  const status = statusOf(next);
  const before = statusOf(old);
  return [
    ...validateQosClass(status, before),
    ...validateConditions(status),
    ...validateIPs(status),
    ...validateTransitions(next, old),
    ...validateNominatedNode(next, before),
    ...validateClaimStatuses(next),
    ...(Number(status.observedGeneration ?? 0) < 0
      ? [invalidValue('status.observedGeneration', status.observedGeneration, 'must be a non-negative integer')]
      : []),
  ];
}

function validateQosClass(status: JSONObject, before: JSONObject): FieldError[] {
  if (status.qosClass === before.qosClass) return [];
  return [invalidValue('status.qosClass', status.qosClass, 'field is immutable')];
}

function validateConditions(status: JSONObject): FieldError[] {
  return objectsOf(status, 'conditions').flatMap((condition, i) =>
    validateQualifiedName(stringOf(condition, 'type'), `status.conditions[${i}].Type`),
  );
}

function validateIPs(status: JSONObject): FieldError[] {
  const podIPs = objectsOf(status, 'podIPs').map(({ ip }) => String(ip));
  const hostIPs = objectsOf(status, 'hostIPs').map(({ ip }) => String(ip));
  const causes = podIPs.flatMap((ip, i) => validateIP(ip, `status.podIPs[${i}]`));
  causes.push(...validateFamilies(podIPs, 'status.podIPs'));
  if (hostIPs.length === 0) return causes;
  if (hostIPs[0] !== stringOf(status, 'hostIP')) {
    causes.push(invalidValue('status.hostIPs[0].ip', hostIPs[0], 'must be equal to `hostIP`'));
  }
  causes.push(...hostIPs.flatMap((ip, i) => validateIP(ip, `status.hostIPs[${i}]`)));
  return [...causes, ...validateFamilies(hostIPs, 'status.hostIPs')];
}

function validateIP(ip: string, field: string): FieldError[] {
  if (!isIPAddress(ip)) {
    return [invalidValue(field, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')];
  }
  return isIPv4Mapped(ip) ? [invalidValue(field, ip, 'must not be an IPv4-mapped IPv6 address')] : [];
}

function validateFamilies(ips: readonly string[], field: string): FieldError[] {
  const valid = ips.filter((ip) => isIP(ip) !== 0);
  const ofBothFamilies = valid.length === 2 && isIPv4(valid[0] ?? '') !== isIPv4(valid[1] ?? '');
  if (valid.length <= 1 || ofBothFamilies) return [];
  return [
    invalidValue(
      field,
      ips.map((ip) => ({ IP: ip })),
      'may specify no more than one IP for each IP family',
    ),
  ];
}

function validateNominatedNode(next: StoredObject, before: JSONObject): FieldError[] {
  const field = 'status.nominatedNodeName';
  const name = stringOf(statusOf(next), 'nominatedNodeName');
  if (name === stringOf(before, 'nominatedNodeName') || name === '') return [];
  const causes = isSubdomain(name) ? [] : [invalidValue(field, name, 'a lowercase RFC 1123 subdomain is required')];
  if (stringOf(specOf(next), 'nodeName') !== '') {
    causes.push(forbiddenValue(field, 'may not be set on pods that are already bound to a node'));
  }
  return causes;
}

function validateClaimStatuses(next: StoredObject): FieldError[] {
  const claims = objectsOf(specOf(next), 'resourceClaims').map(({ name }) => name);
  return objectsOf(statusOf(next), 'resourceClaimStatuses').flatMap(({ name }, i) => {
    const because = 'must match the name of an entry in `spec.resourceClaims`';
    return claims.includes(name) ? [] : [invalidValue(`status.resourceClaimStatuses[${i}].name`, name, because)];
  });
}

/** A terminated container that will not be restarted cannot leave this state. */
function validateTransitions(next: StoredObject, old: StoredObject): FieldError[] {
  const spec: PodSpec = specOf(old);
  const mayAllRestart = hasRestartAllContainersRule(spec);
  const mayRestart =
    (containers: readonly Container[] | undefined): MayRestart =>
    (name, exitCode) => {
      const container = containers?.find((container) => container.name === name);
      return mayAllRestart || (container !== undefined && containerShouldRestart(container, spec, exitCode));
    };
  return [
    ...validateListTransitions('containerStatuses', next, old, mayRestart(spec.containers)),
    ...validateListTransitions('initContainerStatuses', next, old, mayRestart(spec.initContainers)),
    ...validateListTransitions('ephemeralContainerStatuses', next, old, () => false),
  ];
}

type MayRestart = (name: unknown, exitCode: number) => boolean;

function validateListTransitions(
  list: ContainerStatusesField,
  next: StoredObject,
  old: StoredObject,
  mayRestart: MayRestart,
): FieldError[] {
  const notTerminated = objectsOf(statusOf(next), list).filter((status) => !isJSONObject(terminatedOf(status)));
  return objectsOf(statusOf(old), list).flatMap((status, i) => {
    const terminated = terminatedOf(status);
    if (!isJSONObject(terminated) || !notTerminated.some(({ name }) => name === status.name)) return [];
    if (mayRestart(status.name, Number(terminated.exitCode))) return [];
    return [forbiddenValue(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state')];
  });
}

function terminatedOf(containerStatus: JSONObject): unknown {
  return objectOf(containerStatus, 'state').terminated;
}
