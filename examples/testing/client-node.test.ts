import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { APIServer } from 'kubelet-status-manager/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: APIServer;
let api: CoreV1Api;

beforeAll(async () => {
  server = await APIServer.start();
  const config = new KubeConfig();
  config.loadFromString(server.kubeconfigYaml());
  api = config.makeApiClient(CoreV1Api);
});

afterAll(() => server.close());

it('finds the pods that are not bound to a node', async () => {
  const spec = { containers: [{ name: 'app', image: 'app:1' }] };
  await api.createNamespacedPod({ namespace: 'default', body: { metadata: { name: 'web' }, spec } });
  server.pods.create({ metadata: { name: 'bound' }, spec: { ...spec, nodeName: 'node-a' } });

  const { items } = await api.listPodForAllNamespaces({ fieldSelector: 'spec.nodeName=' });
  expect(items.map(({ metadata }) => metadata?.name)).toEqual(['web']);
});
