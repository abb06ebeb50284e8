import { objectsOf } from '../../kube/objects/json-object.ts';
import type { StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';

/** Source: `registry/core/serviceaccount/strategy.go`. */
export const serviceAccountStrategy: Strategy = {
  ...plainStrategy,
  prepareForCreate: withNamesOfSecrets,
  prepareForUpdate: withNamesOfSecrets,
};

/** Of a reference to a Secret, only the name is kept. */
function withNamesOfSecrets(account: StoredObject): StoredObject {
  const secrets = objectsOf(account, 'secrets').map(({ name }) => (name === undefined ? {} : { name }));
  return secrets.length === 0 ? account : { ...account, secrets };
}
