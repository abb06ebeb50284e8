import { expect, it } from 'vitest';
import { APIError, type Pod } from 'kubelet-status-manager';
import { FakeClock } from 'kubelet-status-manager/testing';
import { OrphanedPods } from '../../src/virtual-nodes/pods/orphaned-pods.ts';

const reference = { uid: 'u-1', namespace: 'default', name: 'web', nodeName: 'node-a' };
const { signal } = new AbortController();
const isOrphaned = (getPod: () => Promise<Pod>) =>
  new OrphanedPods({ getPod }, new FakeClock()).isOrphaned(reference, signal);

it('a pod is orphaned if the API server does not have it, or has another one of its name', async () => {
  const notFound = new APIError('404 NotFound', { kind: 'http', statusCode: 404, reason: 'NotFound' });
  expect(await isOrphaned(() => Promise.reject(notFound))).toBe(true);
  expect(await isOrphaned(async () => ({ metadata: { uid: 'u-2' }, spec: { nodeName: 'node-a' } }))).toBe(true);
});

it('a pod is not orphaned if the API server has it on the node', async () => {
  expect(await isOrphaned(async () => ({ metadata: { uid: 'u-1' }, spec: { nodeName: 'node-a' } }))).toBe(false);
});

it.each([
  [{ nodeName: 'node-b' }, 'node node-b'],
  [{}, 'no node'],
])('rejects if the API server has the pod with %o', async (spec, where) => {
  const message = `the provider reports pod default/web (u-1) on node node-a, the API server has it on ${where}`;
  await expect(isOrphaned(async () => ({ metadata: { uid: 'u-1' }, spec }))).rejects.toThrow(message);
});

it('reads four pods at the same time, each for ten seconds at most', async () => {
  const clock = new FakeClock();
  let reads = 0;
  const client = {
    getPod: () => {
      reads++;
      return new Promise<never>(() => {});
    },
  };
  const orphanedPods = new OrphanedPods(client, clock);
  const results = Promise.allSettled(Array.from({ length: 6 }, () => orphanedPods.isOrphaned(reference, signal)));
  await clock.yieldToEventLoop();
  expect(reads).toBe(4);
  await clock.advanceAsync(10_000);
  expect(reads).toBe(6);
  await clock.advanceAsync(10_000);
  const reason = expect.objectContaining({ message: 'GET of the pod took over 10000 ms' }) as unknown;
  expect(await results).toEqual(Array.from({ length: 6 }, () => ({ status: 'rejected', reason })));
});
