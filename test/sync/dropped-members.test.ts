import { afterEach, expect, it } from 'vitest';
import { type Pod, StatusManager } from 'kubelet-status-manager';
import { createPodClient, type HttpPodClient } from 'kubelet-status-manager/http';
import { ApiServer, FakeClock, recordingLogger, settle, SyncedPodManager } from 'kubelet-status-manager/testing';

let server: ApiServer;
let client: HttpPodClient;
let manager: StatusManager;

afterEach(async () => {
  await manager.stop();
  await client.transport.close();
  await server.close();
});

it.each(['strategic-merge', 'json-patch'] as const)(
  'on kube-apiserver 1.33, which drops observedGeneration and resources, every pod was patched again and warned of (%s)',
  async (patchStrategy) => {
    const clock = new FakeClock();
    const logger = recordingLogger();
    server = await ApiServer.start({ clock });
    server.mutate({ verb: 'patch', subresource: 'status' }, ({ status, ...rest }) => {
      const { observedGeneration: _dropped, resources: _unknown, conditions, ...kept } = status ?? {};
      const keptConditions = conditions?.map(({ observedGeneration: _droppedToo, ...condition }) => condition);
      return { ...rest, status: { ...kept, ...(keptConditions && { conditions: keptConditions }) } };
    });
    client = createPodClient(server.kubeconfig());
    const podManager = new SyncedPodManager(server.pods);
    const options = { client, podManager, podDeletionSafety: () => false, clock, logger, patchStrategy };
    manager = new StatusManager(options);
    manager.start();
    const containers = [{ name: 'c', image: 'i' }];
    const pods: Pod[] = ['a', 'b', 'c'].map((name) =>
      server.pods.create({ metadata: { name }, spec: { nodeName: 'node-a', containers } }),
    );
    const conditions = [{ type: 'Ready', status: 'True', observedGeneration: 1 }];
    const settled = (): Promise<void> => settle(clock, manager, server);
    for (const pod of pods) {
      manager.setPodStatus(pod, { phase: 'Running', qosClass: 'BestEffort', conditions, resources: {} });
      await settled();
    }
    expect(manager.getPodStatus(pods[0]!.metadata!.uid!)?.observedGeneration).toBe(1);
    const bodies = server.requests.filter(({ method }) => method === 'PATCH').map(({ body }) => body);
    expect(bodies.map((body) => /observedGeneration|resources/.test(body))).toEqual([true, false, false]);

    await clock.advanceAsync(60_000, settled);
    expect(server.requests).toHaveLength(6);
    expect(logger.warnings).toEqual([]);
    const learned = logger.lines.filter(({ message }) => message.includes('drops a member'));
    expect(learned).toMatchObject([
      { level: 'info', fields: { member: 'observedGeneration' } },
      { level: 'info', fields: { member: 'resources' } },
    ]);
  },
);
