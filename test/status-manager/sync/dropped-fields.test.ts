import { afterEach, describe, expect, it } from 'vitest';
import { type Pod, type PodStatus, StatusManager } from 'kubelet-status-manager';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, recordingLogger, settle, SyncedPodManager } from 'kubelet-status-manager/testing';
import { DroppedFields, withoutDroppedFields } from '../../../src/status-manager/sync/dropped-fields.ts';
import { PodRecord } from '../../../src/status-manager/sync/pod-records.ts';
import { SyncHarness, uidOf } from './sync-harness.ts';

let server: APIServer;
let client: HTTPPodClient;
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
    server = await APIServer.start({ clock });
    server.mutate({ verb: 'patch', subresource: 'status' }, ({ status, ...rest }) => {
      const { observedGeneration: _dropped, resources: _unknown, conditions, ...kept } = status ?? {};
      const keptConditions = conditions?.map(({ observedGeneration: _droppedToo, ...condition }) => condition);
      return { ...rest, status: { ...kept, ...(keptConditions && { conditions: keptConditions }) } };
    });
    client = createPodClient(server.kubeconfig());
    const podManager = new SyncedPodManager(server.pods);
    const options = { client, podManager, podCouldHaveRunningContainers: () => false, clock, logger, patchStrategy };
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
    expect(bodies.map((body) => /observedGeneration|resources/.test(body))).toEqual([true, true, true]);

    await clock.advanceAsync(60_000, settled);
    expect(server.requests).toHaveLength(6);
    expect(logger.warnings).toEqual([]);
    const learned = logger.lines.filter(({ message }) => message.includes('drops a field'));
    expect(learned).toMatchObject([
      { level: 'info', fields: { field: 'observedGeneration' } },
      { level: 'info', fields: { field: 'resources' } },
    ]);
  },
);

describe('a field that is missing in the response', () => {
  const ready = { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null };
  const conditions = [{ ...ready, observedGeneration: 1 }];
  const status = { phase: 'Running', observedGeneration: 1, conditions, resources: {} };

  it('because an old client has removed it, is still written', async () => {
    const h = new SyncHarness().informed();
    const pods = h.addPods('a', 'b');
    for (const name of ['a', 'b']) h.set(name, '1');
    await h.manager.syncBatch(false);
    h.set('a', '2');
    h.client.react({ verb: 'patch', name: 'a' }, () => {
      const { status: shown, ...rest } = h.client.pod('default', 'a')!;
      const { observedGeneration: _removed, ...others } = shown!;
      h.client.put({ ...rest, status: others });
    });
    await h.manager.syncBatch(false);
    expect(h.client.pod('default', 'a')?.status).not.toHaveProperty('observedGeneration');
    await h.manager.syncBatch(true);
    h.set('b', '2');
    await h.manager.syncBatch(false);
    for (const { metadata } of pods) {
      expect(h.client.pod('default', metadata!.name!)?.status).toMatchObject({ observedGeneration: 1 });
    }
  });

  it('is written again after the status of the pod was removed', async () => {
    const h = new SyncHarness();
    const [pod] = h.addPods('a');
    h.client.react({ verb: 'patch' }, () => ({ response: { ...pod!, status: { phase: 'Running', message: '1' } } }));
    h.set('a', '1');
    await h.manager.syncBatch(false);
    h.manager.removeOrphanedStatuses([]);
    h.set('a', '2');
    await h.manager.syncBatch(true);
    expect(h.client.pod('default', 'a')?.status).toMatchObject({ message: '2', observedGeneration: 1 });
  });

  const learned = (response: PodStatus): PodRecord => {
    const record = new PodRecord('a');
    new DroppedFields(recordingLogger()).learn(record, {}, status, response);
    return record;
  };

  it('of one pod is left out of that pod alone: a feature gate that is off keeps what other pods have', () => {
    const { droppedFields } = learned({ phase: 'Running', observedGeneration: 1 });
    expect(withoutDroppedFields(droppedFields, status, {})).toEqual({
      phase: 'Running',
      observedGeneration: 1,
      conditions,
    });
    expect(withoutDroppedFields(new PodRecord('b').droppedFields, status, {})).toBe(status);
  });

  it('is not removed from a pod when the API server, upgraded in the meantime, shows it', () => {
    const { droppedFields } = learned({ phase: 'Running' });
    expect(withoutDroppedFields(droppedFields, status, { observedGeneration: 1, resources: {} })).toEqual(status);
    expect(withoutDroppedFields(droppedFields, status, {})).toEqual({ phase: 'Running', conditions: [ready] });
  });
});

it('the health of volumes is not sent again and again to an API server that drops it', async () => {
  const clock = new FakeClock();
  server = await APIServer.start({ clock });
  client = createPodClient(server.kubeconfig());
  const podManager = new SyncedPodManager(server.pods);
  manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
  manager.start();
  const pod = server.pods.create({
    metadata: { name: 'a' },
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] },
  });
  manager.setPodStatus(pod, { phase: 'Running' });
  manager.setPodVolumeHealth(pod.metadata.uid, 'data', [{ status: 'Abnormal', reason: 'Lost' }]);
  const settled = (): Promise<void> => settle(clock, manager, server);
  await clock.advanceAsync(60_000, settled);
  expect(server.requests.filter(({ body }) => body.includes('volumeHealth'))).toHaveLength(1);
});

it('a DisruptionTarget lost its observedGeneration in the cached status when its time was refreshed, on a server that drops it', async () => {
  const h = new SyncHarness();
  const [pod] = h.addPods('a');
  h.client.react({ verb: 'patch' }, () => ({ response: { ...pod!, status: { phase: 'Running', message: '1' } } }));
  h.set('a', '1');
  await h.manager.syncBatch(false);
  const target = { type: 'DisruptionTarget', status: 'True', observedGeneration: 1 };
  h.set('a', '2', { phase: 'Failed', conditions: [target] });
  await h.manager.syncBatch(false);
  expect(h.manager.getPodStatus(uidOf('a'))?.conditions).toMatchObject([target]);
});
