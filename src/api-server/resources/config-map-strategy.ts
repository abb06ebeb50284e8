import isEqual from 'lodash/isEqual.js';
import { type FieldError, forbiddenValue, invalidValue, tooLong } from '../../kube/validation/field-error.ts';
import { objectOf } from '../../kube/objects/json-object.ts';
import type { StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';

/** Of all values of a ConfigMap or a Secret. Source: `MaxSecretSize`. */
const maxDataBytes = 1024 * 1024;
const maxKeyLength = 253;

/** Source: `registry/core/configmap/strategy.go`, `ValidateConfigMap`. */
export const configMapStrategy: Strategy = {
  ...plainStrategy,
  validateCreate: (configMap) => [...plainStrategy.validateCreate(configMap), ...validateConfigMap(configMap)],
  validateUpdate: (next, old, subresource) => [
    ...plainStrategy.validateUpdate(next, old, subresource),
    ...validateImmutable(next, old, ['data', 'binaryData']),
    ...validateConfigMap(next),
  ],
};

function validateConfigMap(configMap: StoredObject): FieldError[] {
  const binary = objectOf(configMap, 'binaryData');
  const duplicates = Object.keys(objectOf(configMap, 'data')).filter((key) => Object.hasOwn(binary, key));
  return [
    ...duplicates.map((key) => invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    // As in Kubernetes, the error for the size names no field.
    ...validateData(configMap, [['data', 'utf8'] as const, ['binaryData', 'base64'] as const], '[]'),
  ];
}

/**
 * Validates the keys of these fields, and the size of all their values together.
 * @param sizeField the field that is named if they are too large
 */
export function validateData(
  object: StoredObject,
  fields: readonly (readonly [field: string, encoding: 'utf8' | 'base64'])[],
  sizeField: string,
): FieldError[] {
  let bytes = 0;
  const causes = fields.flatMap(([field, encoding]) =>
    Object.entries(objectOf(object, field)).flatMap(([key, value]) => {
      bytes += Buffer.byteLength(String(value), encoding);
      return keyProblems(key).map((because) => invalidValue(`${field}[${key}]`, key, because));
    }),
  );
  return bytes > maxDataBytes ? [...causes, tooLong(sizeField, maxDataBytes)] : causes;
}

/** Source: `IsConfigMapKey`. */
function keyProblems(key: string): string[] {
  return [
    ...(key.length > maxKeyLength ? [`must be no more than ${maxKeyLength} characters`] : []),
    ...(/^[-._a-zA-Z0-9]+$/.test(key)
      ? []
      : [
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ]),
    ...(key === '.' ? ["must not be '.'"] : []),
    ...(key === '..' ? ["must not be '..'"] : key.startsWith('..') ? ["must not start with '..'"] : []),
  ];
}

/** An object with `immutable: true` keeps it, and these fields. */
export function validateImmutable(next: StoredObject, old: StoredObject, fields: readonly string[]): FieldError[] {
  if (old.immutable !== true) return [];
  const changed = fields.filter((field) => !isEqual(next[field], old[field]));
  return [...(next.immutable === true ? [] : ['immutable']), ...changed].map((field) =>
    forbiddenValue(field, 'field is immutable when `immutable` is set'),
  );
}
