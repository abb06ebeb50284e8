import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { APIError, FailureClass } from '../../src/kube/client/api-error.ts';
import { classifyAPIError } from '../../src/kube/client/api-error.ts';
import type { ClosablePodClient } from '../../src/kube/client/pod-client.ts';
import { type HTTPServer, type ScriptedResponse, startHTTPServer } from '../support/http-server.ts';
import { type ContractClientKind, contractClients, failureOf, strategic } from './clients.ts';

/* Responses and failures that no server produces on demand, the same for every `PodClient`. */

const { signal } = new AbortController();

describe.for(contractClients)('$name on a scripted server', ({ create }: ContractClientKind) => {
  let server: HTTPServer;
  let client: ClosablePodClient;
  const ref = { namespace: 'default', name: 'p' };
  beforeEach(async () => {
    server = await startHTTPServer();
    client = await create({ url: server.url, token: 'secret-token' });
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', creationTimestamp: '2024-01-01T00:00:00Z', newField: { a: [1] } },
    status: { newField: 'kept', startTime: '2024-01-01T00:00:00Z', volumeHealth: [{ name: 'v' }], conditions: [] },
  };

  it('keeps unknown fields, and times in their original format', async () => {
    server.respondWith({ body: pod }, { body: pod });
    expect(await client.getPod(ref, { signal })).toEqual(pod);
    expect(await client.patchPodStatus(ref, strategic('u', { phase: 'Running' }), { signal })).toEqual(pod);
  });

  it('sends the bearer token, the content type of the patch and its body as given', async () => {
    server.respondWith({ body: pod });
    const patch = strategic('u', { newField: null, podIPs: [{ ip: '10.0.0.1' }] });
    await client.patchPodStatus(ref, patch, { signal });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'PATCH', url: '/api/v1/namespaces/default/pods/p/status' });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer secret-token',
      'content-type': 'application/strategic-merge-patch+json',
    });
    expect(JSON.parse(request?.body ?? '')).toEqual(patch.body);
  });

  it('sends UID precondition and grace period in the body of the DELETE', async () => {
    server.respondWith({ body: pod });
    await client.deletePod(ref, { uid: 'u', gracePeriodSeconds: 0 }, { signal });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'DELETE', url: '/api/v1/namespaces/default/pods/p' });
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
  });

  it('reuses its connections', async () => {
    server.respondWith(...Array.from({ length: 10 }, () => ({ body: pod })));
    for (let count = 0; count < 10; count += 1) await client.getPod(ref, { signal });
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
  });

  it.for<[string, ScriptedResponse, Partial<APIError>, FailureClass]>([
    [
      '200 with HTML',
      { body: '<html></html>', headers: { 'content-type': 'text/html' } },
      { kind: 'invalid-response' },
      'ServiceUnavailable',
    ],
    ['200 with text', { body: 'ok' }, { kind: 'invalid-response' }, 'ServiceUnavailable'],
    [
      '200 with a truncated pod',
      { body: '{"kind":"Pod","meta', headers: { 'content-type': 'application/json' } },
      { kind: 'invalid-response' },
      'ServiceUnavailable',
    ],
    ['200 with an empty object', { body: {} }, { kind: 'invalid-response' }, 'ServiceUnavailable'],
    [
      '200 with null',
      { body: 'null', headers: { 'content-type': 'application/json' } },
      { kind: 'invalid-response' },
      'ServiceUnavailable',
    ],
    ['500 without a Status', { status: 500, body: 'oops' }, { kind: 'http', statusCode: 500 }, 'ServiceUnavailable'],
    [
      '429 with Retry-After',
      { status: 429, headers: { 'retry-after': '7' }, body: { kind: 'Status', code: 429, reason: 'TooManyRequests' } },
      { kind: 'http', statusCode: 429, reason: 'TooManyRequests', retryAfterMs: 7000 },
      'TooManyRequests',
    ],
    [
      '503 with Retry-After and no JSON',
      { status: 503, headers: { 'retry-after': '2' }, body: 'unavailable' },
      { kind: 'http', statusCode: 503, retryAfterMs: 2000 },
      'TooManyRequests',
    ],
    ['a reset connection', { fault: 'reset' }, { kind: 'network' }, 'Unreachable'],
  ])('%s becomes an APIError', async ([, response, expected, expectedClass]) => {
    server.respondWith(response, response);
    for (const [verb, request] of [
      ['get', () => client.getPod(ref, { signal })],
      ['patch', () => client.patchPodStatus(ref, strategic('u', { phase: 'Running' }), { signal })],
    ] as const) {
      const error = await failureOf(request());
      expect(error).toMatchObject(expected);
      expect(classifyAPIError(error, verb)).toBe(expectedClass);
      expect(`${error.message} ${error.stack}`).not.toContain('secret-token');
    }
    expect(server.requests).toHaveLength(2);
  });

  it('a truncated body is transient, whatever kind of error it is', async () => {
    server.respondWith({ fault: 'cut-body', body: { ...pod, padding: 'x'.repeat(10_000) } });
    const failure = classifyAPIError(await failureOf(client.getPod(ref, { signal })), 'get');
    expect(['ServiceUnavailable', 'Unreachable']).toContain(failure);
  });

  it('a refused connection is transient', async () => {
    const gone = await startHTTPServer();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const unconnected = await create({ url, token: 'secret-token' });
    const error = await failureOf(unconnected.getPod(ref, { signal }));
    await unconnected.close();
    expect(error).toMatchObject({ kind: 'network', statusCode: undefined });
    expect(classifyAPIError(error, 'get')).toBe('Unreachable');
  });

  it('sends nothing when the signal is already aborted', async () => {
    const error = await failureOf(client.getPod(ref, { signal: AbortSignal.abort() }));
    expect(error.kind).toBe('aborted');
    expect(server.requests).toHaveLength(0);
  });

  it.for([
    ['aborted', () => new DOMException('stopping', 'AbortError')],
    ['timeout', () => new DOMException('too late', 'TimeoutError')],
  ] as const)('aborts a request in flight when its signal is aborted: %s', async ([kind, reason]) => {
    server.respondWith({ fault: 'hang' });
    const controller = new AbortController();
    const failure = failureOf(client.getPod(ref, { signal: controller.signal }));
    await server.received(1);
    controller.abort(reason());
    expect((await failure).kind).toBe(kind);
    await client.close();
    await server.disconnected();
  });
});
