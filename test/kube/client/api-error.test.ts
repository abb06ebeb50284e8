import { describe, expect, it } from 'vitest';
import type { FailureClass } from '../../../src/kube/client/api-error.ts';
import { APIError, classifyAPIError, describeAbort, describeAPIError } from '../../../src/kube/client/api-error.ts';
import type { PatchType } from '../../../src/kube/client/pod-client.ts';
import type { RequestVerb } from '../../../src/kube/client/pod-client.ts';
import { loadClientNode } from '../../support/client-node.ts';

const { ApiException } = await loadClientNode();
const now = Date.parse('2026-01-02T03:04:05Z');
const notFound = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'pods "a" not found',
  reason: 'NotFound',
  details: { name: 'a', kind: 'pods' },
  code: 404,
};

describe('describeAPIError reads the status code', () => {
  it.each<[string, unknown]>([
    ['ApiException with a string body', new ApiException(404, 'x', JSON.stringify(notFound), {})],
    ['ApiException with an object body', new ApiException(404, 'x', notFound, {})],
    ['ApiException with a binary body', new ApiException(404, 'x', Buffer.from(JSON.stringify(notFound)), {})],
    ['a Status', notFound],
    ['older HttpError', { name: 'HttpError', response: { statusCode: 404, body: notFound }, body: notFound }],
    ['axios-like response', { response: { status: 404, body: notFound } }],
  ])('%s, with the Status it carries', (_, rejected) => {
    expect(describeAPIError(rejected)).toMatchObject({
      kind: 'http',
      statusCode: 404,
      reason: 'NotFound',
      message: '404 NotFound: pods "a" not found',
      cause: rejected,
    });
  });

  it.each<[string, unknown]>([
    ['{ statusCode }', { statusCode: 404 }],
    ['{ code }', { code: 404 }],
    ['{ status }', { status: 404 }],
    ['{ response: { statusCode } }', { response: { statusCode: 404 } }],
    ['an Error with code', Object.assign(new Error('x'), { code: 404 })],
    ['ApiException with an HTML body', new ApiException(404, 'x', '<html>', {})],
    ['ApiException without a body', new ApiException(404, 'x', undefined, {})],
    ['ApiException with a JSON body that is null', new ApiException(404, 'x', 'null', {})],
  ])('%s', (_, rejected) => {
    expect(describeAPIError(rejected)).toMatchObject({ kind: 'http', statusCode: 404, reason: undefined, causes: [] });
  });

  it('returns an APIError unchanged', () => {
    const error = new APIError('x', { kind: 'network' });
    expect(describeAPIError(error)).toBe(error);
  });

  it('calls a rejection with a code below 400 an invalid response', () => {
    expect(describeAPIError(new ApiException(301, 'x', '', {}))).toMatchObject({
      kind: 'invalid-response',
      statusCode: 301,
    });
  });

  it('reads the causes and ignores what is not text in them', () => {
    const body = {
      kind: 'Status',
      reason: 'Invalid',
      details: { causes: [{ reason: 'FieldValueInvalid', field: 'metadata.uid', message: 7 }, null] },
    };
    expect(describeAPIError({ code: 422, body }).causes).toEqual([
      { reason: 'FieldValueInvalid', field: 'metadata.uid' },
      {},
    ]);
  });
});

