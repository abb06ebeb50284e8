import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { parseQuantity } from '../../kube/objects/quantity.ts';
import type { Container, Pod, ResourceRequirementsInput } from '../../kube/objects/types.ts';
import { ContainerConfigError } from '../runtime/container-runtime.ts';

/** Quantities by resource name. */
export type Allocatable = Readonly<Record<string, string | undefined>>;

const nanosPerUnit = 10n ** 9n;
const nanosPerMilli = 10n ** 6n;

/**
 * The value of a `resourceFieldRef`, a whole number of divisors. Limits that neither the container nor the pod sets default
 * to the node's allocatable resources. `container` is the default of the selector's `containerName`. Source: kubelet
 * `containerResourceRuntimeValue`, `defaultPodLimitsForDownwardAPI`. @throws ContainerConfigError
 */
export function resourceFieldValue(
  { containerName = '', resource, divisor = '0' }: KubeObject<'ResourceFieldSelector'>,
  pod: Pod,
  container: Container | undefined,
  allocatable: Allocatable,
): string {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const byName = (one: Container): boolean => one.name === containerName;
  const target = containerName === '' ? container : [...containers, ...initContainers].find(byName);
  if (target === undefined) throw new ContainerConfigError(`container ${containerName} not found`);

  const [, kind, name] = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource) ?? [];
  if (kind === undefined || name === undefined)
    throw new ContainerConfigError(`unsupported container resource : ${resource}`);
  const own = quantityOf(kind === 'limits' ? target.resources?.limits : target.resources?.requests, name);
  // An init container that is referred to by name gets no default.
  const hasDefault = kind === 'limits' && !name.startsWith('hugepages-') && !initContainers.some(byName);
  const nanos = own === 0n && hasDefault ? defaultLimit(pod, name, allocatable) : own;

  const step = name === 'cpu' ? nanosPerMilli : nanosPerUnit;
  const divisorNanos = nanosOf(divisor) || nanosPerUnit;
  return String(BigInt(Math.ceil(Number(roundUp(nanos, step)) / Number(roundUp(divisorNanos, step)))));
}

/**
 * Pod-level limits, where the pod sets them and the resource supports them, otherwise the node's allocatable resources.
 */
function defaultLimit({ spec }: Pod, name: string, allocatable: Allocatable): bigint {
  const ofNode = nanosOf(allocatable[name]);
  if (ofNode === 0n || name === 'ephemeral-storage') return ofNode;
  return quantityOf(spec?.resources?.limits, name) || ofNode;
}

function quantityOf(list: ResourceRequirementsInput['limits'], name: string): bigint {
  return nanosOf(list && Object.hasOwn(list, name) ? list[name] : undefined);
}

function nanosOf(quantity: string | number | undefined): bigint {
  return quantity === undefined ? 0n : (parseQuantity(quantity)?.nanos ?? 0n);
}

function roundUp(nanos: bigint, step: bigint): bigint {
  return (nanos + step - 1n) / step;
}
