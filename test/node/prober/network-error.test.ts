import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Socket } from 'node:net';
import {
  connectionAddresses,
  connectionErrorMessage,
  dialErrorMessage,
} from '../../../src/node/prober/network-error.ts';

const systemError = (code: keyof typeof constants.errno, syscall: string): Error =>
  Object.assign(new Error(`${syscall} ${code} 10.0.0.7:80`), { code, errno: -constants.errno[code], syscall });

describe('a failed connection has the message of the kubelet', () => {
  it.each<[keyof typeof constants.errno, string]>([
    ['ECONNREFUSED', 'connection refused'],
    ['EHOSTUNREACH', 'no route to host'],
    ['ENETUNREACH', 'network is unreachable'],
    ['EADDRNOTAVAIL', 'cannot assign requested address'],
    ['ECONNRESET', 'connection reset by peer'],
    ['ETIMEDOUT', 'connection timed out'],
    ['ENOTCONN', 'transport endpoint is not connected'],
  ])('%s', (code, message) => {
    const error = systemError(code, 'connect');
    expect(dialErrorMessage(error, '10.0.0.7:80')).toBe(`dial tcp 10.0.0.7:80: connect: ${message}`);
    expect(dialErrorMessage(new AggregateError([error]), '10.0.0.7:80')).toContain(message);
  });

  it.each([
    ['ENOTFOUND', 'no such host'],
    ['EAI_AGAIN', 'server misbehaving'],
  ])('a host name: %s', (code, message) => {
    const error = Object.assign(new Error(code), { code, syscall: 'getaddrinfo', hostname: 'web.example' });
    expect(dialErrorMessage(error, 'web.example:80')).toBe(`dial tcp: lookup web.example: ${message}`);
  });

  it('a message of OpenSSL loses its numbers, which would keep Events from being aggregated', () => {
    const error = Object.assign(new Error('80FB7A:error:0A000126:SSL routines::unexpected eof'), {
      ...{ code: 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING', reason: 'unexpected eof while reading' },
    });
    expect(connectionErrorMessage(error, 'a->b')).toBe('tls: unexpected eof while reading');
  });

  it('of several addresses of a host name, it is that of the first one', () => {
    const errors = [systemError('ECONNREFUSED', 'connect'), systemError('ENETUNREACH', 'connect')];
    expect(dialErrorMessage(new AggregateError(errors), 'web:80')).toBe('dial tcp web:80: connect: connection refused');
    expect(dialErrorMessage(new AggregateError([], 'nothing'), 'web:80')).toBe('dial tcp web:80: nothing');
  });

  it('an error that the system does not know has its own message', () => {
    expect(dialErrorMessage(new Error('aborted'), '10.0.0.7:80')).toBe('dial tcp 10.0.0.7:80: aborted');
    const unknown = Object.assign(new Error('unknown'), { errno: 1, code: 'EWHAT' });
    expect(dialErrorMessage(unknown, '10.0.0.7:80')).toBe('dial tcp 10.0.0.7:80: unknown');
  });
});

describe('an established connection that fails has the message of the kubelet', () => {
  const failing = (fields: object, message = 'own message'): string =>
    connectionErrorMessage(Object.assign(new Error(message), fields), 'a->b');

  it.each(['read', 'write'] as const)('%s', (syscall) => {
    expect(connectionErrorMessage(systemError('ECONNRESET', syscall), 'a->b')).toBe(
      `${syscall} tcp a->b: ${syscall}: connection reset by peer`,
    );
  });

  it.each<[object, string]>([
    [{ code: 'ECONNRESET' }, 'EOF'],
    [{ reason: 'wrong version number' }, 'http: server gave HTTP response to HTTPS client'],
    [{ reason: 'packet length too long' }, 'http: server gave HTTP response to HTTPS client'],
    [{ reason: 'unsupported protocol' }, 'tls: unsupported protocol'],
    [{ reason: 'sslv3 alert handshake failure' }, 'remote error: tls: handshake failure'],
    [{ code: 'EPROTO' }, 'own message'],
    [{}, 'own message'],
  ])('%j: %s', (fields, message) => expect(failing(fields)).toBe(message));

  it.each([
    ['bad record mac', 'bad record MAC'],
    ['certificate expired', 'expired certificate'],
    ['certificate revoked', 'revoked certificate'],
    ['certificate unknown', 'unknown certificate'],
    ['decode error', 'error decoding message'],
    ['decrypt error', 'error decrypting message'],
    ['insufficient security', 'insufficient security level'],
    ['protocol version', 'protocol version not supported'],
    ['unknown ca', 'unknown certificate authority'],
    ['user cancelled', 'user canceled'],
    ['access denied', 'access denied'],
  ])('the alert "%s" of the server is "%s"', (alert, name) => {
    expect(failing({ reason: `tlsv1 alert ${alert}` })).toBe(`remote error: tls: ${name}`);
  });

  it('names both ends, IPv6 addresses in brackets', () => {
    const ends = { localAddress: 'fd00::1', localPort: 40_000, remoteAddress: '10.0.0.7', remotePort: 80 };
    expect(connectionAddresses(ends as Socket)).toBe('[fd00::1]:40000->10.0.0.7:80');
    expect(connectionAddresses({} as Socket)).toBe(':0->:0');
  });
});
