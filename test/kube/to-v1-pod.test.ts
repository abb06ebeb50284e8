import { describe, expect, it } from 'vitest';
import { type Pod, toV1Pod } from 'kubelet-status-manager';
import { loadClientNode } from '../support/client-node.ts';
import { startHTTPServer } from '../support/http-server.ts';

const time = '2026-01-02T03:04:05Z';
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'ns',
    creationTimestamp: time,
    labels: { time },
    annotations: { startTime: time },
    managedFields: [{ manager: 'm', operation: 'Update', time, fieldsV1: { 'f:startTime': {}, startTime: time } }],
  },
  spec: { containers: [{ name: 'app', env: [{ name: 'startTime', value: time }] }] },
  status: {
    startTime: time,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time }],
    containerStatuses: [
      {
        name: 'app',
        state: { running: { startedAt: time } },
        lastState: { terminated: { exitCode: 1, finishedAt: time } },
      },
    ],
  },
};

describe('toV1Pod', () => {
  it('client-node sends the copy as the pod was', async () => {
    await using server = await startHTTPServer();
    server.respondWith({ body: {} });
    const { CoreV1Api, KubeConfig } = await loadClientNode();
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromOptions({
      clusters: [{ name: 'c', server: server.url, skipTLSVerify: true }],
      users: [{ name: 'u' }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    });
    const api = kubeConfig.makeApiClient(CoreV1Api);
    await api.createNamespacedPod({ namespace: 'ns', body: toV1Pod(pod) });
    const sent = JSON.parse(server.requests[0]?.body.replaceAll('.000Z', 'Z').replaceAll('.000000Z', 'Z') ?? '') as Pod;
    expect(sent).toEqual(pod);
  });

  it('times are Dates, as in a pod that client-node returns', () => {
    const copy = toV1Pod<{ status: { startTime: unknown; conditions: { lastTransitionTime: unknown }[] } }>(pod);
    expect(copy.status.startTime).toEqual(new Date(time));
    expect(copy.status.conditions[0]?.lastTransitionTime).toEqual(new Date(time));
  });

  it('shares nothing with the pod, and needs neither metadata nor status', () => {
    const copy = toV1Pod<Pod>(pod);
    expect(copy.spec).toEqual(pod.spec);
    expect(copy.spec).not.toBe(pod.spec);
    expect(copy.metadata?.labels).not.toBe(pod.metadata?.labels);
    expect(toV1Pod({ spec: {} })).toEqual({ spec: {} });
  });
});
