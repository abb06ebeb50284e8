import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntimeHelper } from 'kubelet-status-manager/agent';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { kubeConfigOf } from './kube-config-of.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from './servers.ts';
import { recordingLogger } from '../kube/informer/pods.ts';
import { TestDirectories } from '../support/directories.ts';

const servicesPath = '/api/v1/namespaces/default/services';
const container = { name: 'app' };
const pod = {
  metadata: { namespace: 'default', name: 'web', uid: 'uid-1' },
  spec: { enableServiceLinks: true, containers: [container] },
};

for (const kind of contractServers) {
  describe.skipIf(!kind.available)(`the environment of containers of a node user on ${kind.name}`, () => {
    const directories = new TestDirectories();
    const logger = recordingLogger();
    let server: ContractServer;
    let client: HTTPPodClient;
    let helper: ReturnType<typeof createRuntimeHelper>;

    beforeAll(async () => {
      server = await kind.start();
      client = createPodClient(kubeConfigOf(server, server.nodeToken('node-a')), { env: {} });
      helper = createRuntimeHelper({ client, rootDirectory: directories.create(), mounts: false, logger });
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await helper?.close();
      await client?.transport.close();
      await server?.stop();
      directories.removeAll();
    });

    const variables = async (): Promise<Record<string, string>> => {
      const { envs } = await helper.generateRunContainerOptions(pod, container, []);
      return Object.fromEntries(envs.map(({ name, value }) => [name, value]));
    };

    it('has the Service kubernetes', async () => {
      // kube-apiserver creates it soon after it is ready.
      await expect.poll(variables).toHaveProperty('KUBERNETES_SERVICE_HOST');
      const { spec } = (await server.http.request('GET', `${servicesPath}/kubernetes`)).body;
      expect(await variables()).toMatchObject({
        KUBERNETES_SERVICE_HOST: spec.clusterIP,
        KUBERNETES_SERVICE_PORT: String(spec.ports[0].port),
        KUBERNETES_SERVICE_PORT_HTTPS: String(spec.ports[0].port),
      });
      expect(logger.messages).toEqual([]);
    });

    // APIServer has no other Services.
    it.skipIf(kind.name === 'APIServer')('follows the Services of the namespace, except headless ones', async () => {
      const create = async (name: string, spec: object): Promise<void> => {
        const body = { metadata: { name }, spec: { ports: [{ name: 'http', port: 80 }], ...spec } };
        expect((await server.http.request('POST', servicesPath, { body })).status).toBe(201);
      };
      await create('headless', { clusterIP: 'None' });
      await create('web', { selector: { app: 'web' } });
      await expect.poll(variables).toMatchObject({ WEB_SERVICE_PORT_HTTP: '80' });
      expect(await variables()).not.toHaveProperty('HEADLESS_SERVICE_HOST');
      await server.http.request('DELETE', `${servicesPath}/web`);
      await expect.poll(variables).not.toHaveProperty('WEB_SERVICE_PORT_HTTP');
    });

    it('stays as it was while the server is away', { timeout: START_TIMEOUT_MS }, async () => {
      const before = await variables();
      await server.kill();
      expect(await variables()).toEqual(before);
      await server.startAgain();
    });
  });
}
