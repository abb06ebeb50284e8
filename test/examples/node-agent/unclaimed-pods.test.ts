import { APIEventRecorder, createEventClient } from 'kubelet-status-manager/agent';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { APIServer } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { UnclaimedPods } from '../../../examples/node-agent/unclaimed-pods.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

it('a pod without the annotation gets one warning and one Event with the reason', async () => {
  await using server = await APIServer.start();
  const transport = createKubeTransport(server.kubeconfig());
  const logger = recordingLogger();
  const recorder = new APIEventRecorder({ client: createEventClient(transport), nodeName: 'agent', logger });
  const unclaimed = new UnclaimedPods(recorder, logger);
  const pod = { metadata: { namespace: 'default', name: 'foreign', uid: 'uid-foreign' } };
  unclaimed.handlePod(pod);
  unclaimed.handlePod(pod);
  const events = async (): Promise<object[]> =>
    ((await transport.request('GET', '/api/v1/namespaces/default/events')).json() as { items: object[] }).items;
  await expect.poll(events).toHaveLength(1);
  expect(await events()).toMatchObject([
    { type: 'Warning', reason: 'NotRun', involvedObject: { kind: 'Pod', name: 'foreign', uid: 'uid-foreign' } },
  ]);
  expect(logger.warnings).toMatchObject([{ fields: { pod: 'default/foreign' } }]);
  expect(logger.warnings[0]!.message).toContain('kubelet-status-manager.dev/run: process');
  await recorder.stop();
  await transport.close();
});
