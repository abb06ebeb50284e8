import { podSpecOf } from '../../kube/objects/kube-object.ts';
import trimEnd from 'lodash/trimEnd.js';
import type { Pod } from '../../kube/objects/types.ts';
import { validateDomainLabel, validateSubdomain } from '../../kube/validation/rules.ts';

const maxHostNameLength = 63;
const maxFQDNLength = 64;

/** The hostname and domain of a pod without hostNetwork; the domain may be empty. */
export interface PodHostName {
  readonly hostname: string;
  readonly domain: string;
}

/** Source: kubelet `GeneratePodHostNameAndDomain`. Throws when the spec has a name that DNS does not allow. */
export function generatePodHostNameAndDomain(pod: Pod, clusterDomain: string): PodHostName {
  const { name = '', namespace = '' } = pod.metadata ?? {};
  const { hostname = '', hostnameOverride, subdomain = '' } = podSpecOf(pod);
  if (hostnameOverride !== undefined) {
    refuse('HostnameOverride', hostnameOverride, 'subdomain', validateSubdomain);
    return { hostname: truncatePodHostname(hostnameOverride), domain: '' };
  }
  if (hostname !== '') refuse('Hostname', hostname, 'label', validateDomainLabel);
  const ownName = truncatePodHostname(hostname === '' ? name : hostname);
  if (subdomain === '') return { hostname: ownName, domain: '' };
  refuse('Subdomain', subdomain, 'label', validateDomainLabel);
  return { hostname: ownName, domain: `${subdomain}.${namespace}.svc.${clusterDomain}` };
}

/**
 * The hostname that the kernel of the pod has: with `setHostnameAsFQDN`, the full name. Throws when that has more than 64
 * characters. Source: kubelet `GetNodenameForKernel`.
 */
export function nodenameForKernel({ hostname, domain }: PodHostName, pod: Pod): string {
  if (domain === '' || podSpecOf(pod).setHostnameAsFQDN !== true) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= maxFQDNLength) return fqdn;
  const length = `(${maxFQDNLength} characters is the max, ${fqdn.length} characters requested)`;
  throw new Error(`failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ${length}`);
}

/** Source: kubelet `truncatePodHostnameIfNeeded`. */
export function truncatePodHostname(hostname: string): string {
  if (hostname.length <= maxHostNameLength) return hostname;
  const truncated = trimEnd(hostname.slice(0, maxHostNameLength), '-.');
  if (truncated === '') throw new Error(`hostname for the pod was invalid: ${JSON.stringify(hostname)}`);
  return truncated;
}

function refuse(field: string, value: string, kind: string, validate: typeof validateDomainLabel): void {
  const problems = validate(value, '').map(({ detail }) => detail.replace('Invalid value: ', ''));
  if (problems.length > 0)
    throw new Error(`pod ${field} ${JSON.stringify(value)} is not a valid DNS ${kind}: ${problems.join(';')}`);
}
