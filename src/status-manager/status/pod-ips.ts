import type { Pod, PodStatusInput } from '../../kube/objects/types.ts';
import { canonicalIP, isIPv6 } from '../../kube/objects/ip-address.ts';

/** The known addresses of a pod and its node. */
interface KnownIPs {
  readonly pod: Pod;
  /** Sources of addresses that are not observed now, best first. */
  readonly earlier: readonly PodStatusInput[];
  /** Empty if the pod has none; undefined if they are not observed. */
  readonly podIPs: readonly string[] | undefined;
  readonly hostIPs: readonly string[];
}

/** The address fields of a pod status; empty ones are absent. */
interface PodStatusIPs {
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
}

/**
 * The addresses of a pod status: at most one of each family for the node and for the pod, the pod's in
 * the order of the node's families. A pod in the node's network has the addresses that the runtime
 * reports for it, otherwise the node's, plus the node's second family. Text that is not an IP address
 * is ignored: a sandbox may not have one yet, and the API server would refuse the status.
 * Source: kubelet `generateAPIPodStatus`, `sortPodIPs`.
 */
export function statusIPs({ pod, earlier, ...seen }: KnownIPs): PodStatusIPs {
  const seenHostIPs = canonicalIPs(seen.hostIPs);
  const hostIPs = onePerFamily(firstNonEmpty([seenHostIPs, ...earlier.map(hostIPsOf)]));
  const newPodIPs = primaryFamilyFirst(onePerFamily(canonicalIPs(seen.podIPs ?? [])), hostIPs[0]);
  const earlierPodIPs = seen.podIPs === undefined ? earlier.map(podIPsOf).map(onePerFamily) : [];
  const podIPs = pod.spec?.hostNetwork
    ? withSecondFamily(
        firstNonEmpty([newPodIPs, seenHostIPs.slice(0, 1), ...earlierPodIPs, hostIPs.slice(0, 1)]),
        hostIPs,
      )
    : firstNonEmpty([newPodIPs, ...earlierPodIPs]);
  return {
    ...(hostIPs[0] !== undefined && { hostIP: hostIPs[0], hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIPs[0] !== undefined && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}

function withSecondFamily(podIPs: readonly string[], hostIPs: readonly string[]): readonly string[] {
  const [only, another] = podIPs;
  const second = hostIPs[1];
  if (only === undefined || another !== undefined || second === undefined) return podIPs;
  return isIPv6(only) === isIPv6(second) ? podIPs : [only, second];
}

/** The first address, and the first of the other family. */
function onePerFamily(ips: readonly string[]): readonly string[] {
  const [first] = ips;
  if (first === undefined) return [];
  const second = ips.find((ip) => isIPv6(ip) !== isIPv6(first));
  return second === undefined ? [first] : [first, second];
}

function primaryFamilyFirst(podIPs: readonly string[], primary: string | undefined): readonly string[] {
  const isPrimaryIPv6 = primary !== undefined && isIPv6(primary);
  return podIPs.length > 1 && isIPv6(podIPs[0]!) !== isPrimaryIPv6 ? podIPs.toReversed() : podIPs;
}

function hostIPsOf(status: PodStatusInput): readonly string[] {
  return addresses(status.hostIPs, status.hostIP);
}

function podIPsOf(status: PodStatusInput): readonly string[] {
  return addresses(status.podIPs, status.podIP);
}

function addresses(list: PodStatusInput['podIPs'], single: string | null | undefined): readonly string[] {
  return firstNonEmpty([canonicalIPs((list ?? []).map(({ ip }) => ip ?? '')), canonicalIPs([single ?? ''])]);
}

function firstNonEmpty(lists: readonly (readonly string[])[]): readonly string[] {
  return lists.find((list) => list.length > 0) ?? [];
}

function canonicalIPs(texts: readonly string[]): readonly string[] {
  return texts.map(canonicalIP).filter((ip) => ip !== undefined);
}
