import { setTimeout as delay } from 'node:timers/promises';
import { APIServer } from 'kubelet-status-manager/testing';
import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { MemoryCloud } from '../nodes/memory-cloud.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { Report } from '../report.ts';

export interface InspectOptions {
  readonly nodes: number;
  readonly pods: number;
  readonly passes: number;
  readonly progress: (text: string) => void;
}

const capacity = { cpu: '1000', memory: '4Ti', pods: '500' };

/** How long `inspect()` of many virtual nodes takes, which probes and the status page call. */
export async function benchInspect({ nodes, pods, passes, progress }: InspectOptions): Promise<Report> {
  const server = await APIServer.start({ tls: false });
  const cloud = new MemoryCloud();
  const virtual = createVirtualNodes({ client: server.kubeconfig(), provider: cloud, logger: quietLogger });
  for (let i = 0; i < nodes; i++) {
    virtual.add({ nodeName: `node-${i}`, nodeStatus: () => ({ capacity }) });
    for (let pod = 0; pod < pods; pod++) {
      server.pods.create({
        metadata: { name: `pod-${i}-${pod}` },
        spec: {
          nodeName: `node-${i}`,
          automountServiceAccountToken: false,
          containers: [{ name: 'app', image: 'none' }],
        },
      });
    }
  }
  progress(`inspect: starting ${nodes} nodes`);
  virtual.start();
  while (cloud.size < nodes * pods) await delay(100);
  progress(`inspect: ${nodes * pods} pods are accepted`);
  const values = Array.from({ length: passes }, () => {
    const startedMs = performance.now();
    virtual.inspect();
    return (performance.now() - startedMs) / nodes;
  });
  await virtual.stop();
  await server.close();
  return {
    title: `inspect() of ${nodes} virtual nodes with ${pods} pods each`,
    notes: [
      'The time of one call, divided by the number of nodes. The provider has accepted all pods, and their statuses are being written.',
    ],
    figures: [{ name: 'inspect() for each node', unit: 'ms', values, target: { of: 'value', atMost: 10 } }],
  };
}