describe('describeAPIError classifies failures without a response', () => {
  const bareFetchFailure = new TypeError('fetch failed', { cause: new Error('connect failed') });
  it.each<[string, unknown, APIError['kind']]>([
    ['AbortError (node-fetch)', Object.assign(new Error('x'), { name: 'AbortError', type: 'aborted' }), 'aborted'],
    ['AbortError (DOM)', new DOMException('x', 'AbortError'), 'aborted'],
    ['TimeoutError (DOM)', new DOMException('x', 'TimeoutError'), 'timeout'],
    ['undici headers timeout', new TypeError('x', { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }), 'timeout'],
    ['ETIMEDOUT', Object.assign(new Error('x'), { code: 'ETIMEDOUT' }), 'timeout'],
    ['FetchError ECONNREFUSED', Object.assign(new Error('x'), { name: 'FetchError', code: 'ECONNREFUSED' }), 'network'],
    ['a bare TypeError', new TypeError('fetch failed'), 'unknown'],
    ['a TypeError whose cause has no code', bareFetchFailure, 'unknown'],
    ['a TLS error', Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }), 'network'],
    ['a SyntaxError of JSON.parse', new SyntaxError('x'), 'invalid-response'],
    ['an Error', new Error('404 not found'), 'unknown'],
    ['a string', '404', 'unknown'],
    ['a number', 404, 'unknown'],
    ['null', null, 'unknown'],
    ['undefined', undefined, 'unknown'],
    ['an empty object', {}, 'unknown'],
    ['an exit code', Object.assign(new Error('x'), { code: 127 }), 'unknown'],
    ['an object that is its own cause', selfCaused(), 'unknown'],
  ])('%s', (_, rejected, kind) => {
    expect(describeAPIError(rejected)).toMatchObject({ kind, statusCode: undefined });
  });

  it('shows names and codes in the message', () => {
    const error = new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) });
    expect(describeAPIError(error).message).toBe('request failed: TypeError, ECONNRESET');
  });

  it.each<[string, object, string | undefined, string]>([
    ['the host that is known', { code: 'ECONNREFUSED' }, 'kube:6443', 'request to kube:6443 failed: ECONNREFUSED'],
    [
      'the address that was refused',
      { code: 'ECONNREFUSED', address: '127.0.0.1', port: 6443 },
      undefined,
      'request to 127.0.0.1:6443 failed: ECONNREFUSED',
    ],
    [
      'an IPv6 address among those that were tried',
      { name: 'AggregateError', code: 'ECONNREFUSED', errors: [{ code: 'ECONNREFUSED', address: '::1', port: 6443 }] },
      undefined,
      'request to [::1]:6443 failed: AggregateError, ECONNREFUSED',
    ],
    [
      'a host name that is not found',
      { cause: { code: 'ENOTFOUND', hostname: 'kube.example.com' } },
      undefined,
      'request to kube.example.com failed: ENOTFOUND',
    ],
  ])('names the server of a failed connection: %s', (_what, fields, host, expected) => {
    expect(describeAPIError(Object.assign(new Error('x'), fields), undefined, { host }).message).toBe(expected);
  });

  it.each<[string, unknown, string]>([
    [
      'a TypeError of a mock appeared nowhere',
      new TypeError("Cannot read properties of undefined (reading 'uid')"),
      "request failed: TypeError: Cannot read properties of undefined (reading 'uid')",
    ],
    [
      'one that quotes a header',
      new TypeError('"Bearer s3cret" is no legal header value'),
      'request failed: TypeError',
    ],
    ['one with a token', new Error('cannot use token=abcdef'), 'request failed: Error: cannot use token=[redacted]'],
    ['a thrown string', 'Bearer s3cret', 'request failed: threw string'],
  ])('keeps the message of an error that no HTTP client throws: %s', (_what, error, expected) => {
    expect(describeAPIError(error)).toMatchObject({ kind: 'unknown', message: expected });
  });
});

describe('describeAPIError returns a message that is safe to log', () => {
  it.each<[string, unknown]>([
    ['a header quoted by an HTTP client', new TypeError('"Bearer s3cret" is no legal header value')],
    ['headers', new ApiException(500, 'x', undefined, { authorization: 'Bearer s3cret' })],
    ['an unknown body', new ApiException(500, 'x', 's3cret', {})],
    ['an object body', new ApiException(500, 'x', { token: 's3cret' }, {})],
  ])('without %s', (_, rejected) => {
    expect(describeAPIError(rejected).message).not.toContain('s3cret');
  });

  it("with the Status' message cut to 500 characters", () => {
    const { message } = describeAPIError({ code: 422, body: { reason: 'Invalid', message: 'm'.repeat(10_000) } });
    expect(message).toBe(`422 Invalid: ${'m'.repeat(500)}…`);
  });
});

describe('describeAPIError reads Retry-After', () => {
  it.each<[string, unknown, number | undefined]>([
    ['seconds', { 'retry-after': '2' }, 2000],
    ['any case', { 'Retry-After': '2' }, 2000],
    ['a number', { 'retry-after': 2 }, 2000],
    ['a list', { 'retry-after': ['2'] }, 2000],
    ['a Headers object', new Headers({ 'Retry-After': '2' }), 2000],
    ['zero', { 'retry-after': '0' }, 0],
    ['an HTTP date', { 'retry-after': 'Fri, 02 Jan 2026 03:04:15 GMT' }, 10_000],
    ['an HTTP date of RFC 850', { 'retry-after': 'Friday, 02-Jan-26 03:04:15 GMT' }, 10_000],
    ['an HTTP date of asctime', { 'retry-after': 'Fri Jan  2 03:04:15 2026' }, 10_000],
    ['an HTTP date in the past', { 'retry-after': 'Fri, 02 Jan 2026 03:04:00 GMT' }, 0],
    ['at most five minutes', { 'retry-after': '86400' }, 300_000],
    ['no fraction', { 'retry-after': '1.5' }, undefined],
    ['no negative', { 'retry-after': '-1' }, undefined],
    ['no nonsense', { 'retry-after': 'soon' }, undefined],
    ['no number of Date.parse', { 'retry-after': '2026' }, 300_000],
    ['no header', {}, undefined],
  ])('%s', (_, headers, expected) => {
    expect(describeAPIError({ code: 429, headers }, now).retryAfterMs).toBe(expected);
  });

  it("from the Status' details when there is no header", () => {
    const body = { details: { retryAfterSeconds: 3 } };
    expect(describeAPIError({ code: 429, body }).retryAfterMs).toBe(3000);
    expect(describeAPIError({ code: 429, body, headers: { 'retry-after': '1' } }).retryAfterMs).toBe(1000);
  });

  it('ignores a date without the current time', () => {
    const headers = { 'retry-after': 'Fri, 02 Jan 2026 03:04:15 GMT' };
    expect(describeAPIError({ code: 429, headers }).retryAfterMs).toBeUndefined();
  });
});

