import { describe, expect, it } from 'vitest';
import type { PodClient } from '../../../src/kube/client/pod-client.ts';
import { isCoreV1ApiLike, isPodClient, toPodClient } from '../../../src/kube/client/to-pod-client.ts';
import { StatusManagerError } from '../../../src/shared/errors.ts';
import { loadClientNode } from '../../support/client-node.ts';

const { KubeConfig } = await loadClientNode();
const unused = (): Promise<never> => Promise.reject(new Error('not called here'));
const podClient = { getPod: unused, patchPodStatus: unused, deletePod: unused };
const api = { readNamespacedPod: unused, patchNamespacedPodStatus: unused, deleteNamespacedPod: unused };

describe('toPodClient', () => {
  it('takes a PodClient as it is', () => {
    expect(toPodClient(podClient)).toBe(podClient);
  });

  it('wraps a CoreV1Api', () => {
    const client = toPodClient(api);
    expect(isPodClient(client)).toBe(true);
    expect(client.close).toBeTypeOf('function');
  });

  it.each<[unknown, string]>([
    [undefined, 'got undefined'],
    [null, 'got null'],
    ['https://host', 'got string'],
    [{}, 'without `readNamespacedPod`, `patchNamespacedPodStatus`, `deleteNamespacedPod`'],
    [{ ...api, deleteNamespacedPod: undefined }, 'without `deleteNamespacedPod`'],
    [{ getPod: unused, deletePod: unused }, 'without `patchPodStatus`'],
  ])('says what is wrong with %o', (client, expected) => {
    const attempt = (): PodClient => toPodClient(client as PodClient);
    expect(attempt).toThrow(StatusManagerError);
    expect(attempt).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path: 'client' }));
    expect(attempt).toThrow(expected);
  });
});

it('a KubeConfig that names no cluster is refused when it is given', () => {
  expect(() => toPodClient(new KubeConfig())).toThrow('`kubeConfig.current-context` to name a context with a cluster');
});

describe('isCoreV1ApiLike and isPodClient', () => {
  it('distinguish the two', () => {
    expect([isCoreV1ApiLike(api), isPodClient(api)]).toEqual([true, false]);
    expect([isCoreV1ApiLike(podClient), isPodClient(podClient)]).toEqual([false, true]);
  });
});
