// oxlint-disable-next-line no-restricted-imports -- a pure function, and the one that knows IP addresses
import { isIP } from 'node:net';

/** As Go parses it: without a zone. */
export function isIPAddress(ip: string): boolean {
  return isIP(ip) !== 0 && !ip.includes('%');
}

/** Of an IP address. */
export function isIPv6(ip: string): boolean {
  return ip.includes(':');
}

/** True for an IP address in `::ffff:0:0/96`, in whatever spelling. */
export function isIPv4Mapped(ip: string): boolean {
  return isIPv6(ip) && /^\[::ffff:[\da-f]+:[\da-f]+\]$/.test(new URL(`http://[${ip}]`).hostname);
}
