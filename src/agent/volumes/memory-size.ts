import { quantityNanos, quantityValue } from '../../kube/objects/quantity.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';

const nanosPerUnit = 10n ** 9n;

/**
 * The size of a volume in memory in bytes: its `sizeLimit`, at most the pod's memory limit and the node's memory.
 * Source: kubelet `calculateEmptyDirMemorySize`.
 */
export function memoryVolumeSize(pod: Pod, sizeLimit: string | undefined, nodeMemory: string): bigint {
  const sizes = [bytesOf(nodeMemory), podMemoryLimit(pod), sizeLimit === undefined ? 0n : bytesOf(sizeLimit)];
  return sizes.filter((size) => size > 0n).reduce((least, size) => (size < least ? size : least));
}

/** 0 if the pod is unlimited. */
function podMemoryLimit({ spec }: Pod): bigint {
  const { containers = [], initContainers = [] } = spec ?? {};
  const own = bytesOf(spec?.resources?.limits?.['memory'] ?? '0');
  const limits = (all: readonly Container[]): bigint[] =>
    all.map(({ resources }) => bytesOf(resources?.limits?.['memory'] ?? '0'));
  if (own > 0n || limits([...containers, ...initContainers]).includes(0n)) return own;
  const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';
  const sum = (all: readonly bigint[]): bigint => all.reduce((total, one) => total + one, 0n);
  const running = sum(limits([...containers, ...initContainers.filter(isSidecar)]));
  return [running, ...limits(initContainers)].reduce((most, one) => (one > most ? one : most));
}

function bytesOf(quantity: string): bigint {
  return (quantityNanos(quantity) ?? 0n) / nanosPerUnit;
}

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
