import { describe, expect, it } from 'vitest';
import type { PodMaterials, PodProvider, ProviderPodOptions } from 'kubelet-status-manager/virtual-nodes';
import type { FakeCloud } from '../fake-cloud.ts';
import { TestNodes } from '../test-nodes.ts';

/** A cloud whose provider does something else before it creates a pod. */
function providerOf(cloud: FakeCloud, beforeCreate: (options: ProviderPodOptions) => Promise<void>): PodProvider {
  return {
    createPod: async (pod, options) => {
      await beforeCreate(options);
      await cloud.createPod(pod, options);
    },
    deletePod: (pod, options) => cloud.deletePod(pod, options),
    listPods: (options) => cloud.listPods(options),
  };
}

it('a pod waits for a Secret with the reason of the kubelet, and is created when the Secret exists', async () => {
  await using test = await TestNodes.start();
  let materials: PodMaterials | undefined;
  const provider = providerOf(test.cloud, async (options) => void (materials = await options.materials()));
  await test.startNodes(['node-a'], { provider });
  const env = [
    { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
    { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
  ] as never;
  await test.create({ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1', env }] } });
  await test.advance(2500);
  expect(test.status('web')?.containerStatuses?.[0]?.state?.waiting).toEqual({
    reason: 'CreateContainerConfigError',
    message: 'secret "login" not found',
  });
  expect(test.podEvents()).toContain('web: CreateContainerConfigError');

  test.server.secrets.create({ metadata: { name: 'login' }, stringData: { password: 'hunter2' } });
  await test.advance(60_000);
  expect(test.status('web')?.phase).toBe('Running');
  expect(materials?.containers.get('app')?.env.slice(0, 3)).toEqual([
    { name: 'PASSWORD', value: 'hunter2' },
    { name: 'CPU', value: '100' },
    { name: 'HOST', value: '10.1.2.3' },
  ]);
});

describe('a token', () => {
  /** A node with a pod that has a token; `materials` are those of its creation. */
  async function startPod(test: TestNodes) {
    let created: ProviderPodOptions | undefined;
    const provider = providerOf(test.cloud, async (options) => void (created = options));
    const nodes = await test.startNodes(['node-a'], { provider });
    const volumes = [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }];
    const spec = { containers: [{ name: 'app', image: 'app:1' }], volumes, serviceAccountName: 'default' };
    await test.create({ metadata: { name: 'web' }, spec });
    await test.advance(1000);
    const materials = (): Promise<PodMaterials> => created!.materials();
    await materials();
    await materials();
    const requests = (): number => test.writes.filter((write) => write.includes('/token ')).length;
    expect(requests()).toBe(1);
    return { nodes, materials, requests };
  }

  it('is renewed for a provider that asks again while the pod runs (k3k #1140)', async () => {
    await using test = await TestNodes.start();
    const { materials, requests } = await startPod(test);
    test.clock.setWallTime('2026-01-02T04:00:00Z');
    await materials();
    expect(requests()).toBe(2);
  });

  it('is forgotten with its pod, and not requested again by a provider that asks late', async () => {
    await using test = await TestNodes.start();
    const { materials, requests } = await startPod(test);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(10_000);
    expect(test.pod('web')).toBeUndefined();
    await expect(materials()).rejects.toThrow('the pod has ended on this node');
    expect(requests()).toBe(1);
  });

  it('is not requested after the end of its node, which another process may run from now on', async () => {
    await using test = await TestNodes.start();
    const { nodes, materials, requests } = await startPod(test);
    const removed = nodes.remove('node-a');
    await test.advance(1000);
    await removed;
    await expect(materials()).rejects.toThrow('the pod has ended on this node');
    expect(requests()).toBe(1);
  });
});
