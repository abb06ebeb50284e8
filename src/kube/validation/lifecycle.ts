import { type FieldError, forbiddenValue, invalidValue, requiredValue } from './field-error.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';
import { unreachable } from '../../shared/unreachable.ts';
import { validateEnum, validateNotNegative, validatePort } from './rules.ts';

export const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;
const headerName = /^[-A-Za-z0-9]+$/;

/** The hooks and probes of a container. Source: `validateLifecycle`, `validateProbe`. */
export function validateLifecycle(container: JSONObject, field: string): FieldError[] {
  const lifecycle = objectOf(container, 'lifecycle');
  const causes: FieldError[] = [];
  for (const hook of ['postStart', 'preStop']) {
    const handler = lifecycle[hook];
    if (isJSONObject(handler)) causes.push(...validateHandler(handler, `${field}.lifecycle.${hook}`));
  }
  for (const name of probes) {
    const probe = container[name];
    if (isJSONObject(probe)) causes.push(...validateProbe(probe, name, `${field}.${name}`));
  }
  return causes;
}

function validateProbe(probe: JSONObject, name: (typeof probes)[number], field: string): FieldError[] {
  const causes = validateHandler(probe, field);
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ]) {
    causes.push(...validateNotNegative(probe[name], `${field}.${name}`));
  }
  const { terminationGracePeriodSeconds: grace, successThreshold } = probe;
  if (grace !== undefined && Number(grace) <= 0) {
    causes.push(invalidValue(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  }
  if (name === 'readinessProbe') {
    if (grace === undefined) return causes;
    return [
      ...causes,
      invalidValue(`${field}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'),
    ];
  }
  if (successThreshold === 1) return causes;
  return [...causes, invalidValue(`${field}.successThreshold`, successThreshold, 'must be 1')];
}

/** Source: `validateHandler`. */
function validateHandler(handler: JSONObject, field: string): FieldError[] {
  const [first, ...more] = handlers.filter((name) => isJSONObject(handler[name]));
  if (first === undefined) return [requiredValue(field, 'must specify a handler type')];
  return [
    ...validateAction(first, objectOf(handler, first), `${field}.${first}`),
    ...more.map((name) => forbiddenValue(`${field}.${name}`, 'may not specify more than 1 handler type')),
  ];
}

function validateAction(name: (typeof handlers)[number], action: JSONObject, field: string): FieldError[] {
  switch (name) {
    case 'exec':
      return Array.isArray(action.command) ? [] : [requiredValue(`${field}.command`)];
    case 'httpGet':
      return [
        ...validatePort(action.port, `${field}.port`),
        ...validateEnum(action.scheme, ['HTTP', 'HTTPS'], `${field}.scheme`),
        ...objectsOf(action, 'httpHeaders')
          .filter((header) => !headerName.test(stringOf(header, 'name')))
          .map((header) => {
            const because = `a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`;
            return invalidValue(`${field}.httpHeaders`, header.name, because);
          }),
      ];
    case 'tcpSocket':
    case 'grpc':
      return validatePort(action.port, `${field}.port`);
    case 'sleep':
      return validateNotNegative(action.seconds, `${field}.seconds`);
    default:
      return unreachable(name);
  }
}
