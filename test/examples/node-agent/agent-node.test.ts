import { NodeReporter } from '../../../src/node/registration/node-reporter.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { APIServer, recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { AgentNode } from '../../../examples/node-agent/agent-node.ts';

const nodeName = 'agent';
const addresses = ['10.0.0.1'];
const path = `/api/v1/nodes/${nodeName}`;

it('an adopted Node is tainted once, and keeps its other taints', async () => {
  await using server = await APIServer.start();
  const transport = createKubeTransport(server.kubeconfig());
  const run = async (isTainted: boolean): Promise<unknown> => {
    const options = new AgentNode({ nodeName, addresses, isTainted }).options();
    await new NodeReporter({ ...options, transport, nodeName, logger: silentLogger }).register();
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

it('a node user that may not delete its Node is logged in one line, without a stack trace', async () => {
  await using server = await APIServer.start({ nodeUsers: [nodeName] });
  const transport = createKubeTransport(server.kubeconfig(nodeName));
  const logger = recordingLogger();
  const node = new AgentNode({ nodeName, addresses, isTainted: true });
  await new NodeReporter({ ...node.options(), transport, nodeName, logger: silentLogger }).register();
  await node.remove(transport, logger);
  expect(logger.lines).toEqual([
    {
      level: 'warn',
      message: expect.stringContaining('kubectl delete node agent'),
      fields: { node: 'agent', reason: expect.stringMatching(/^[^\n]*forbidden[^\n]*$/) },
    },
  ]);
  await transport.close();
});
