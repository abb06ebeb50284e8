import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HTTPPodClient } from '../../../src/kube/http/index.ts';
import { createPodClient } from '../../../src/kube/http/index.ts';
import type { InformerPodManager } from '../../../src/kube/informer/index.ts';
import { createInformerPodManager } from '../../../src/kube/informer/index.ts';
import { kubeConfigOf } from '../../contract/kube-config-of.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../../contract/servers.ts';
import { fromFile, mirror, recordingLogger } from './pods.ts';

for (const { name: serverName, available, start } of contractServers) {
  describe.skipIf(!available)(`a node's informer on ${serverName}`, () => {
    let server: ContractServer;
    let client: HTTPPodClient;
    let pods: InformerPodManager;
    const logger = recordingLogger();

    beforeAll(async () => {
      server = await start();
      client = createPodClient(kubeConfigOf(server, server.nodeToken('node-a')), { env: {} });
      pods = createInformerPodManager({ client, nodeName: 'node-a', random: () => 0, logger });
      pods.start();
      await pods.whenSynced();
    }, START_TIMEOUT_MS);

    afterAll(async () => {
      await pods.stop();
      await client.transport.close();
      await server.stop();
    });

    const names = (): string[] => pods.getPods().map(({ metadata }) => metadata?.name ?? '');

    /** Resolves once it holds, looked at after each change. */
    function until(holds: () => boolean): Promise<void> {
      return new Promise((resolve) => {
        const look = (): void => {
          if (holds()) resolve();
        };
        pods.subscribe({ onPodAdded: look, onPodUpdated: look, onPodRemoved: look }, { includeMirrorPods: true });
        look();
      });
    }

    const deleteNow = (name: string): Promise<unknown> => server.pods.delete(name, { gracePeriodSeconds: 0 });

    it('gets added, changed and deleted pods of its own node only', async () => {
      await server.pods.create('elsewhere', { spec: { nodeName: 'node-b' } });
      await server.pods.create('web');
      await until(() => names().includes('web'));
      expect(names()).toEqual(['web']);
      await server.pods.patchStatus('web', { phase: 'Running' });
      await until(() => pods.getPods()[0]?.status?.phase === 'Running');
      await deleteNow('web');
      await until(() => names().length === 0);
      expect(logger.messages).toEqual([]);
    });

    it('sees the mirror of a static pod', async () => {
      const annotations = { ...mirror, 'kubernetes.io/config.hash': 'hash' };
      pods.setStaticPods([
        { metadata: { name: 'etcd-node-a', namespace: 'default', uid: 'uid-static', annotations: fromFile } },
      ]);
      const node = (await client.transport.request('GET', '/api/v1/nodes/node-a')).json() as {
        metadata: { uid: string };
      };
      const owner = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: node.metadata.uid, controller: true };
      await server.pods.create('etcd-node-a', { metadata: { annotations, ownerReferences: [owner] } });
      await until(() => pods.getUIDTranslations().podToMirror.get('uid-static') !== '');
      expect(pods.getPods().map(({ metadata }) => metadata?.uid)).toEqual(['uid-static']);
      pods.setStaticPods([]);
      await deleteNow('etcd-node-a');
    });

    it(
      'knows which pods were added and deleted while it could not watch, also when the resource version has expired',
      async () => {
        for (const name of ['stays', 'goes', 'returns']) await server.pods.create(name);
        await until(() => names().length === 3);
        const { uid } = pods.getPods().find(({ metadata }) => metadata?.name === 'returns')?.metadata ?? {};
        await server.kill();
        await server.startAgain();
        // That the kill cut its connection, the test's own client may notice only by using it.
        await server.http.request('GET', '/readyz').catch(() => {});
        await deleteNow('goes');
        await deleteNow('returns');
        await server.pods.create('returns');
        await server.pods.create('comes');
        await server.forgetHistory();
        await until(
          () => names().includes('comes') && !names().includes('goes') && pods.getPodByUID(uid ?? '') === undefined,
        );
        expect(new Set(names())).toEqual(new Set(['comes', 'returns', 'stays']));
        expect(logger.failedRounds.length).toBeGreaterThan(0);
      },
      START_TIMEOUT_MS,
    );
  });
}
