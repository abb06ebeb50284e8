import type { PodDNS } from '../../node/index.ts';

/** The node's DNS configuration. Source: kubelet `parseResolvConf`. Throws for a nameserver without an address. */
export function parseResolvConf(text: string): PodDNS {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      if (values[0] === undefined) throw new Error('nameserver list is empty ');
      servers.push(values[0]);
    } else if (keyword === 'search') {
      searches = values.filter((value) => value !== '.').map((value) => value.replace(/\.$/, ''));
    } else if (keyword === 'options') options = lastOfEachName([...options, ...values]);
  }
  return { servers, searches, options };
}

/** Options by name (`ndots:5`), where later ones win. */
export function lastOfEachName(options: readonly string[]): string[] {
  return [...new Map(options.map((option) => [option.split(':')[0], option])).values()];
}
