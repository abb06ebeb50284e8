import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isMirrorPod, type Pod } from 'kubelet-status-manager';
import { createNodeAgent, fileSource, type NodeAgent } from 'kubelet-status-manager/agent';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { createInformerPodManager, type InformerPodManager } from 'kubelet-status-manager/informer';
import { FakeContainerRuntime, recordingLogger } from 'kubelet-status-manager/testing';
import { kubeConfigOf } from '../../contract/kube-config-of.ts';
import { expectOk } from '../../contract/pod-api.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../../contract/servers.ts';
import { isReady, untilShown } from '../../contract/until-shown.ts';

const nodeName = 'node-c';

describe.each(contractServers)('an agent as the user of its node: $name', (kind) => {
  let server: ContractServer;
  let agent: NodeAgent | undefined;
  let transport: KubeTransport | undefined;
  let seen: InformerPodManager | undefined;
  let directory: string | undefined;
  afterEach(async () => {
    await agent?.stop();
    await seen?.stop();
    await transport?.close();
    await server?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  it.runIf(kind.available)(
    'registers its Node, runs a pod and a static pod with its mirror, evicts, deletes, and is continued by another agent',
    async () => {
      server = await kind.start();
      directory = await mkdtemp(path.join(tmpdir(), 'manifests-'));
      const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static' } };
      const container = { name: 'app', image: 'app:1' };
      await writeFile(
        path.join(directory, 'static.json'),
        JSON.stringify({ ...manifest, spec: { containers: [container] } }),
      );
      const logger = recordingLogger();
      const runtime = new FakeContainerRuntime();
      const start = (): NodeAgent => {
        agent = createNodeAgent({
          nodeName,
          client: kubeConfigOf(server, server.nodeToken(nodeName)),
          runtime,
          sources: [fileSource({ path: directory! })],
          node: { addresses: ['10.1.2.3'] },
          logger,
        });
        agent.start();
        return agent;
      };
      await start().whenReady();
      transport = createKubeTransport(kubeConfigOf(server, server.adminToken));
      seen = createInformerPodManager({ client: { transport }, nodeName });
      seen.start();

      const create = async (name: string): Promise<string> => {
        const spec = { nodeName, containers: [container], terminationGracePeriodSeconds: 5 };
        return ((await server.pods.create(name, { spec })) as Pod).metadata!.uid!;
      };
      const uid = await create('web');
      await create('evicted');
      await untilShown(seen, 'web', isReady);
      const mirror = await untilShown(seen, `static-${nodeName}`, isReady);
      expect(isMirrorPod(mirror)).toBe(true);
      await untilShown(seen, 'evicted', isReady);

      const toEvict = agent!.getPods().find(({ metadata }) => metadata?.name === 'evicted')!;
      expect(await agent!.evict(toEvict, { message: 'too big', gracePeriodSeconds: 1 })).toBe(true);
      const evicted = await untilShown(seen, 'evicted', (pod) => pod?.status?.phase === 'Failed');
      expect(evicted?.status).toMatchObject({ reason: 'Evicted', message: 'too big' });

      await agent!.stop({ drain: true });
      await start().whenReady();
      expectOk(await server.pods.delete('web'));
      await untilShown(seen, 'web', (pod) => pod === undefined);
      expect(runtime.callsOf({ method: 'startContainer', podUID: uid })).toHaveLength(1);

      const events = expectOk(await server.http.request('GET', '/api/v1/namespaces/default/events')).items as {
        reason: string;
        involvedObject: { name: string };
      }[];
      const reasons = events.filter(({ involvedObject }) => involvedObject.name === 'web').map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['Pulled', 'Created', 'Started']));
      expect(logger.errors).toEqual([]);
    },
    START_TIMEOUT_MS,
  );
});
