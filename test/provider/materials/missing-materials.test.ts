import { expect, it } from 'vitest';
import type { PodMaterials, PodProvider } from 'kubelet-status-manager/provider';
import { TestNodes } from '../test-nodes.ts';

it('a pod waits for a Secret with the reason of the kubelet, and is created when the Secret exists', async () => {
  await using test = await TestNodes.start();
  let materials: PodMaterials | undefined;
  const { cloud } = test;
  const provider: PodProvider = {
    createPod: async (pod, options) => {
      materials = await options.materials();
      await cloud.createPod(pod, options);
    },
    deletePod: (pod, options) => cloud.deletePod(pod, options),
    listPods: (options) => cloud.listPods(options),
  };
  await test.startNodes(['node-a'], { provider });
  const valueFrom = { secretKeyRef: { name: 'login', key: 'password' } };
  const resource = { resourceFieldRef: { resource: 'limits.cpu' } };
  const env = [{ name: 'PASSWORD', valueFrom }, { name: 'CPU', valueFrom: resource }, hostIP] as never;
  await test.create({ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1', env }] } });
  await test.advance(1000);
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

const hostIP = { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } };
