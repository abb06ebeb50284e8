import { expect, it, vi } from 'vitest';
import type { PodProvider } from '../../../src/provider/pod-provider.ts';
import { providerWhileOwned } from '../../../src/provider/replicas/while-owned.ts';

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
