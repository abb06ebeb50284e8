import type { ResourceDefinition } from '../resources/resources.ts';
import type { SubresourceName } from '../resources/subresources.ts';

/** One object or subresource. */
export interface Target {
  readonly definition: ResourceDefinition;
  /** `''` for a resource without namespaces. */
  readonly namespace: string;
  readonly name: string;
  /** `''` for the object itself. */
  readonly subresource: SubresourceName | '';
}
