import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate } from '../storage/stored-metadata.ts';
import type { Strategy } from './strategy.ts';
import { type FieldError, invalidValue, requiredValue } from '../../kube/validation/field-error.ts';
import { objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { type StoredObject, specOf, statusOf } from '../storage/objects.ts';
import { validateQualifiedName, validateNotNegative, validateDomainLabel } from '../../kube/validation/rules.ts';

/** The strategy of a kind without its own rules. */
export const plainStrategy: Strategy = {
  setDefaults: (fields) => fields,
  prepareForCreate: (object) => object,
  prepareForUpdate: (next) => next,
  validateCreate: (object) => validateMetadata(object.metadata),
  validateUpdate: (next, old) => [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)],
};

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

/** Source: `registry/core/namespace/strategy.go`. */
export const namespaceStrategy: Strategy = {
  ...plainStrategy,
  prepareForCreate: (namespace) => ({
    ...withNameLabel(namespace),
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  prepareForUpdate: (next, old, subresource) => ({
    ...withNameLabel(next),
    spec: specOf(old),
    status: subresource === 'status' ? statusOf(next) : statusOf(old),
  }),
  validateCreate: ({ metadata }) => validateMetadata(metadata, validateDomainLabel),
  validateUpdate: (next, old) => [
    ...validateMetadata(next.metadata, validateDomainLabel),
    ...validateMetadataUpdate(next, old),
    ...validatePhase(next),
  ],
};

/** Every namespace can be selected by its name. */
function withNameLabel(namespace: StoredObject): StoredObject {
  const { metadata } = namespace;
  const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
  return { ...namespace, metadata: { ...metadata, labels } };
}

/** Source: `ValidateNamespaceStatusUpdate`. */
function validatePhase(namespace: StoredObject): FieldError[] {
  const wanted = namespace.metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
  const phase = stringOf(statusOf(namespace), 'phase') || 'Active';
  if (phase === wanted) return [];
  const state = wanted === 'Active' ? 'empty' : 'not empty';
  return [invalidValue('status.Phase', phase, `may only be '${wanted}' if \`deletionTimestamp\` is ${state}`)];
}
