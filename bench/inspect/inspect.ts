import { performance } from 'node:perf_hooks';
import { podOf, TestNodes } from '../../test/virtual-nodes/test-nodes.ts';
import type { Report } from '../report.ts';

export interface InspectOptions {
  readonly nodes: number;
  readonly pods: number;
  readonly passes: number;
  readonly progress: (text: string) => void;
}

/** How long `inspect()` of many virtual nodes takes, which probes and the status page call. */
export async function benchInspect({ nodes, pods, passes, progress }: InspectOptions): Promise<Report> {
  await using test = await TestNodes.start();
  const names = Array.from({ length: nodes }, (_, i) => `node-${i}`);
  progress(`inspect: starting ${nodes} nodes`);
  for (const name of names)
    for (let i = 0; i < pods; i++) {
      const { metadata, spec } = podOf(`${name}-${i}`);
      const pod = { metadata: { namespace: 'default', ...metadata }, spec: { ...spec!, nodeName: name } };
      test.server.pods.create(pod);
    }
  await test.startNodes(names);
  const virtual = test.nodes;
  for (let i = 0; i < 15; i++) await test.advance(1000);
  const values = Array.from({ length: passes }, () => {
    const startedMs = performance.now();
    virtual.inspect();
    return (performance.now() - startedMs) / nodes;
  });
  return {
    title: `inspect() of ${nodes} virtual nodes with ${pods} pods each`,
    notes: ['The time of one call, divided by the number of nodes.'],
    figures: [{ name: 'inspect() for each node', unit: 'ms', values, target: { of: 'value', atMost: 10 } }],
  };
}
