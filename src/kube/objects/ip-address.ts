import { isIP } from 'node:net';

/** More than an address has with all leading zeros that Go takes; the URL parser takes quadratic time for colons. */
const maxLength = 256;
const ipv4Mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/** As Go parses it: without a zone. */
export function isIPAddress(ip: string): boolean {
  return isIP(ip) !== 0 && !ip.includes('%');
}

/** Of an IP address. */
export function isIPv6(ip: string): boolean {
  return ip.includes(':');
}

/** True for an IP address in `::ffff:0:0/96`, in whatever format. */
export function isIPv4Mapped(ip: string): boolean {
  return isIPv6(ip) && ipv4Mapped.test(compressed(ip));
}

/**
 * The address as Go reads and formats it, which is what the API server accepts: leading zeros are
 * ignored (and are not octal), an IPv4 address in IPv6 notation is an IPv4 address, IPv6 is lower
 * case and compressed. Undefined when it is not an IP address, or one with a zone.
 * Source: `netutils.ParseIPSloppy`, `IP.String`.
 */
export function canonicalIP(ip: string): string | undefined {
  if (ip.length > maxLength) return undefined;
  if (!isIPv6(ip)) return canonicalIPv4(ip);
  const text = withIPv4AsGroups(ip).split(':').map(withoutLeadingZeros).join(':');
  if (!isIPAddress(text)) return undefined;
  const address = compressed(text);
  const [, high, low] = ipv4Mapped.exec(address) ?? [];
  return high === undefined || low === undefined ? address : [...bytesOf(high), ...bytesOf(low)].join('.');
}

function canonicalIPv4(ip: string): string | undefined {
  if (!/^\d+(\.\d+){3}$/.test(ip)) return undefined;
  const address = ip.split('.').map(withoutLeadingZeros).join('.');
  return isIP(address) === 4 ? address : undefined;
}

function withIPv4AsGroups(ip: string): string {
  const end = ip.lastIndexOf(':') + 1;
  const bytes = canonicalIPv4(ip.slice(end))?.split('.').map(Number);
  if (bytes === undefined) return ip;
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  return `${ip.slice(0, end)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+/, '') || digits.slice(0, 1);
}

/** Of an IPv6 address: lower case, the longest run of zero groups compressed. */
function compressed(ip: string): string {
  return new URL(`http://[${ip}]`).hostname.slice(1, -1);
}

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 255];
}
