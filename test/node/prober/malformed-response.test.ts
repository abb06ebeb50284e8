import { expect, it } from 'vitest';
import { malformedResponseMessage } from '../../../src/node/prober/malformed-response.ts';

it.each([
  ['', 'unexpected EOF'],
  ['HTTP/1.1 200 OK', 'unexpected EOF'],
  ['HTTP/1.1 200 OK\r\n', 'unexpected EOF'],
  ['HTTP/1.1 200 OK\nA: b\n', 'unexpected EOF'],
  ['HTTP/1.1 200\r\n\r\n', 'malformed response'],
  ['hello\r\n', 'malformed HTTP response "hello"'],
  ['\r\n', 'malformed HTTP response ""'],
  ['HTTP/1.1 \r\n', 'malformed HTTP status code ""'],
  ['HTTP/1.1   20 OK\r\n', 'malformed HTTP status code "20"'],
  ['HTTP/1.1 2000 OK\r\n', 'malformed HTTP status code "2000"'],
  ['HTTP/1.1 x200 OK\r\n', 'malformed HTTP status code "x200"'],
  ['HTTP/1 200 OK\r\n', 'malformed HTTP version "HTTP/1"'],
  ['HTTP/11.1 200 OK\r\n', 'malformed HTTP version "HTTP/11.1"'],
  ['HTTP/1.11 200 OK\r\n', 'malformed HTTP version "HTTP/1.11"'],
  ['xHTTP/1.1 200 OK\r\n', 'malformed HTTP version "xHTTP/1.1"'],
  ['http/1.1 200 OK\r\n', 'malformed HTTP version "http/1.1"'],
  ['HTTP/1.1 200 OK\r\nA: b\r\nbad\r\nworse\r\n', 'malformed MIME header: missing colon: "bad"'],
  ['HTTP/1.1 200 OK\r\n\r\nbody\r\n', 'malformed MIME header: missing colon: "body"'],
  ['HTTP/1.1 200 OK\r\nA: b\r\n\r\n', 'malformed response'],
])('%j is no complete response: %s', (head, reason) => {
  expect(malformedResponseMessage(Buffer.from(head))).toBe(`net/http: HTTP/1.x transport connection broken: ${reason}`);
});

it('bytes that are no UTF-8 are shown as Latin-1', () => {
  expect(malformedResponseMessage(Buffer.from([0xe4, 0x0a]))).toContain('malformed HTTP response "ä"');
});
