import type { Socket } from 'node:net';
import { getSystemErrorMap } from 'node:util';
import { joinHostPort } from './container-port.ts';

/** Where libuv's message differs from that of Linux, which Go shows. */
const linuxMessages: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'cannot assign requested address',
  EHOSTUNREACH: 'no route to host',
  ENOTCONN: 'transport endpoint is not connected',
};

/** Where Go's name of a TLS alert differs from OpenSSL's. */
const alertNames: Readonly<Record<string, string>> = {
  'bad record mac': 'bad record MAC',
  'certificate expired': 'expired certificate',
  'certificate revoked': 'revoked certificate',
  'certificate unknown': 'unknown certificate',
  'decode error': 'error decoding message',
  'decrypt error': 'error decrypting message',
  'insufficient security': 'insufficient security level',
  'protocol version': 'protocol version not supported',
  'unknown ca': 'unknown certificate authority',
  'user cancelled': 'user canceled',
};

/** Go's message of an HTTPS request that reaches a plain HTTP server. */
export const httpResponseToHTTPSClient = 'http: server gave HTTP response to HTTPS client';

/**
 * Why the connection to `address` failed, in the format that users know from the kubelet:
 * `dial tcp 10.0.0.7:8080: connect: connection refused`.
 */
export function dialErrorMessage(error: unknown, address: string): string {
  const first = firstOf(error);
  if (first.syscall === 'getaddrinfo') {
    const reason = first.code === 'ENOTFOUND' ? 'no such host' : 'server misbehaving';
    return `dial tcp: lookup ${first.hostname}: ${reason}`;
  }
  return `dial tcp ${address}: ${systemErrorMessage(first, 'connect')}`;
}

/** Both ends of a connection, in the format of Go's errors. */
export function connectionAddresses({ localAddress, localPort = 0, remoteAddress, remotePort = 0 }: Socket): string {
  return `${joinHostPort(localAddress ?? '', localPort)}->${joinHostPort(remoteAddress ?? '', remotePort)}`;
}

/**
 * Why an established connection between `addresses` failed. Divergence: any response that is not TLS counts as an HTTP response, since
 * OpenSSL does not tell them apart. Source: Go `net.OpError`, `tls.alert`.
 */
export function connectionErrorMessage(
  error: NodeJS.ErrnoException & { readonly reason?: string },
  addresses: string,
): string {
  const { code, reason, syscall } = error;
  if (syscall === 'read' || syscall === 'write') {
    return `${syscall} tcp ${addresses}: ${systemErrorMessage(error, syscall)}`;
  }
  if (code === 'ECONNRESET') return 'EOF';
  if (reason === 'wrong version number' || reason === 'packet length too long') return httpResponseToHTTPSClient;
  if (reason !== undefined) {
    const [, alert] = reason.split(' alert ');
    return alert === undefined ? `tls: ${reason}` : `remote error: tls: ${alertNames[alert] ?? alert}`;
  }
  return error.message;
}

function systemErrorMessage({ code = '', errno, message }: NodeJS.ErrnoException, call: string): string {
  const known = linuxMessages[code] ?? (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]);
  return known === undefined ? message : `${call}: ${known}`;
}

/** The error of the first address, if a host name has several. */
function firstOf(error: unknown): NodeJS.ErrnoException & { readonly hostname?: string } {
  return (error instanceof AggregateError ? (error.errors[0] ?? error) : error) as NodeJS.ErrnoException;
}
