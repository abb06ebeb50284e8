import { binarySI, quantityValue } from '../../kube/objects/quantity.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodUsage } from './pod-usage.ts';
import { thresholdAmount, type Observation, signals, type StarvedResource, type Threshold } from './thresholds.ts';

/** Message of the status and the Event, and annotations of the Event. */
export interface EvictionReason {
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Why a pod is evicted under pressure. Source: kubelet `evictionMessage`. */
export function evictionMessage(
  threshold: Threshold,
  { metadata, spec }: ValidPod,
  usage: PodUsage | undefined,
  observed: Observation,
): EvictionReason {
  const { resource } = signals[threshold.signal];
  let message =
    `The node was low on resource: ${resource}. Threshold quantity: ${thresholdQuantity(threshold, observed)}, ` +
    `available: ${formatAmount(resource, observed.available)}. `;
  const consumed = (who: string, used: number, request: string): string =>
    `${who} was using ${binarySI(used)}, request is ${request}, has larger consumption of ${resource}. `;
  const podRequest = spec?.resources?.requests?.[resource];
  const podMemory = usage?.stats?.memory?.workingSetBytes;
  if (usage?.stats === undefined) return { message };
  const annotations: Record<string, string> = {};
  if (resource === 'memory' && podRequest != null && podMemory !== undefined) {
    message += consumed(`Pod ${metadata.name}`, podMemory, podRequest);
    annotations['offending_pod'] = metadata.name;
    annotations['offending_pod_usage'] = binarySI(podMemory);
  }
  const offending: { readonly name: string; readonly usage: string }[] = [];
  for (const stats of usage.stats.containers ?? []) {
    const container = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find(
      ({ name }) => name === stats.name,
    );
    const used =
      resource === 'memory'
        ? stats.memory?.workingSetBytes
        : resource === 'ephemeral-storage'
          ? (stats.rootfs?.usedBytes ?? 0) + (stats.logs?.usedBytes ?? 0)
          : undefined;
    const request = container?.resources?.requests?.[resource] ?? '0';
    if (container !== undefined && used !== undefined && used > (quantityValue(request) ?? 0)) {
      message += consumed(`Container ${stats.name}`, used, request);
      offending.push({ name: stats.name, usage: binarySI(used) });
    }
  }
  annotations['offending_containers'] = offending.map(({ name }) => name).join(',');
  annotations['offending_containers_usage'] = offending.map((one) => one.usage).join(',');
  annotations['starved_resource'] = resource;
  return { message, annotations };
}

/** The amount of a threshold for people: `100Mi`, also where the option is a percentage. */
export function thresholdQuantity({ signal, value }: Threshold, { capacity }: Observation): string {
  return value.endsWith('%') ? formatAmount(signals[signal].resource, thresholdAmount(value, capacity)) : value;
}

/** The amount from which on no more pods are evicted: the threshold, and what must be reclaimed beyond it. */
export function reclaimTarget(threshold: Threshold, observed: Observation): string {
  const { signal, value, minimumReclaim } = threshold;
  const reserve = thresholdAmount(minimumReclaim, observed.capacity);
  if (reserve === 0) return thresholdQuantity(threshold, observed);
  return formatAmount(signals[signal].resource, thresholdAmount(value, observed.capacity) + reserve);
}

export function formatAmount(resource: StarvedResource, amount: number): string {
  return resource === 'inodes' || resource === 'pids' ? String(amount) : binarySI(amount);
}
