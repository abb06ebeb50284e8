import { describe, expect, it, vi } from 'vitest';
import { applyPodStatusPatch, StatusManager, type Pod } from '../../src/status-manager/index.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { getTestPod, testPodUID as uid } from './fixture.ts';

/** The example of the README. */
function mockedAPI(pod: Pod) {
  let onServer = pod;
  const api = {
    readNamespacedPod: vi.fn<() => Promise<Pod>>(async () => onServer),
    patchNamespacedPodStatus: vi.fn<(request: { body: object }) => Promise<Pod>>(async ({ body }) => {
      const { status = {} } = body as Pod;
      onServer = { ...onServer, status: applyPodStatusPatch(onServer.status ?? {}, status) };
      return onServer;
    }),
    deleteNamespacedPod: vi.fn<() => Promise<Pod>>(async () => onServer),
  };
  return { api, onServer: () => onServer };
}

describe('a mock of CoreV1Api', () => {
  it('works with toHaveBeenCalledWith and JSON: the call options are not circular', async () => {
    const pod = getTestPod();
    const { api, onServer } = mockedAPI(pod);
    const manager = new StatusManager({
      client: api,
      podCouldHaveRunningContainers: () => false,
      logger: recordingLogger(),
    });
    manager.setPodStatus(pod, { phase: 'Running' });
    await manager.syncBatch(false);
    expect(onServer().status?.phase).toBe('Running');
    const body = { metadata: { uid }, status: { phase: 'Running', startTime: expect.any(String) } };
    const request = { name: 'foo', namespace: 'new', body };
    expect(api.patchNamespacedPodStatus).toHaveBeenCalledWith(request, expect.anything());
    expect(api.patchNamespacedPodStatus).toHaveBeenCalledWith(request, {});
    expect(JSON.parse(JSON.stringify(api.patchNamespacedPodStatus.mock.calls))).toEqual([[request, {}]]);
    await manager.stop();
  });

  it('that applies the patch does not get the same patch again', async () => {
    const pod = getTestPod();
    const { api } = mockedAPI(pod);
    const manager = new StatusManager({
      client: api,
      podCouldHaveRunningContainers: () => false,
      logger: recordingLogger(),
    });
    manager.setPodStatus(pod, { phase: 'Running' });
    for (let i = 0; i < 5; i++) await manager.syncBatch(true);
    expect(api.patchNamespacedPodStatus).toHaveBeenCalledTimes(1);
    await manager.stop();
  });
});
