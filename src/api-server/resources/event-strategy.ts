import { type FieldError, invalidValue, requiredValue } from '../../kube/validation/field-error.ts';
import { objectOf, stringOf } from '../../kube/objects/json-object.ts';
import type { StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';
import { validateQualifiedName } from '../../kube/validation/rules.ts';

const limits = { reportingInstance: 128, action: 128, reason: 128, message: 1024 };
/** Source: `registry/core/event/strategy.go`. */
export const eventStrategy: Strategy = {
  ...plainStrategy,
  createOnUpdate: true,
  validateCreate: validateEvent,
  validateUpdate: validateEvent,
};

/** Source: `legacyValidateEvent`. */
function validateEvent(event: StoredObject): FieldError[] {
  const { namespace = '' } = event.metadata;
  const involved = stringOf(objectOf(event, 'involvedObject'), 'namespace');
  const mismatch = invalidValue('involvedObject.namespace', involved, 'does not match event.namespace');
  if (event.eventTime === null) {
    const isSame = involved === '' ? namespace === 'default' : involved === namespace;
    return isSame ? [] : [mismatch];
  }
  const causes = involved === '' && namespace !== 'default' && namespace !== 'kube-system' ? [mismatch] : [];
  const controller = stringOf(event, 'reportingComponent');
  if (controller === '') causes.push(requiredValue('reportingComponent'));
  causes.push(...validateQualifiedName(controller, 'reportingComponent'));
  for (const [name, limit] of Object.entries(limits)) {
    const text = stringOf(event, name);
    if (text === '' && name !== 'message') causes.push(requiredValue(name));
    if (text.length > limit) causes.push(invalidValue(name, '', `can have at most ${limit} characters`));
  }
  return causes;
}
