// oxlint-disable-next-line no-restricted-imports -- a pure function, and the one that knows IP addresses
import { isIP } from 'node:net';
import type { Pod, PodStatusInput } from '../types.ts';

/** What is known of the addresses of a pod and its node. */
interface KnownIPs {
  readonly pod: Pod;
  /** Where addresses that are not seen now are taken from, best first. */
  readonly earlier: readonly PodStatusInput[];
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

/** The members of a pod status that hold addresses; one that would be empty is absent. */
interface PodStatusIPs {
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
}

/**
 * The addresses of a pod status: at most two of the node, at most one per family of the pod, the
 * node's first family first. A pod in the node's network has the node's addresses, keeps those
 * it has, and gains one of a second family. What is seen and is no IP address does not count: a
 * sandbox may not have one yet, and the API server would refuse the whole status.
 *
 * Divergence: addresses once reported stay while nothing is seen in their place. The API server does
 * not let a status update take them away, so the kubelet's dropping them is tried at every full batch.
 * Source: kubelet `generateAPIPodStatus`, `sortPodIPs`.
 */
export function statusIPs({ pod, earlier, ...seen }: KnownIPs): PodStatusIPs {
  const seenPodIPs = seen.podIPs.filter(isAddress);
  const seenHostIPs = seen.hostIPs.filter(isAddress);
  const hostIPs = firstNonEmpty([seenHostIPs, ...earlier.map(hostIPsOf)]).slice(0, 2);
  const earlierPodIPs = earlier.map(podIPsOf);
  const podIPs = pod.spec?.hostNetwork
    ? withSecondFamily(firstNonEmpty([...earlierPodIPs, seenPodIPs, hostIPs.slice(0, 1)]), hostIPs)
    : firstNonEmpty([onePerFamily(seenPodIPs, hostIPs[0]), ...earlierPodIPs]);
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

function onePerFamily(podIPs: readonly string[], primary: string | undefined): readonly string[] {
  const isPrimaryIPv6 = primary !== undefined && isIPv6(primary);
  const first = podIPs.find((ip) => isIPv6(ip) === isPrimaryIPv6);
  const second = podIPs.find((ip) => isIPv6(ip) !== isPrimaryIPv6);
  return [first, second].filter((ip) => ip !== undefined);
}

function hostIPsOf(status: PodStatusInput): readonly string[] {
  return addresses(status.hostIPs, status.hostIP);
}

function podIPsOf(status: PodStatusInput): readonly string[] {
  return addresses(status.podIPs, status.podIP);
}

function addresses(list: PodStatusInput['podIPs'], single: string | null | undefined): readonly string[] {
  return firstNonEmpty([(list ?? []).map(({ ip }) => ip), [single]].map((ips) => ips.filter((ip) => !!ip) as string[]));
}

function firstNonEmpty(lists: readonly (readonly string[])[]): readonly string[] {
  return lists.find((list) => list.length > 0) ?? [];
}

/** As Go parses it: without a zone. */
function isAddress(ip: string): boolean {
  return isIP(ip) !== 0 && !ip.includes('%');
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}
