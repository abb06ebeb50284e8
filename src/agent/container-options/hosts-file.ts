import type { KubeObject } from '../../kube/objects/kube-object.ts';

/** `/etc/hosts` of a pod with a network of its own. Source: kubelet `managedHostsFileContent`. */
export function managedHostsFileContent(
  podIPs: readonly string[],
  { hostname, domain }: { readonly hostname: string; readonly domain: string },
  hostAliases: readonly KubeObject<'HostAlias'>[] = [],
): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  return [
    '# Kubernetes-managed hosts file.\n',
    '127.0.0.1\tlocalhost\n',
    '::1\tlocalhost ip6-localhost ip6-loopback\n',
    'fe00::0\tip6-localnet\n',
    'fe00::0\tip6-mcastprefix\n',
    'fe00::1\tip6-allnodes\n',
    'fe00::2\tip6-allrouters\n',
    ...podIPs.map((ip) => `${ip}\t${names}\n`),
    hostsEntriesFromHostAliases(hostAliases),
  ].join('');
}

/** `/etc/hosts` of a pod in the node's network. Source: kubelet `nodeHostsFileContent`. */
export function nodeHostsFileContent(nodeHosts: string, hostAliases: readonly KubeObject<'HostAlias'>[] = []): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${hostsEntriesFromHostAliases(hostAliases)}`;
}

function hostsEntriesFromHostAliases(hostAliases: readonly KubeObject<'HostAlias'>[]): string {
  if (hostAliases.length === 0) return '';
  const lines = hostAliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
