import { type FieldError, invalidValue, requiredValue } from './field-error.ts';
import { isJSONObject, type JSONObject, objectOf, stringOf } from '../objects/json-object.ts';
import { unreachable } from '../../shared/unreachable.ts';
import { validateRequired } from './rules.ts';

const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;
const fieldPaths = new Set([
  ...['name', 'namespace', 'uid', 'labels', 'annotations'].map((name) => `metadata.${name}`),
  ...['nodeName', 'serviceAccountName', 'restartPolicy', 'schedulerName'].map((name) => `spec.${name}`),
  ...['phase', 'hostIP', 'hostIPs', 'podIP', 'podIPs'].map((name) => `status.${name}`),
]);

/** One environment variable. Source: `ValidateEnv`. */
export function validateVariable(variable: JSONObject, field: string): FieldError[] {
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
