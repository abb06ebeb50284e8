import { expect, it, vi } from 'vitest';
import { createPodClient } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import type { PodStatusPatch } from 'kubelet-status-manager';
import type { PodProvider } from '../../../src/virtual-nodes/pod-provider.ts';
import { ProviderCalls } from '../../../src/virtual-nodes/calls/provider-calls.ts';
import { callsWhileOwned, connectionWhileOwned } from '../../../src/virtual-nodes/replicas/while-owned.ts';

it('after the ownership has ended, a call is not made, and is no failure that would be logged: it waits for the end of the node', async () => {
  const call = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const clock = new FakeClock();
  const all = new ProviderCalls({
    logger: recordingLogger(),
    ...{ provider: {} as PodProvider, clock, callTimeoutMs: 60_000, concurrency: 10, recordMetric: () => {} },
  });
  let isOwned = true;
  const calls = callsWhileOwned(all, { isOwned: () => isOwned });
  const ended = new AbortController();
  const { signal } = ended;
  await calls.forPod('u', 'create_pod', signal, call);
  expect(call).toHaveBeenCalledTimes(1);
  isOwned = false;
  const settled = vi.fn<() => void>();
  const created = calls.forPod('u', 'create_pod', signal, call);
  created.then(settled, settled);
  await new Promise(setImmediate);
  expect(settled).not.toHaveBeenCalled();
  const reason = new Error('the node ends');
  ended.abort(reason);
  await expect(created).rejects.toBe(reason);
  expect(call).toHaveBeenCalledTimes(1);
});

it('a write that waits for a connection when the ownership ends is not sent later', async () => {
  const owner = new AbortController();
  const sent = vi.fn<(signal: AbortSignal) => void>();
  const waiting = (...args: readonly unknown[]): Promise<never> =>
    new Promise((_, reject) => {
      const { signal } = args.at(-1) as { signal: AbortSignal };
      sent(signal);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const podClient = { patchPodStatus: waiting, deletePod: waiting, getPod: waiting };
  const api = { podClient, requests: { request: waiting } } as never;
  const isOwned = () => !owner.signal.aborted;
  const owned = connectionWhileOwned(api, { nodeName: 'node-a', signal: owner.signal, isOwned });
  const pod = { namespace: 'default', name: 'web' };
  const { signal } = new AbortController();
  const write = () => [
    owned.podClient.patchPodStatus(pod, {} as never, { signal }),
    owned.podClient.deletePod(pod, {} as never, { signal }),
    owned.requests.request('PUT', '/x'),
  ];
  const writes = write();
  owner.abort();
  for (const one of [...writes, ...write()])
    await expect(one).rejects.toMatchObject({ kind: 'aborted', message: expect.stringContaining('node-a') });
  expect(sent).toHaveBeenCalledTimes(3);
});

it.each([
  ['strategic merge', 'application/strategic-merge-patch+json'],
  ['JSON', 'application/json-patch+json'],
] as const)(
  'a status that an earlier owner sends late, as a %s patch, is not written over that of the next owner',
  async (_, type) => {
    await using server = await APIServer.start({ tls: false });
    const spec = { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] };
    const { uid, resourceVersion } = server.pods.create({ metadata: { name: 'web' }, spec }).metadata;
    const podClient = createPodClient(server.kubeconfig());
    const { signal } = new AbortController();
    const owned = { nodeName: 'node-a', signal, isOwned: () => true };
    const client = connectionWhileOwned({ podClient, requests: {} as never } as never, owned).podClient;
    const patchOf = (message: string): PodStatusPatch =>
      type === 'application/json-patch+json'
        ? { type, body: [{ op: 'add', path: '/status/message', value: message }], resourceVersion }
        : { type, body: { metadata: { uid }, status: { message } }, resourceVersion };
    const pod = { namespace: 'default', name: 'web' };
    const written = await client.patchPodStatus(pod, patchOf('newer'), { signal });
    expect(written.status?.message).toBe('newer');
    await expect(client.patchPodStatus(pod, patchOf('older'), { signal })).rejects.toMatchObject({
      statusCode: type === 'application/json-patch+json' ? 422 : 409,
    });
    expect(server.pods.get('default', 'web')?.status?.message).toBe('newer');
    await podClient.transport.close();
  },
);
