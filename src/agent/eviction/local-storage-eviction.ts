import { firstBy } from '../../shared/by-field.ts';
import type { Container, Pod } from '../../kube/objects/types.ts';
import { compareQuantities, quantityValue } from '../../kube/objects/quantity.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { podStatusResources } from '../../status-manager/status/pod-resources.ts';
import { volumesOf } from '../../node/index.ts';
import { ephemeralStorageBytes, type PodUsage } from './pod-usage.ts';

const resource = 'ephemeral-storage';

/** True if a limit of the pod may be exceeded, so that its usage must be measured. */
export function hasLocalStorageLimit(pod: Pod): boolean {
  return limitedContainers(pod).length > 0 || limitedVolumes(pod).length > 0;
}

/** Why a pod is evicted, and the name of its limit in the metric. */
export interface LocalStorageExcess {
  readonly message: string;
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
}

/**
 * The limit for which a pod must be evicted; undefined if it need not be.
 * Source: kubelet `emptyDirLimitEviction`, `podEphemeralStorageLimitEviction`, `containerEphemeralStorageLimitEviction`.
 *
 * @param hasDedicatedImageFs true if the writable layers of containers are not on the node's main file system
 */
export function localStorageExcess(
  pod: Pod,
  usage: PodUsage,
  hasDedicatedImageFs: boolean,
): LocalStorageExcess | undefined {
  for (const { name, sizeLimit } of limitedVolumes(pod))
    if (exceeds(usage.volumeStats?.volumes.get(name)?.bytes, sizeLimit)) {
      const message = `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit ${JSON.stringify(sizeLimit)}. `;
      return { message, signal: 'emptydirfs.limit' };
    }

  const podLimit = podStatusResources(pod.spec ?? {}).resources.limits?.[resource];
  if (podLimit !== undefined && exceeds(ephemeralStorageBytes(usage), podLimit))
    return {
      message: `Pod ephemeral local storage usage exceeds the total limit of containers ${podLimit}. `,
      signal: 'ephemeralpodfs.limit',
    };

  const statsByName = firstBy(usage.stats?.containers, 'name');
  for (const { name, limit } of limitedContainers(pod)) {
    const { logs, rootfs } = statsByName.get(name) ?? {};
    const layerBytes = hasDedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0);
    if (exceeds((logs?.usedBytes ?? 0) + layerBytes, limit))
      return {
        message: `Container ${name} exceeded its local ephemeral storage limit ${JSON.stringify(limit)}. `,
        signal: 'ephemeralcontainerfs.limit',
      };
  }
  return undefined;
}

function limitedContainers({ spec }: Pod): { name: string; limit: string }[] {
  const containers: Container[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []).filter(isRestartableInitContainer),
  ];
  return containers.flatMap(({ name, resources }) => {
    const limit = resources?.limits?.[resource];
    return limit != null && quantityValue(limit) !== 0 ? [{ name: name ?? '', limit }] : [];
  });
}

/** A volume in memory has its limit in the kernel. */
function limitedVolumes(pod: Pod): { name: string; sizeLimit: string }[] {
  return volumesOf(pod).flatMap(({ name, emptyDir }) => {
    const sizeLimit = emptyDir?.medium === 'Memory' ? undefined : emptyDir?.sizeLimit;
    return sizeLimit != null && (quantityValue(sizeLimit) ?? 0) > 0 ? [{ name, sizeLimit }] : [];
  });
}

function exceeds(bytes: number | undefined, limit: string): boolean {
  return bytes !== undefined && (compareQuantities(String(bytes), limit) ?? 0) > 0;
}
