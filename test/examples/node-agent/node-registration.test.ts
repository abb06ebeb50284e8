import { createKubeTransport } from 'kubelet-status-manager/http';
import { ApiServer, FakeClock } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { NodeRegistration } from '../../../examples/node-agent/node-registration.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

it('taints the Node that it adopts, once, and keeps the taints of others', async () => {
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
  // The taint that admission adds to a new Node. On its own API server, the agent adds none.
  const foreign = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  expect(await run(false)).toEqual([foreign]);
  const both = [foreign, { key: 'kubelet-status-manager.dev/node-agent', effect: 'NoSchedule' }];
  expect(await run(true)).toEqual(both);
  expect(await run(true)).toEqual(both);
  await transport.close();
});

it('logs in one line without a stack trace that a node user may not delete its Node, and reports it as not ready', async () => {
  await using server = await ApiServer.start({ nodeUsers: ['agent'] });
  const admin = createKubeTransport(server.kubeconfig());
  const transport = createKubeTransport(server.kubeconfig('agent'));
  const logger = recordingLogger();
  const clock = new FakeClock();
  const registration = new NodeRegistration({
    ...{ transport, nodeName: 'agent', addresses: ['10.0.0.1'], isTainted: false, clock, logger },
  });
  await registration.register();
  await registration.unregister({ remove: true });
  expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([
    {
      level: 'warn',
      message: expect.stringContaining('kubectl delete node agent'),
      fields: { node: 'agent', reason: expect.stringMatching(/^[^\n]*forbidden[^\n]*$/) },
    },
  ]);
  const node = (await admin.request('GET', '/api/v1/nodes/agent')).json() as { status: { conditions: object[] } };
  expect(node.status.conditions.at(-1)).toMatchObject({ type: 'Ready', status: 'False' });
  await transport.close();
  await admin.close();
});
