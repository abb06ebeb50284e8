import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from './field-error.ts';
import { isJSONObject, type JSONObject, numberOf, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';
import { probes, validateLifecycle } from './lifecycle.ts';
import { validateResources } from './resource-requirements.ts';
import {
  forbidFields,
  portNameProblems,
  validateDomainLabel,
  validateEnum,
  validateID,
  validateRange,
  validateRequired,
} from './rules.ts';
import { validateVolumeMounts } from './volumes.ts';
import { unreachable } from '../../shared/unreachable.ts';

const maxRestartRules = 20;
const maxExitCodes = 255;
/** Fields that are forbidden in an ephemeral container. */
const forEphemeral = ['ports', 'lifecycle', ...probes, 'resizePolicy', 'restartPolicy'];

/** All containers of a pod. Source: `validateContainers`, `validateInitContainers`, `validateEphemeralContainers`. */
export function validateContainers(spec: JSONObject): FieldError[] {
  const defined = { claims: namesIn(spec, 'resourceClaims'), volumes: namesIn(spec, 'volumes') };
  const containers = objectsOf(spec, 'containers');
  const causes = containers.length === 0 ? [requiredValue('spec.containers')] : [];
  const names = new Set<string>();
  for (const [i, container] of containers.entries()) {
    const field = `spec.containers[${i}]`;
    causes.push(...validateContainer(container, field, spec, defined), ...validateName(container, field, names));
    causes.push(...validateLifecycle(container, field), ...validateRestartPolicy(container, field));
  }
  causes.push(...validateHostPorts(containers, 'spec.containers'));
  for (const [i, container] of objectsOf(spec, 'initContainers').entries()) {
    const field = `spec.initContainers[${i}]`;
    causes.push(...validateContainer(container, field, spec, defined), ...validateName(container, field, names));
    causes.push(...validateHostPorts([container], 'spec.initContainers'), ...validateRestartPolicy(container, field));
    if (container.restartPolicy === 'Always') causes.push(...validateLifecycle(container, field));
    else {
      const because = 'may not be set for init containers without restartPolicy=Always';
      causes.push(...forbidFields(container, ['lifecycle', ...probes], field, because));
    }
  }
  return [...causes, ...validateEphemeralContainers(spec, defined, names)];
}

/** What the containers of a pod may refer to, by name. */
interface Defined {
  readonly claims: ReadonlySet<unknown>;
  readonly volumes: ReadonlySet<unknown>;
}

function namesIn(spec: JSONObject, field: string): ReadonlySet<unknown> {
  return new Set(objectsOf(spec, field).map(({ name }) => name));
}

function validateEphemeralContainers(spec: JSONObject, defined: Defined, names: Set<string>): FieldError[] {
  const others = new Set(names);
  return objectsOf(spec, 'ephemeralContainers').flatMap((container, i) => {
    const field = `spec.ephemeralContainers[${i}]`;
    const target = stringOf(container, 'targetContainerName');
    return [
      ...validateContainer(container, field, spec, defined),
      ...validateName(container, field, names),
      ...(target === '' || others.has(target) ? [] : [notFoundValue(`${field}.targetContainerName`, target)]),
      ...forbidFields(container, forEphemeral, field, 'cannot be set for an Ephemeral Container'),
      ...(Object.keys(objectOf(container, 'resources')).length === 0
        ? []
        : [forbiddenValue(`${field}.resources`, 'cannot be set for an Ephemeral Container')]),
    ];
  });
}

function validateName({ name }: JSONObject, field: string, names: Set<string>): FieldError[] {
  const isKnown = names.has(String(name));
  names.add(String(name));
  return isKnown && name !== '' ? [duplicateValue(`${field}.name`, name)] : [];
}

/** Source: `validateContainerCommon`. */
function validateContainer(container: JSONObject, field: string, spec: JSONObject, defined: Defined): FieldError[] {
  const name = stringOf(container, 'name');
  const image = stringOf(container, 'image');
  const isTrimmed = image === image.trim();
  return [
    ...(name === '' ? [requiredValue(`${field}.name`)] : validateDomainLabel(name, `${field}.name`)),
    ...(image === '' ? [requiredValue(`${field}.image`)] : []),
    ...(isTrimmed ? [] : [invalidValue(`${field}.image`, image, 'must not have leading or trailing whitespace')]),
    ...validateEnum(
      container.terminationMessagePolicy,
      ['File', 'FallbackToLogsOnError'],
      `${field}.terminationMessagePolicy`,
    ),
    ...validateEnum(container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never'], `${field}.imagePullPolicy`),
    ...validatePorts(container, field, spec),
    ...objectsOf(container, 'env').flatMap((variable, i) => validateVariable(variable, `${field}.env[${i}]`)),
    ...validateVolumeMounts(container, field, defined.volumes),
    ...validateResources(objectOf(container, 'resources'), `${field}.resources`, 'container', defined.claims),
    ...validateResizePolicies(container, `${field}.resizePolicy`),
    ...validateSecurityContext(objectOf(container, 'securityContext'), `${field}.securityContext`),
  ];
}

function validatePorts(container: JSONObject, field: string, spec: JSONObject): FieldError[] {
  const names = new Set<string>();
  return objectsOf(container, 'ports').flatMap((port, i) => {
    const at = `${field}.ports[${i}]`;
    const name = stringOf(port, 'name');
    const problems = name === '' ? [] : portNameProblems(name);
    const causes = problems.map((because) => invalidValue(`${at}.name`, name, because));
    if (problems.length === 0 && names.has(name)) causes.push(duplicateValue(`${at}.name`, name));
    if (name !== '') names.add(name);
    if (port.containerPort === 0) causes.push(requiredValue(`${at}.containerPort`));
    else causes.push(...validateRange(port.containerPort, 1, 65_535, `${at}.containerPort`));
    causes.push(...validateRange(port.hostPort, 1, 65_535, `${at}.hostPort`));
    causes.push(...validateEnum(port.protocol, ['SCTP', 'TCP', 'UDP'], `${at}.protocol`));
    if (spec.hostNetwork === true && port.hostPort !== port.containerPort) {
      const because = 'must match `containerPort` when `hostNetwork` is true';
      causes.push(invalidValue(`${at}.hostPort`, port.hostPort, because));
    }
    return causes;
  });
}

function validateHostPorts(containers: readonly JSONObject[], field: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, i) =>
    objectsOf(container, 'ports').flatMap((port, j) => {
      if (port.hostPort === undefined) return [];
      const text = [stringOf(port, 'protocol'), stringOf(port, 'hostIP'), numberOf(port, 'hostPort')].join('/');
      if (taken.has(text)) return [duplicateValue(`${field}[${i}].ports[${j}].hostPort`, text)];
      taken.add(text);
      return [];
    }),
  );
}

