// Pods and Namespaces without HTTP, and a mutating webhook that injects a sidecar.
import { expect, it } from 'vitest';
import { APIServer } from 'kubelet-status-manager/testing';

it('a sidecar is injected', async () => {
  await using server = await APIServer.start();
  server.namespaces.create('shop');
  server.mutate({ verb: 'create', resource: 'pods', namespace: 'shop' }, ({ spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, containers: [...(spec?.containers ?? []), { name: 'proxy', image: 'proxy:1' }] },
  }));

  const containers = [{ name: 'app', image: 'app:1' }];
  const pod = server.pods.create({ metadata: { namespace: 'shop', name: 'web' }, spec: { containers } });
  expect(pod.spec?.containers?.map(({ name }) => name)).toEqual(['app', 'proxy']);
  expect(server.history('shop/web').map(({ verb }) => verb)).toEqual(['create']);
});
