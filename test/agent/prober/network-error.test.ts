import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { connectionErrorMessage, dialErrorMessage } from '../../../src/agent/prober/network-error.ts';

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
});
