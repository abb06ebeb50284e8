import { createKubeTransport } from 'kubelet-status-manager/http';
import { ApiServer, FakeClock } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { NodeRegistration } from '../../../examples/node-agent/node-registration.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

it('taints the Node that it takes up again, once, and keeps the taints of others', async () => {
  await using server = await ApiServer.start();
  const transport = createKubeTransport(server.kubeconfig());
  const path = '/api/v1/nodes/agent';
  const run = async (isTainted: boolean): Promise<unknown> => {
    const registration = new NodeRegistration({
      transport,
      nodeName: 'agent',
      addresses: ['10.0.0.1'],
      isTainted,
      clock: new FakeClock(),
      logger: recordingLogger(),
    });
    await registration.register();
    await registration.unregister({ remove: false });
    const { spec } = (await transport.request('GET', path)).json() as { spec: { taints?: unknown } };
    return spec.taints;
  };
  // The one that admission gives a new Node; on a cluster of its own the agent adds none.
  const foreign = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  expect(await run(false)).toEqual([foreign]);
  const both = [foreign, { key: 'kubelet-status-manager.dev/node-agent', effect: 'NoSchedule' }];
  expect(await run(true)).toEqual(both);
  expect(await run(true)).toEqual(both);
  await transport.close();
});
