import { expect, it, vi } from 'vitest';
import type { PodProvider } from '../../../src/provider/pod-provider.ts';
import { connectionWhileOwned, providerWhileOwned } from '../../../src/provider/replicas/while-owned.ts';

it('after the ownership has ended, a call is not made, and is no failure that would be logged: it waits for the end of the node', async () => {
  const call = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const provider: PodProvider = {
    createPod: call,
    updatePod: call,
    deletePod: call,
    listPods: () => Promise.resolve([]),
  };
  let isOwned = true;
  const owned = providerWhileOwned(provider, { nodeName: 'node-a', isOwned: () => isOwned });
  const ended = new AbortController();
  const options = {
    signal: ended.signal,
    epoch: 1,
    gracePeriodSeconds: 1,
    podHash: '',
    materials: () => Promise.reject(new Error()),
  };
  const pod = { metadata: { uid: 'u', namespace: 'default', name: 'web' } };
  const all = () => [
    owned.createPod(pod, options),
    owned.updatePod!(pod, pod, options),
    owned.deletePod({ ...pod.metadata, nodeName: 'node-a' }, options),
  ];
  await Promise.all(all());
  expect(call).toHaveBeenCalledTimes(3);
  isOwned = false;
  const settled = vi.fn<() => void>();
  const calls = all();
  for (const one of calls) one.then(settled, settled);
  await new Promise(setImmediate);
  expect(settled).not.toHaveBeenCalled();
  const reason = new Error('the node ends');
  ended.abort(reason);
  for (const one of calls) await expect(one).rejects.toBe(reason);
  expect(call).toHaveBeenCalledTimes(3);
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
