import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HTTPPodClient } from '../../../src/kube/http/index.ts';
import { createPodClient } from '../../../src/kube/http/index.ts';
import { kubeConfig, signal } from './kube-configs.ts';
import type { KubeServer } from './kube-server.ts';
import { json, pod, startKubeServer, status } from './kube-server.ts';

let server: KubeServer;
let client: HTTPPodClient;
const web = { namespace: 'default', name: 'web' };

beforeEach(async () => {
  server = await startKubeServer();
  client = createPodClient(kubeConfig(server.url), { env: {} });
});
afterEach(async () => {
  await client.close();
  await server.quiet();
  await server[Symbol.asyncDispose]();
});

describe('HTTPPodClient', () => {
  it("getPod returns the server's object unchanged", async () => {
    const written = pod('web', { status: { startTime: '2026-01-01T00:00:00Z', futureField: { a: [1, null] } } });
    server.respond = (_request, response) => json(response, written);
    expect(await client.getPod(web, { signal: signal() })).toEqual(written);
    expect(server.arrived[0]).toMatchObject({ method: 'GET', url: '/api/v1/namespaces/default/pods/web', body: '' });
  });

  it.each(['application/strategic-merge-patch+json', 'application/json-patch+json'] as const)(
    'patchPodStatus sends %s unchanged',
    async (type) => {
      const body = type.startsWith('application/json')
        ? [{ op: 'replace' as const, path: '/status/phase', value: 'Running' }]
        : { metadata: { uid: 'u' }, status: { futureField: null, $setElementOrder: [{ type: 'Ready' }] } };
      const patched = await client.patchPodStatus(
        web,
        { type, body } as Parameters<HTTPPodClient['patchPodStatus']>[1],
        { signal: signal() },
      );
      expect(patched).toEqual(pod('web'));
      expect(server.arrived[0]).toMatchObject({
        method: 'PATCH',
        url: '/api/v1/namespaces/default/pods/web/status',
        body: JSON.stringify(body),
      });
      expect(server.arrived[0]?.headers['content-type']).toBe(type);
    },
  );

  it('deletePod sends grace period and UID precondition', async () => {
    server.respond = (_request, response) => json(response, { kind: 'Status', status: 'Success' });
    await client.deletePod(web, { uid: 'u-1', gracePeriodSeconds: 0 }, { signal: signal() });
    expect(server.arrived[0]).toMatchObject({ method: 'DELETE', url: '/api/v1/namespaces/default/pods/web' });
    expect(JSON.parse(server.arrived[0]!.body)).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u-1' },
    });
  });

  it.each(['<html>', '{}', '[]', 'null', '""', '{"kind":"Status","metadata":{}}', '{"kind":"Pod"}', ''])(
    'a 200 with %j is an invalid response',
    async (text) => {
      server.respond = (_request, response) => response.end(text);
      const patch = { type: 'application/strategic-merge-patch+json', body: { metadata: { uid: 'u' } } } as const;
      await expect(client.getPod(web, { signal: signal() })).rejects.toMatchObject({ kind: 'invalid-response' });
      await expect(client.patchPodStatus(web, patch, { signal: signal() })).rejects.toMatchObject({
        kind: 'invalid-response',
      });
    },
  );

  it('says that a response is not a pod, and counts it as a sign of life of the server', async () => {
    server.respond = (_request, response) => json(response, { kind: 'Status' });
    expect(client.lastSuccessAgeMs).toBeUndefined();
    await expect(client.getPod(web, { signal: signal() })).rejects.toThrow('the response is not a pod');
    expect(client.lastSuccessAgeMs).toBeGreaterThanOrEqual(0);
  });

  it('a 200 with HTML to a DELETE is an invalid response', async () => {
    server.respond = (_request, response) => response.end('<html>');
    await expect(
      client.deletePod(web, { uid: 'u', gracePeriodSeconds: 0 }, { signal: signal() }),
    ).rejects.toMatchObject({ kind: 'invalid-response' });
  });

  it('failures are APIErrors', async () => {
    server.respond = (_request, response) => status(response, 409, 'Conflict');
    const error: unknown = await client
      .deletePod(web, { uid: 'u', gracePeriodSeconds: 0 }, { signal: signal() })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'APIError', kind: 'http', statusCode: 409, reason: 'Conflict' });
  });

  it.each([
    { namespace: 'default', name: '../../nodes/a' },
    { namespace: '..', name: 'web' },
    { namespace: '', name: 'web' },
    { namespace: 'default', name: 'web%2f..' },
  ])('a name that would change the request path is refused: $namespace/$name', async (reference) => {
    await expect(client.getPod(reference, { signal: signal() })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(server.arrived).toEqual([]);
  });

  it('close() closes idle connections, and the client stays usable', async () => {
    await client.getPod(web, { signal: signal() });
    await client.close();
    await server.quiet();
    await client.getPod(web, { signal: signal() });
    expect(server.arrived).toHaveLength(2);
  });
});
