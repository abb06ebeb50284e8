import { type FieldError, invalidValue } from '../../kube/validation/field-error.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { stringOf } from '../../kube/objects/json-object.ts';
import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate } from '../storage/stored-metadata.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';
import { validateDomainLabel } from '../../kube/validation/rules.ts';

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
