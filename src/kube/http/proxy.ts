import { BlockList, isIP } from 'node:net';
import { StatusManagerError } from '../../shared/errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

const PROTOCOLS = ['http:', 'https:', 'socks5:'];

/**
 * The proxy for `server`: the cluster's `proxy-url`, else the proxy from `HTTPS_PROXY`, `HTTP_PROXY`
 * and `NO_PROXY` (upper or lower case), which never apply to loopback addresses; undefined if there
 * is none. Throws `INVALID_ARGUMENT` for an unusable proxy URL, without quoting it.
 * Source: golang.org/x/net/http/httpproxy.
 */
export function proxyFor(server: URL, clusterProxyUrl: string | undefined, env: Env): URL | undefined {
  if (clusterProxyUrl !== undefined) return readProxyUrl(clusterProxyUrl, 'kubeConfig.clusters[].cluster.proxy-url');
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = env[name] || env[name.toLowerCase()];
  if (!value || isDirect(server, env['NO_PROXY'] || env['no_proxy'] || '')) return undefined;
  return readProxyUrl(value.includes('://') ? value : `http://${value}`, name);
}

function readProxyUrl(value: string, path: string): URL {
  const url = URL.canParse(value) ? new URL(value.replace(/^socks5?h?:/, 'socks5:')) : undefined;
  if (url && PROTOCOLS.includes(url.protocol)) return url;
  throw new StatusManagerError('INVALID_ARGUMENT', `Expected \`${path}\` to be an http, https or socks5 URL`, { path });
}

function isDirect(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || contains('127.0.0.0/8', host) || host === '::1') return true;
  return noProxy
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .some((entry) => matches(entry.toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return contains(entry, host);
  const [, name = entry, entryPort] = isIP(entry) ? [] : (/^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []);
  if (entryPort !== undefined && entryPort !== port) return false;
  if (name.startsWith('.') || name.startsWith('*.')) return host.endsWith(name.replace(/^\*/, ''));
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function contains(cidr: string, host: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), type);
  return list.check(host, type);
}
