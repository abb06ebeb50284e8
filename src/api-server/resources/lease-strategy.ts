import { type FieldError, invalidValue } from '../../kube/validation/field-error.ts';
import { specOf, type StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';
import { validateNotNegative } from '../../kube/validation/rules.ts';

/** Source: `registry/coordination/lease/strategy.go`. */
export const leaseStrategy: Strategy = {
  ...plainStrategy,
  prepareForCreate: withoutGatedFields,
  prepareForUpdate: withoutGatedFields,
  createOnUpdate: true,
  conditionalUpdateOnly: true,
  validateCreate: (lease) => [...plainStrategy.validateCreate(lease), ...validateLeaseSpec(lease)],
  validateUpdate: (next, old, subresource) => [
    ...plainStrategy.validateUpdate(next, old, subresource),
    ...validateLeaseSpec(next),
  ],
};

/** The feature gate CoordinatedLeaderElection is off. */
function withoutGatedFields(lease: StoredObject): StoredObject {
  const { strategy: _strategy, preferredHolder: _preferredHolder, ...spec } = specOf(lease);
  return { ...lease, spec };
}

/** Source: `ValidateLeaseSpec`. */
function validateLeaseSpec(lease: StoredObject): FieldError[] {
  const spec = specOf(lease);
  const { leaseDurationSeconds: duration } = spec;
  const causes = validateNotNegative(spec.leaseTransitions, 'spec.leaseTransitions');
  if (duration !== undefined && Number(duration) <= 0) {
    causes.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  return causes;
}
