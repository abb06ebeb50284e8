import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate } from '../storage/stored-metadata.ts';
import type { Strategy } from './strategy.ts';

/** The strategy of a kind without its own rules. */
export const plainStrategy: Strategy = {
  setDefaults: (fields) => fields,
  prepareForCreate: (object) => object,
  prepareForUpdate: (next) => next,
  validateCreate: (object) => validateMetadata(object.metadata),
  validateUpdate: (next, old) => [...validateMetadata(next.metadata), ...validateMetadataUpdate(next, old)],
};
