import { requireObject } from '../../shared/errors.ts';
import type { Mutable, PodStatus, VolumeHealthCondition } from '../../kube/objects/types.ts';
import { DecodeContext } from './canonical-reader.ts';
import type { TimeFormatter } from '../../shared/time.ts';
import { isObject } from '../../shared/json.ts';
import { createObjectReader } from './status-field.ts';
import { healthConditions, podStatusFields } from './status-fields.ts';

/** The mode and the name under which a value is read; see `DecodeContext`. */
export interface CanonicalOptions {
  /** Throw for an invalid value (a caller's input) instead of keeping it (a server's object). Default true. */
  readonly strict?: boolean;
  /** Name of the value in errors; default `status`. */
  readonly name?: string;
  /** Keep only the last of several list entries with the same key. Default: as `strict`. */
  readonly unique?: boolean;
}

const readPodStatus = createObjectReader(podStatusFields);

/**
 * A copy of the status in canonical form, the format of Go's typed structs: equivalent statuses are
 * equal and result in the same patch. Shares nothing mutable with `input`. If the same `times` is
 * passed to each call, equal times share one string.
 * @throws StatusManagerError INVALID_ARGUMENT with the field's path, when strict
 */
export function canonicalPodStatus(
  input: unknown,
  options: CanonicalOptions = {},
  times?: TimeFormatter,
): Mutable<PodStatus> {
  requireObject('options', options);
  const { strict = true, name = 'status', unique = strict } = options;
  const context = new DecodeContext(strict, name, times, unique);
  if (!isObject(input)) return strict ? context.refuse('', 'an object', input) : {};
  return readPodStatus(input, context);
}

/** Health conditions of a volume in canonical form; undefined for none. */
export function canonicalVolumeHealthConditions(
  input: unknown,
  options: CanonicalOptions,
): VolumeHealthCondition[] | undefined {
  return healthConditions.read(input, options.name ?? 'conditions', new DecodeContext(options.strict ?? true, ''));
}