describe('describeAbort', () => {
  it.each<[string, unknown, APIError['kind']]>([
    ['a TimeoutError', new DOMException('x', 'TimeoutError'), 'timeout'],
    ['an APIError of kind timeout', new APIError('x', { kind: 'timeout' }), 'timeout'],
    ['no reason', undefined, 'aborted'],
    ['an Error', new Error('stopped'), 'aborted'],
    ['a string', 'stopped', 'aborted'],
  ])('reads the reason: %s', (_, reason, kind) => {
    const controller = new AbortController();
    controller.abort(reason);
    expect(describeAbort(controller.signal).kind).toBe(kind);
  });
});

describe('classifyAPIError', () => {
  const json: PatchType = 'application/json-patch+json';
  const strategic: PatchType = 'application/strategic-merge-patch+json';
  const uidCause = [{ field: 'metadata.uid', reason: 'FieldValueInvalid' }];
  const otherCause = [{ field: 'status.podIPs', reason: 'FieldValueInvalid' }];
  const verbs = ['get', 'patch', 'delete'] as const;

  it.each<[number, readonly RequestVerb[], FailureClass]>([
    [404, verbs, 'NotFound'],
    [403, ['get', 'patch'], 'Forbidden'],
    [403, ['delete'], 'Invalid'],
    [409, verbs, 'Conflict'],
    [422, ['patch'], 'Invalid'],
    [429, verbs, 'TooManyRequests'],
    [503, verbs, 'TooManyRequests'],
    [401, verbs, 'ServiceUnavailable'],
    [408, verbs, 'ServiceUnavailable'],
    [500, verbs, 'ServiceUnavailable'],
    [502, verbs, 'ServiceUnavailable'],
    [504, verbs, 'ServiceUnavailable'],
    [400, verbs, 'Invalid'],
    [405, verbs, 'Invalid'],
    [413, ['patch'], 'Invalid'],
    [415, ['patch'], 'Invalid'],
  ])('HTTP %i to %j: %s', (statusCode, tried, expected) => {
    for (const verb of tried) {
      expect(classifyAPIError(new APIError('x', { kind: 'http', statusCode }), verb)).toBe(expected);
    }
  });

  it.each<[string, Partial<APIError>, PatchType | undefined, FailureClass]>([
    ['a cause on metadata.uid', { reason: 'Invalid', causes: uidCause }, strategic, 'Conflict'],
    ['another cause', { reason: 'Invalid', causes: otherCause }, strategic, 'Invalid'],
    ['a failed JSON-patch test', { reason: 'Invalid' }, json, 'Conflict'],
    ['a JSON patch with another cause', { reason: 'Invalid', causes: otherCause }, json, 'Invalid'],
    ['no cause, strategic merge', { reason: 'Invalid' }, strategic, 'Invalid'],
    ['no cause, no patch type', { reason: 'Invalid' }, undefined, 'Invalid'],
    ['another reason', {}, json, 'Invalid'],
  ])('HTTP 422 with %s', (_, { reason, causes }, patchType, expected) => {
    const error = new APIError('x', { kind: 'http', statusCode: 422, reason, causes });
    expect(classifyAPIError(error, 'patch', patchType)).toBe(expected);
  });

  it.each<[APIError['kind'], FailureClass]>([
    ['network', 'Unreachable'],
    ['timeout', 'Unreachable'],
    ['invalid-response', 'ServiceUnavailable'],
    ['aborted', 'aborted'],
  ])('%s: %s', (kind, expected) => {
    for (const verb of verbs) expect(classifyAPIError(new APIError('x', { kind }), verb)).toBe(expected);
  });
});

function selfCaused(): object {
  const error: { cause?: unknown } = {};
  error.cause = error;
  return error;
}

it('does not parse error pages that are longer than any Status', () => {
  const body = JSON.stringify({ kind: 'Status', reason: 'Late', message: 'x'.repeat(70_000) });
  expect(describeAPIError({ code: 500, body })).toMatchObject({ statusCode: 500, reason: undefined });
  expect(describeAPIError({ code: 500, body: Buffer.from(body) })).toMatchObject({ reason: undefined });
});
