// A mock of client-node's CoreV1Api as the client. It must apply the patch, as a server does.
import { applyPodStatusPatch, type Pod, StatusManager } from 'kubelet-status-manager';
import { silentLogger } from 'kubelet-status-manager/testing';
import { expect, it, vi } from 'vitest';

const [namespace, name, uid] = ['default', 'web', 'web-1'];
const pod: Pod = { metadata: { namespace, name, uid }, spec: {} };

it('writes the status with one PATCH', async () => {
  let onServer = pod;
  const api = {
    readNamespacedPod: vi.fn(async () => onServer),
    patchNamespacedPodStatus: vi.fn(async ({ body }: { body: object }) => {
      const { status = {} } = body as Pod;
      onServer = { ...onServer, status: applyPodStatusPatch(onServer.status ?? {}, status) };
      return onServer;
    }),
    deleteNamespacedPod: vi.fn(async () => onServer),
  };
  const manager = new StatusManager({ client: api, podCouldHaveRunningContainers: () => false, logger: silentLogger });
  manager.setPodStatus(pod, { phase: 'Running' });
  expect(await manager.syncBatch(false)).toMatchObject({ tried: 1, written: 1 });
  expect(onServer.status?.phase).toBe('Running');
  // The manager adds `startTime` to a first status; the second argument has client-node's request options.
  const body = { metadata: { uid }, status: { phase: 'Running', startTime: expect.any(String) } };
  expect(api.patchNamespacedPodStatus).toHaveBeenCalledWith({ name, namespace, body }, expect.anything());
});
