import { quantityNanos } from '../../kube/objects/quantity.ts';
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
