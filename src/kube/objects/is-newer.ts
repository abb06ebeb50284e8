import type { Pod } from './types.ts';

/** True if the object has a higher resource version; false if one of the two versions is not a number. */
export function isNewer({ metadata }: Pod, resourceVersion: string | undefined): boolean {
  return Number(metadata?.resourceVersion) > Number(resourceVersion);
}
