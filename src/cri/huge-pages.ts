import { readdir } from 'node:fs/promises';
import { quantityValue } from '../kube/objects/quantity.ts';
import type { Container, Pod } from '../kube/objects/types.ts';
import type { CRIRequest } from './cri-messages.ts';

type ResourceList = NonNullable<Container['resources']>['limits'];

/** The sizes of huge pages of this machine, as cgroups name them: `2MB`. Source: opencontainers/cgroups `HugePageSizes`. */
export async function readHugePageSizes(folder = '/sys/kernel/mm/hugepages'): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => {
    const sizeKi = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
    return sizeKi > 0 ? [sizeName(sizeKi * 1024)] : [];
  });
}

/**
 * Bytes by size of the page: those of the resources `hugepages-2Mi` and so on, and 0 for every other size. Source: kubelet
 * `HugePageLimits`, `maybeSetHugetlb`.
 */
export function hugePageLimits(
  resources: ResourceList,
  hugePageSizes: readonly string[],
): Readonly<Record<string, number>> {
  const limits = Object.fromEntries(hugePageSizes.map((size) => [size, 0]));
  for (const [name, quantity] of Object.entries(resources ?? {})) {
    const size = name.startsWith('hugepages-') ? sizeName(quantityValue(name.slice('hugepages-'.length)) ?? 0) : '';
    if (size in limits) limits[size] = quantityValue(quantity) ?? 0;
  }
  return limits;
}

/**
 * The limits of a container; without one for a size, it may use what the pod may. Source: kubelet
 * `GetHugepageLimitsFromResources`.
 *
 * Divergence: also when a container is resized; the kubelet then sets those of the container to 0.
 */
export function containerHugePageLimits(
  { spec }: Pod,
  { resources }: Pick<Container, 'resources'>,
  hugePageSizes: readonly string[],
): readonly CRIRequest<'HugepageLimit'>[] {
  const limits = hugePageLimits({ ...spec?.resources?.limits, ...resources?.limits }, hugePageSizes);
  return Object.entries(limits).map(([page_size, limit]) => ({ page_size, limit }));
}

/** Source: `v1helper.HugePageUnitSizeFromByteSize`. */
function sizeName(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let size = bytes;
  let unit = 0;
  for (; size > 0 && size % 1024 === 0 && unit < units.length - 1; unit++) size /= 1024;
  return `${size}${units[unit]!}`;
}
