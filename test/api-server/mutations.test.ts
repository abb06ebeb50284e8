import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { APIServer } from 'kubelet-status-manager/testing';

const { signal } = new AbortController();
const reference = { namespace: 'default', name: 'p' };
const pod: Pod = { metadata: { name: 'p' }, spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] } };

describe('APIServer.mutate, as a mutating webhook', () => {
  let server: APIServer;
  let client: HTTPPodClient;
  beforeEach(async () => {
    server = await APIServer.start({ tls: false });
    client = createPodClient(server.kubeconfig());
  });
  afterEach(async () => {
    await client.transport.close();
    await server.close();
  });

  function patchStatus(status: Record<string, unknown>): Promise<Pod> {
    const { uid } = server.pods.get('default', 'p')!.metadata;
    const body = { metadata: { uid: uid }, status };
    return client.patchPodStatus(reference, { type: 'application/strategic-merge-patch+json', body }, { signal });
  }

  it('mutates a created pod in place or by returning another object, until it is removed', async () => {
    const remove = server.mutate({ verb: 'create', resource: 'pods' }, ({ metadata }) => {
      Object.assign(metadata!, { labels: { injected: 'yes' } });
    });
    server.mutate({ resource: 'pods' }, (object) => ({
      ...object,
      spec: { ...object.spec, containers: [...(object.spec?.containers ?? []), { name: 'sidecar', image: 's' }] },
    }));
    const created = server.pods.create(pod);
    expect(created.metadata?.labels).toEqual({ injected: 'yes' });
    expect(created.spec?.containers?.map(({ name }) => name)).toEqual(['c', 'sidecar']);
    remove();
    expect(server.pods.create({ ...pod, metadata: { name: 'q' } }).metadata?.labels).toBeUndefined();
  });

  it('mutates a status patch, so that the response differs from the written status', async () => {
    server.pods.create(pod);
    const requests: object[] = [];
    server.mutate({ verb: 'patch', resource: 'pods', subresource: 'status' }, ({ status, ...rest }, request) => {
      requests.push(request);
      return { ...rest, status: { ...status, message: 'by the webhook' } };
    });
    expect((await patchStatus({ phase: 'Running', message: 'ours' })).status).toMatchObject({
      phase: 'Running',
      message: 'by the webhook',
    });
    expect(requests).toEqual([{ verb: 'patch', resource: 'pods', subresource: 'status', ...reference }]);
  });

  it('the mutated object is validated, and a throwing hook fails the request', async () => {
    server.pods.create(pod);
    const remove = server.mutate({ verb: 'patch' }, (object) => ({ ...object, status: { podIPs: [{ ip: 'x' }] } }));
    await expect(patchStatus({ phase: 'Running' })).rejects.toMatchObject({ statusCode: 422, reason: 'Invalid' });
    remove();
    server.mutate({ verb: 'patch' }, () => {
      throw new Error('the webhook is broken');
    });
    await expect(patchStatus({ phase: 'Running' })).rejects.toMatchObject({ statusCode: 500, reason: 'InternalError' });
    expect(server.pods.get('default', 'p')?.status?.phase).toBe('Pending');
    expect(() => server.mutate({ verb: 'PATCH' as never }, () => {})).toThrow('`verb`');
  });
});