/** The container's own restart policy and rules. Source: `validateContainerRestartPolicy`. */
function validateRestartPolicy(container: JSONObject, field: string): FieldError[] {
  const { restartPolicy } = container;
  const rules = objectsOf(container, 'restartPolicyRules');
  const errors: FieldError[] = [];
  if (restartPolicy !== undefined) {
    errors.push(...validateEnum(restartPolicy, ['Always', 'Never', 'OnFailure'], `${field}.restartPolicy`));
  } else if (rules.length > 0) {
    errors.push(requiredValue(`${field}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > maxRestartRules) {
    errors.push(tooMany(`${field}.restartPolicyRules`, rules.length, maxRestartRules));
  }
  return [...errors, ...rules.flatMap((rule, i) => validateRestartRule(rule, `${field}.restartPolicyRules[${i}]`))];
}

function validateRestartRule({ action, exitCodes }: JSONObject, field: string): FieldError[] {
  const errors = ['Restart', 'RestartAllContainers'].includes(String(action))
    ? []
    : [unsupportedValue(`${field}.action`, action, ['Restart', 'RestartAllContainers'])];
  if (!isJSONObject(exitCodes)) return [...errors, requiredValue(`${field}.exitCodes`, 'must be specified')];
  const { operator, values } = exitCodes;
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(unsupportedValue(`${field}.exitCodes.operator`, operator, ['In', 'NotIn']));
  }
  if (Array.isArray(values) && values.length > maxExitCodes) {
    errors.push(tooMany(`${field}.exitCodes.values`, values.length, maxExitCodes));
  }
  return errors;
}

function validateResizePolicies(container: JSONObject, field: string): FieldError[] {
  return objectsOf(container, 'resizePolicy').flatMap(({ resourceName, restartPolicy }) => [
    ...validateEnum(resourceName, ['cpu', 'memory'], field),
    ...validateEnum(restartPolicy, ['NotRequired', 'RestartContainer'], field),
  ]);
}

function validateSecurityContext(context: JSONObject, field: string): FieldError[] {
  const causes = [
    ...validateID(context.runAsUser, `${field}.runAsUser`),
    ...validateID(context.runAsGroup, `${field}.runAsGroup`),
  ];
  if (context.allowPrivilegeEscalation === false && context.privileged === true) {
    const because = 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true';
    causes.push(invalidValue(field, null, because));
  }
  return causes;
}

const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;
const fieldPaths = new Set([
  ...['name', 'namespace', 'uid', 'labels', 'annotations'].map((name) => `metadata.${name}`),
  ...['nodeName', 'serviceAccountName', 'restartPolicy', 'schedulerName'].map((name) => `spec.${name}`),
  ...['phase', 'hostIP', 'hostIPs', 'podIP', 'podIPs'].map((name) => `status.${name}`),
]);

/** One environment variable. Source: `ValidateEnv`. */
function validateVariable(variable: JSONObject, field: string): FieldError[] {
  const name = stringOf(variable, 'name');
  const causes: FieldError[] = [];
  if (name === '') causes.push(requiredValue(`${field}.name`));
  else if (!/^[ -<>-~]+$/.test(name)) {
    const because = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    causes.push(invalidValue(`${field}.name`, name, because));
  }
  const { valueFrom } = variable;
  if (!isJSONObject(valueFrom)) return causes;
  const at = `${field}.valueFrom`;
  const sources = valueSources.filter((source) => isJSONObject(valueFrom[source]));
  if (stringOf(variable, 'value') !== '') {
    return [...causes, invalidValue(at, '', 'may not be specified when `value` is not empty')];
  }
  if (sources.length === 0) {
    const list = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    return [...causes, invalidValue(at, '', `must specify one of: ${list}`)];
  }
  if (sources.length > 1) {
    return [...causes, invalidValue(at, '', 'may not have more than one field specified at a time')];
  }
  return [...causes, ...validateValueSource(sources[0]!, objectOf(valueFrom, sources[0]!), `${at}.${sources[0]}`)];
}

function validateValueSource(source: (typeof valueSources)[number], ref: JSONObject, field: string): FieldError[] {
  switch (source) {
    case 'fieldRef': {
      const path = stringOf(ref, 'fieldPath');
      if (path === '') return [requiredValue(`${field}.fieldPath`)];
      if (fieldPaths.has(path) || /^metadata\.(labels|annotations)\['.+'\]$/.test(path)) return [];
      return [
        invalidValue(`${field}.fieldPath`, path, `error converting fieldPath: field label not supported: ${path}`),
      ];
    }
    case 'resourceFieldRef':
      return validateRequired(ref, ['resource'], field);
    case 'configMapKeyRef':
    case 'secretKeyRef':
      return validateRequired(ref, ['name', 'key'], field);
    case 'fileKeyRef':
      return validateRequired(ref, ['volumeName', 'path', 'key'], field);
    default:
      return unreachable(source);
  }
}
