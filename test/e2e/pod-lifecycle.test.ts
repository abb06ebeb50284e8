import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/status-manager/index.ts';
import { generateAPIPodStatus, type ObservedPod } from '../../src/status-manager/status/generate.ts';
import { contractClients } from '../contract/clients.ts';
import {
  expectOk,
  MERGE_PATCH,
  PODS_PATH,
  podManifest,
  STRATEGIC_MERGE_PATCH,
  uniqueName,
} from '../contract/pod-api.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../contract/servers.ts';
import { CONTAINER_ID, creating, exited, running } from './observations.ts';
import { TestNode, type TestNodeOptions } from './test-node.ts';

/*
 * A pod's lifecycle from creation to deletion. The manager is the node's own user, with the node
 * authorizer and NodeRestriction enabled. Users act as the admin.
 */
const setups = contractServers.flatMap((serverKind) =>
  contractClients.map((clientKind) => ({ serverKind, clientKind, title: `${serverKind.name}, ${clientKind.name}` })),
);

for (const { serverKind, clientKind, title } of setups) {
  describe.skipIf(!serverKind.available)(`on ${title}`, () => {
    let server: ContractServer;
    let node: TestNode;
    beforeAll(async () => {
      server = await serverKind.start();
    }, START_TIMEOUT_MS);
    afterAll(() => server.stop());
    const startNode = async (options: TestNodeOptions = {}): Promise<void> => {
      node = await TestNode.start(server, clientKind, options);
    };
    afterEach(() => node.stop());

    const uidOf = (pod: Pod): string => pod.metadata?.uid ?? '';
    const readyOf = (pod: Pod): string | null | undefined =>
      pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    const isTerminating = (pod: Pod): boolean => pod.metadata?.deletionTimestamp != null;

    /** Reports what the agent observes, as an agent does. */
    function report(pod: Pod, observed: ObservedPod, message?: string): void {
      const previous = node.manager.getPodStatus(uidOf(pod));
      const status = generateAPIPodStatus(pod, { ...observed, previous });
      node.manager.setPodStatus(pod, message === undefined ? status : { ...status, message });
    }

    /** Creates a pod as a user, and waits until it is Running and Ready on the API server. */
    async function bringUp(metadata: object = {}): Promise<{ name: string; uid: string }> {
      const name = uniqueName('pod');
      await server.pods.create(name, { metadata });
      const pod = await node.pod(name);
      const uid = uidOf(pod);
      await server.pods.untilNodeKnows(name, { token: server.nodeToken('node-a') });
      report(pod, creating);
      expect(await node.manager.whenWritten(uid)).toMatchObject({ written: true });
      node.couldBeRunning.add(uid);
      report(pod, running);
      expect(await node.manager.whenWritten(uid)).toMatchObject({ written: true });
      node.manager.setContainerReadiness(uid, CONTAINER_ID, true);
      expect(await node.manager.whenWritten(uid)).toMatchObject({ written: true });
      await node.pod(name, (seen) => readyOf(seen) === 'True');
      return { name, uid };
    }

    /** A user deletes the pod, and its container terminates gracefully. */
    async function takeDown(name: string): Promise<void> {
      expectOk(await server.pods.delete(name));
      const pod = await node.pod(name, isTerminating);
      report(pod, exited);
      expect(await node.manager.whenWritten(uidOf(pod))).toMatchObject({ written: true });
      node.couldBeRunning.delete(uidOf(pod));
      report(pod, { ...exited, podIsTerminal: true });
      node.manager.terminatePod(pod);
    }

    it.for<TestNodeOptions>([
      {},
      { patchStrategy: 'json-patch' },
      { readBeforePatch: 'when-stale' },
      { readBeforePatch: 'when-stale', patchStrategy: 'json-patch', concurrency: 1 },
    ])('a regular pod, with %j: pending, running, ready, deleted by a user, terminated, removed', async (options) => {
      await startNode(options);
      const { name, uid } = await bringUp();
      await takeDown(name);
      await node.gone(name);
      await node.outcome(uid, 'deleted');
      expect(node.history(name)).toEqual([
        'Pending None',
        'Pending False',
        'Running False',
        'Running True',
        'Running True terminating',
        'Running False terminating',
        'Failed False terminating',
        'gone',
      ]);
      expect(node.client.requests.filter(({ verb }) => verb === 'delete')).toEqual([
        { verb: 'delete', name, uid, status: 200 },
      ]);
      expect(node.client.requests.filter(({ status }) => status !== 200)).toEqual([]);
      expect(node.manager.inspect().pods).toEqual([]);
    });

    it('an unchanged pod causes no request, however often it is compared', async () => {
      await startNode();
      const { name } = await bringUp();
      const requests = node.client.verbsFor(name);
      for (let batch = 0; batch < 3; batch += 1) expect((await node.manager.syncBatch(true)).tried).toBe(0);
      expect(node.client.verbsFor(name)).toEqual(requests);
    });

    it('keeps the pod while a container could be running, however often it is checked', async () => {
      await startNode();
      const { name, uid } = await bringUp();
      expectOk(await server.pods.delete(name));
      const pod = await node.pod(name, isTerminating);
      node.manager.terminatePod(pod);
      for (let batch = 0; batch < 3; batch += 1) await node.manager.syncBatch(true);
      const kept = expectOk(await server.pods.get(name));
      expect(kept.status.phase).toBe('Running');
      expect(node.client.verbsFor(name)).not.toContain('delete');
      node.couldBeRunning.delete(uid);
      await node.gone(name);
    });

    it('a pod with a finalizer: exactly one DELETE, and nothing more while it waits', async () => {
      await startNode();
      const { name, uid } = await bringUp({ finalizers: ['example.com/hold'] });
      await takeDown(name);
      await node.outcome(uid, 'deletion-requested');
      const verbs = node.client.verbsFor(name);
      expect(verbs.filter((verb) => verb === 'delete')).toHaveLength(1);
      expect(verbs.at(-1)).toBe('delete');
      for (let batch = 0; batch < 5; batch += 1) await node.manager.syncBatch(true);
      const waiting = expectOk(await server.pods.get(name));
      expect(waiting.metadata.finalizers).toEqual(['example.com/hold']);
      expect(waiting.status.phase).toBe('Failed');
      expect(node.client.verbsFor(name)).toEqual(verbs);
      expectOk(await server.pods.patch(name, { metadata: { finalizers: null } }, MERGE_PATCH));
      await node.gone(name);
      await node.outcome(uid, 'deleted');
      expect(node.client.verbsFor(name)).toEqual(verbs);
    });

    it('a pod recreated under its name while its old status is in flight: the new pod never gets the old status', async () => {
      await startNode();
      const { name, uid } = await bringUp();
      const held = node.client.holdNextPatch();
      report(await node.pod(name), running, 'of the old pod');
      await held.reached;
      expectOk(await server.pods.delete(name, { gracePeriodSeconds: 0 }));
      const created = await server.pods.create(name);
      const recreated = await node.pod(name, (pod) => uidOf(pod) !== uid);
      const written = node.manager.whenWritten(uid);
      held.open();
      expect(await written).toMatchObject({ written: false, reason: 'recreated' });
      expect(node.manager.getPodStatus(uid)).toBeUndefined();
      expect(expectOk(await server.pods.get(name))).toEqual(created);

      report(recreated, creating, 'of the new pod');
      expect(await node.manager.whenWritten(uidOf(recreated))).toMatchObject({ written: true });
      expect(expectOk(await server.pods.get(name)).status).toMatchObject({
        phase: 'Pending',
        message: 'of the new pod',
      });
      expect(node.client.requests.filter(({ verb, status }) => verb === 'patch' && status !== 200)).toEqual([
        { verb: 'patch', name, uid, status: 422 },
      ]);
    });

    it.skipIf(title.startsWith('APIServer'))(
      'names a foreign writer of Ready, but not a writer of another condition (the APIServer has no managedFields)',
      async () => {
        await startNode();
        const { name, uid } = await bringUp();
        const write = async (manager: string, type: string, status: string): Promise<void> => {
          const path = `${name}/status?fieldManager=${manager}`;
          const body = { status: { conditions: [{ type, status }] } };
          expectOk(await server.pods.patch(path, body, STRATEGIC_MERGE_PATCH));
        };
        await write('innocent', 'example.com/gate', 'True');
        for (let times = 0; times < 3; times++) {
          await write('culprit', 'Ready', 'False');
          await node.pod(name, (pod) => readyOf(pod) === 'False');
          await node.pod(name, (pod) => readyOf(pod) === 'True');
        }
        // The event of the last PATCH may arrive before its response.
        expect(await node.manager.flush(10_000)).toBe(0);
        expect(node.logger.warnings.map(({ fields }) => fields)).toEqual([
          expect.objectContaining({ podUID: uid, fields: ['conditions'], managers: ['culprit'] }),
        ]);
      },
    );

    it("a static pod's status goes to its mirror, and to a mirror that replaces it", async () => {
      await startNode();
      const name = uniqueName('static-pod');
      const nodeUID = (await server.http.request('GET', '/api/v1/nodes/node-a')).body.metadata.uid as string;
      const createMirror = async (): Promise<Pod> => {
        const body = podManifest(name, {
          metadata: {
            annotations: { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'file' },
            ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: nodeUID, controller: true }],
          },
        });
        const response = await node.http.request('POST', PODS_PATH, { body });
        expect(response.status).toBe(201);
        return node.pod(name, (pod) => uidOf(pod) === response.body.metadata.uid);
      };
      const staticPod: Pod = {
        metadata: {
          name,
          namespace: 'default',
          uid: 'static-uid',
          annotations: { 'kubernetes.io/config.source': 'file' },
        },
        spec: { containers: [{ name: 'c' }] },
      };
      node.podManager.addPod(staticPod);
      // Nothing can be sent before the mirror exists.
      report(staticPod, creating);
      await node.manager.syncBatch(true);
      expect(node.client.verbsFor(name)).toEqual([]);

      await createMirror();
      report(staticPod, running);
      node.manager.setContainerReadiness('static-uid', CONTAINER_ID, true);
      await node.pod(name, (pod) => readyOf(pod) === 'True');

      // A user deletes the mirror and the agent creates another: the next full batch writes to that one.
      expectOk(await server.pods.delete(name, { gracePeriodSeconds: 0 }));
      await node.gone(name);
      const second = await createMirror();
      await node.pod(name, (pod) => uidOf(pod) === uidOf(second) && readyOf(pod) === 'True');
      expect(node.manager.inspect().pods).toMatchObject([{ podUID: 'static-uid' }]);
      expect(node.client.verbsFor(name)).not.toContain('delete');
    });

    it('the API server crashes and restarts: statuses set in the meantime arrive, and the pod can be deleted', async () => {
      await startNode();
      const { name, uid } = await bringUp();
      await server.kill();
      node.manager.setContainerReadiness(uid, CONTAINER_ID, false);
      await node.outcome(uid, 'retried');
      report(await node.pod(name), running, 'set while it was away');
      node.manager.setContainerReadiness(uid, CONTAINER_ID, true);
      const written = node.manager.whenWritten(uid);
      await server.startAgain();
      await node.watchPods();
      expect(await written).toMatchObject({ written: true });
      const pod = await node.pod(name, ({ status }) => status?.message === 'set while it was away');
      expect(readyOf(pod)).toBe('True');
      await takeDown(name);
      await node.gone(name);
    });
  });
}
