import type { Pod } from './types.ts';

/** True if this object is a later one of the API server's than that with this resource version, as far as the two can be compared. */
export function isNewer({ metadata }: Pod, resourceVersion: string | undefined): boolean {
  return Number(metadata?.resourceVersion) > Number(resourceVersion);
}
