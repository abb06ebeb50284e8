import { formatPod } from '../../kube/pods/pod-log-fields.ts';
import { podSpecOf } from '../../kube/objects/kube-object.ts';
import { isIPv6 } from '../../kube/objects/ip-address.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodDNS } from '../../node/index.ts';
import { lastOfEachName } from './resolv-conf.ts';

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchLineLength = 2048;

/** Inputs for the DNS configuration of a pod, in addition to the pod. */
export interface DNSSources {
  /** Addresses of the cluster's DNS; empty if there is none. */
  readonly clusterDNS: readonly string[];
  /** For example `cluster.local`; empty if there is none. */
  readonly clusterDomain: string;
  /** Of the node's resolv.conf; undefined if it has none. */
  readonly nodeDNS: PodDNS | undefined;
  readonly nodeIPs: readonly string[];
}

/** For an Event about the pod. */
interface Warning {
  readonly reason: string;
  readonly message: string;
}

interface PodDNSResult extends PodDNS {
  readonly warnings: Warning[];
}

/** Source: kubelet `Configurer.GetPodDNS`. */
export function getPodDNS(pod: Pod, sources: DNSSources): PodDNSResult {
  const { dnsConfig } = podSpecOf(pod);
  const { warnings, ...ofPolicy } = dnsOfPolicy(pod, sources);
  const servers = [...new Set([...ofPolicy.servers, ...(dnsConfig?.nameservers ?? [])])];
  const searches = [...new Set([...ofPolicy.searches, ...(dnsConfig?.searches ?? [])])];
  const more = (dnsConfig?.options ?? []).map(({ name = '', value }) => (value ? `${name}:${value}` : name));
  const applied = {
    servers: servers.slice(0, maxNameservers),
    searches: fitSearches(searches),
    options: lastOfEachName([...ofPolicy.options, ...more]),
  };
  const omitted = (what: string, kind: string, line: readonly string[]): Warning => ({
    reason: 'DNSConfigForming',
    message: `${what} limits were exceeded, some ${kind} have been omitted, the applied ${kind === 'nameservers' ? 'nameserver' : 'search'} line is: ${line.join(' ')}`,
  });
  if (applied.servers.length < servers.length) warnings.push(omitted('Nameserver', 'nameservers', applied.servers));
  if (applied.searches.length < searches.length)
    warnings.push(omitted('Search Line', 'search paths', applied.searches));
  return { ...applied, warnings };
}

function dnsOfPolicy(pod: Pod, { clusterDNS, clusterDomain, nodeDNS, nodeIPs }: DNSSources): PodDNSResult {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = podSpecOf(pod);
  const { namespace = '' } = pod.metadata ?? {};
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [], warnings: [] };
  const isCluster = dnsPolicy !== 'Default' && !(dnsPolicy === 'ClusterFirst' && hostNetwork);
  if (isCluster && clusterDNS.length > 0) {
    const ofCluster = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
    const searches = [...(clusterDomain === '' ? [] : ofCluster), ...(nodeDNS?.searches ?? [])];
    return { servers: clusterDNS, searches: [...new Set(searches)], options: ['ndots:5'], warnings: [] };
  }
  const message = `pod: "${formatPod(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`;
  const warnings = isCluster ? [{ reason: 'MissingClusterDNS', message }] : [];
  if (nodeDNS !== undefined) return { ...nodeDNS, warnings };
  const loopbacks = nodeIPs.map((ip) => (isIPv6(ip) ? '::1' : '127.0.0.1'));
  return { servers: loopbacks.length > 0 ? loopbacks : ['127.0.0.1'], searches: ['.'], options: [], warnings };
}

/** Source: kubelet `formDNSSearchFitsLimits`. */
export function fitSearches(searches: readonly string[]): string[] {
  const fitting = searches.slice(0, maxSearches).filter((search) => search.length <= maxSearchLength);
  while (fitting.join(' ').length > maxSearchLineLength) fitting.pop();
  return fitting;
}
