import { ApiError } from '../../client/api-error.ts';
import { isObject } from '../../status/json.ts';
import type { Pod } from '../../types.ts';

/** Reads a PodList; throws an `ApiError` `invalid-response` for anything else. */
export function readPodList(answer: unknown): { readonly pods: readonly Pod[]; readonly resourceVersion: string } {
  if (isObject(answer) && isObject(answer['metadata'])) {
    const { resourceVersion } = answer['metadata'];
    // Go writes an empty list as null now and then.
    const items = answer['items'] ?? [];
    if (typeof resourceVersion === 'string' && resourceVersion !== '' && Array.isArray(items)) {
      return { pods: items as Pod[], resourceVersion };
    }
  }
  throw new ApiError('the answer is no list of pods', { kind: 'invalid-response' });
}
