import { isIPAddress } from '../objects/ip-address.ts';
import { type FieldError, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from './field-error.ts';
import { validateContainers } from './containers.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';
import { validateResources } from './resource-requirements.ts';
import {
  labelValueProblems,
  validateDomainLabel,
  validateEnum,
  validateID,
  validateLabels,
  validateQualifiedName,
  validateRange,
  validateRequired,
  validateSubdomain,
} from './rules.ts';
import { validateVolumes } from './volumes.ts';

const maxInt32 = 2 ** 31 - 1;
const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

/**
 * Validates a pod's spec. Affinity terms and the DNS configuration are not checked, because this
 * library neither schedules pods nor resolves names. Source: `ValidatePodSpec`.
 */
export function validatePodSpec(spec: JSONObject): FieldError[] {
  const claims = new Set(objectsOf(spec, 'resourceClaims').map(({ name }) => name));
  return [
    ...validateVolumes(spec),
    ...validateContainers(spec),
    ...(isJSONObject(spec.resources) ? validateResources(spec.resources, 'spec.resources', 'pod', claims) : []),
    ...validateEnum(spec.restartPolicy, ['Always', 'OnFailure', 'Never'], 'spec.restartPolicy'),
    ...validateDNS(spec),
    ...validateLabels(objectOf(spec, 'nodeSelector'), 'spec.nodeSelector'),
    ...validateNames(spec),
    ...validateHostNamespaces(spec),
    ...validateRange(spec.activeDeadlineSeconds, 1, maxInt32, 'spec.activeDeadlineSeconds'),
    ...objectsOf(spec, 'tolerations').flatMap((one, i) => validateToleration(one, `spec.tolerations[${i}]`)),
    ...validateLists(spec),
  ];
}

/** Validates fields that are forbidden only in a new pod. Source: `ValidatePodCreate`. */
export function validatePodCreate(spec: JSONObject): FieldError[] {
  const causes: FieldError[] = [];
  if (objectsOf(spec, 'ephemeralContainers').length > 0) {
    causes.push(forbiddenValue('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if (stringOf(spec, 'nodeName') !== '' && objectsOf(spec, 'schedulingGates').length > 0) {
    causes.push(forbiddenValue('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return causes;
}

function validateDNS(spec: JSONObject): FieldError[] {
  const supported = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
  const causes = validateEnum(spec.dnsPolicy, supported, 'spec.dnsPolicy');
  if (spec.dnsPolicy !== 'None') return causes;
  if (spec.dnsConfig === undefined) {
    causes.push(requiredValue('spec.dnsConfig', 'must provide `dnsConfig` when `dnsPolicy` is None'));
  } else if (!Array.isArray(objectOf(spec, 'dnsConfig').nameservers)) {
    const because = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    causes.push(requiredValue('spec.dnsConfig.nameservers', because));
  }
  return causes;
}

function validateNames(spec: JSONObject): FieldError[] {
  const causes: FieldError[] = [];
  for (const field of ['nodeName', 'serviceAccountName', 'priorityClassName', 'runtimeClassName']) {
    const name = stringOf(spec, field);
    if (name !== '') causes.push(...validateSubdomain(name, `spec.${field}`));
  }
  for (const field of ['hostname', 'subdomain']) {
    const name = stringOf(spec, field);
    if (name !== '') causes.push(...validateDomainLabel(name, `spec.${field}`));
  }
  const os = objectOf(spec, 'os').name;
  if (os !== undefined && os !== 'linux' && os !== 'windows') {
    causes.push(unsupportedValue('spec.os', os, ['linux', 'windows']));
  }
  return causes;
}

function validateHostNamespaces(spec: JSONObject): FieldError[] {
  const context = objectOf(spec, 'securityContext');
  const field = 'spec.securityContext';
  const causes = ['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((name) =>
    validateID(context[name], `${field}.${name}`),
  );
  for (const [i, sysctl] of objectsOf(context, 'sysctls').entries()) {
    const name = stringOf(sysctl, 'name');
    const because = `must have at most 253 characters and match regex ${sysctlName.source}`;
    if (!sysctlName.test(name)) causes.push(invalidValue(`${field}.sysctls[${i}].name`, name, because));
  }
  if (spec.hostPID === true && spec.shareProcessNamespace === true) {
    const because = 'ShareProcessNamespace and HostPID cannot both be enabled';
    causes.push(invalidValue('spec.shareProcessNamespace', true, because));
  }
  return causes;
}

/** Source: `ValidateTolerations`. */
function validateToleration(toleration: JSONObject, field: string): FieldError[] {
  const [key, value] = [stringOf(toleration, 'key'), stringOf(toleration, 'value')];
  const [operator, effect] = [stringOf(toleration, 'operator'), stringOf(toleration, 'effect')];
  const causes = key === '' ? [] : validateQualifiedName(key, `${field}.key`);
  if (key === '' && operator !== 'Exists') {
    const because = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    causes.push(invalidValue(`${field}.operator`, operator, because));
  }
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    const because = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    causes.push(invalidValue(`${field}.effect`, effect, because));
  }
  if (operator === 'Exists') {
    const because = "value must be empty when `operator` is 'Exists'";
    if (value !== '') causes.push(invalidValue(`${field}.operator`, value, because));
  } else if (operator === 'Equal' || operator === '') {
    const problems = labelValueProblems(value);
    if (problems.length > 0) causes.push(invalidValue(`${field}.operator`, value, problems.join(';')));
  } else {
    causes.push(unsupportedValue(`${field}.operator`, operator, ['Equal', 'Exists']));
  }
  return effect === '' ? causes : [...causes, ...validateEnum(effect, taintEffects, `${field}.effect`)];
}

function validateLists(spec: JSONObject): FieldError[] {
  const each = (list: string, validate: (one: JSONObject, field: string) => FieldError[]) =>
    objectsOf(spec, list).flatMap((one, i) => validate(one, `spec.${list}[${i}]`));
  return [
    ...each('readinessGates', ({ conditionType }, field) =>
      validateQualifiedName(String(conditionType), `${field}.conditionType`),
    ),
    ...each('schedulingGates', ({ name }, field) => validateQualifiedName(String(name), `${field}.name`)),
    ...each('hostAliases', ({ ip }, field) => {
      const because = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
      return isIPAddress(String(ip)) ? [] : [invalidValue(`${field}.ip`, ip, because)];
    }),
    ...each('topologySpreadConstraints', validateSpread),
    ...validateNodeAffinity(objectOf(objectOf(spec, 'affinity'), 'nodeAffinity')),
  ];
}

function validateSpread(constraint: JSONObject, field: string): FieldError[] {
  const skew = Number(constraint.maxSkew ?? 0);
  const supported = ['DoNotSchedule', 'ScheduleAnyway'];
  return [
    ...(skew > 0 ? [] : [invalidValue(`${field}.maxSkew`, skew, 'must be greater than zero')]),
    ...validateRequired(constraint, ['topologyKey'], field),
    ...validateEnum(constraint.whenUnsatisfiable, supported, `${field}.whenUnsatisfiable`),
  ];
}

function validateNodeAffinity(affinity: JSONObject): FieldError[] {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (!isJSONObject(required) || objectsOf(required, 'nodeSelectorTerms').length > 0) return [];
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  return [requiredValue(field, 'must have at least one node selector term')];
}
