import { quantityValue } from '../../kube/objects/quantity.ts';
import type { Pod } from '../../kube/objects/types.ts';

const resourcePrefix = 'hugepages-';
const mediumPrefix = 'HugePages-';

/** Whether a medium of an emptyDir is `HugePages` or `HugePages-2Mi`. Source: `v1helper.IsHugePageMedium`. */
export function isHugePageMedium(medium: string): boolean {
  return medium === 'HugePages' || medium.startsWith(mediumPrefix);
}

/**
 * The bytes of a page of such an emptyDir. Throws unless the pod requests pages of that size or, for `HugePages`, of
 * exactly one size. Source: kubelet `getPageSizeMountOption`.
 */
export function hugePageSizeBytes({ spec }: Pod, medium: string): number {
  const { resources, containers = [], initContainers = [] } = spec ?? {};
  const requested = new Set(
    [resources, ...[...containers, ...initContainers].map((container) => container.resources)].flatMap((one) =>
      Object.keys(one?.requests ?? {}).flatMap((name) => {
        const size = name.startsWith(resourcePrefix) ? quantityValue(name.slice(resourcePrefix.length)) : undefined;
        return size === undefined ? [] : [size];
      }),
    ),
  );
  if (medium === 'HugePages' && requested.size > 1)
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  const wanted = medium === 'HugePages' ? [...requested][0] : quantityValue(medium.slice(mediumPrefix.length));
  if (wanted === undefined || !requested.has(wanted))
    throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  return wanted;
}
