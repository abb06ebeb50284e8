import { refuseArgument } from '../../shared/errors.ts';
import { type AccessPart, allAccessParts } from './permissions.ts';

/** @throws StatusManagerError INVALID_ARGUMENT */
export function requireParts(parts: unknown): asserts parts is readonly AccessPart[] {
  const isValid =
    Array.isArray(parts) && parts.length > 0 && parts.every((part) => allAccessParts.includes(part as AccessPart));
  if (!isValid) refuseArgument('parts', `a list of ${allAccessParts.map((part) => `'${part}'`).join(', ')}`, parts);
}
