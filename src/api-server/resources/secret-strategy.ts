import { type FieldError, invalidValue, requiredValue } from '../../kube/validation/field-error.ts';
import { isJSONObject, type JSONObject, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { validateData, validateImmutable } from './config-map-strategy.ts';
import type { StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';

const accountAnnotation = 'kubernetes.io/service-account.name';

/** Source: `registry/core/secret/strategy.go`, `ValidateSecret`. */
export const secretStrategy: Strategy = {
  ...plainStrategy,
  setDefaults: ({ stringData, ...secret }) => ({
    ...withStringData(secret, stringData),
    type: stringOf(secret, 'type') || 'Opaque',
  }),
  validateCreate: (secret) => [...plainStrategy.validateCreate(secret), ...validateSecret(secret)],
  validateUpdate: (next, old, subresource) => [
    ...plainStrategy.validateUpdate(next, old, subresource),
    ...(next.type === old.type ? [] : [invalidValue('type', next.type, 'field is immutable')]),
    ...validateImmutable(next, old, ['data']),
    ...validateSecret(next),
  ],
};

/** `stringData` is never stored: it overwrites `data`. */
function withStringData(secret: JSONObject, stringData: unknown): JSONObject {
  if (!isJSONObject(stringData)) return secret;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  return { ...secret, data: { ...objectOf(secret, 'data'), ...Object.fromEntries(encoded) } };
}

function validateSecret(secret: StoredObject): FieldError[] {
  return [...validateData(secret, [['data', 'base64']], 'data'), ...validateType(secret)];
}

/** What the type of a Secret requires. */
function validateType(secret: StoredObject): FieldError[] {
  const data = objectOf(secret, 'data');
  const missing = (...keys: readonly string[]): FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => requiredValue(`data[${key}]`));
  switch (secret.type) {
    case 'kubernetes.io/service-account-token':
      return secret.metadata.annotations?.[accountAnnotation]
        ? []
        : [requiredValue(`metadata.annotations[${accountAnnotation}]`)];
    case 'kubernetes.io/dockercfg':
      return [...missing('.dockercfg'), ...invalidJSON(data, '.dockercfg')];
    case 'kubernetes.io/dockerconfigjson':
      return [...missing('.dockerconfigjson'), ...invalidJSON(data, '.dockerconfigjson')];
    case 'kubernetes.io/basic-auth': {
      const causes = missing('username', 'password');
      return causes.length === 2 ? causes : [];
    }
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] === '' ? [requiredValue('data[ssh-privatekey]')] : missing('ssh-privatekey');
    case 'kubernetes.io/tls':
      return missing('tls.crt', 'tls.key');
    default:
      return [];
  }
}

function invalidJSON(data: JSONObject, key: string): FieldError[] {
  if (!Object.hasOwn(data, key)) return [];
  try {
    const value: unknown = JSON.parse(Buffer.from(stringOf(data, key), 'base64').toString());
    if (value === null || isJSONObject(value)) return [];
  } catch {
    // The text of the error could show a part of the Secret.
  }
  return [invalidValue(`data[${key}]`, '<secret contents redacted>', 'must be a JSON object')];
}
