import { expect, it } from 'vitest';
import type { PodProvider } from 'kubelet-status-manager/virtual-nodes';
import { fault } from 'kubelet-status-manager/testing';
import { Random } from '../chaos/random.ts';
import { podOf, TestNodes } from './test-nodes.ts';

const nodeNames = ['node-a', 'node-b'];
// More by hand: RUNS=50.
const seeds = Array.from({ length: Number(process.env['RUNS'] ?? 2) }, (_, i) => i);

it.each(seeds)(
  'whatever nodes a provider reports pods on, in outages and restarts, no pod that should run is deleted or lost; seed %i',
  async (seed) => {
    const random = new Random(`${seed}`);
    const pickOf = <T>(list: readonly T[]): T | undefined => list[random.integer(0, Math.max(0, list.length - 1))];
    await using test = await TestNodes.start();
    /** UID → the node that is reported. */
    const reportedNodes = new Map<string, string>();
    const deletedWhileRunning: string[] = [];
    const provider: PodProvider = test.cloud.asProvider({
      listPods: async (options) => {
        const pods = await test.cloud.listPods(options);
        return pods.map((pod) => ({ ...pod, nodeName: reportedNodes.get(pod.uid) ?? pod.nodeName }));
      },
      deletePod: (pod, options) => {
        const found = test.server.pods.list().find(({ metadata }) => metadata?.uid === pod.uid);
        if (found !== undefined && found.metadata?.deletionTimestamp == null) deletedWhileRunning.push(pod.name);
        return test.cloud.deletePod(pod, options);
      },
    });
    let outage: { cancel(): void } | undefined;
    const endOutage = (): void => {
      outage?.cancel();
      outage = undefined;
    };
    let pods = 0;
    const create = (): unknown => test.create(podOf(`pod-${pods++}`), pickOf(nodeNames));
    const misreport = (): void => {
      const uid = pickOf(test.server.pods.list())?.metadata?.uid;
      if (uid !== undefined) reportedNodes.set(uid, pickOf([...nodeNames, 'unknown'])!);
    };
    const steps: readonly (() => unknown)[] = [
      create,
      create,
      misreport,
      misreport,
      () => {
        const name = pickOf(test.server.pods.list())?.metadata?.name;
        if (name !== undefined) test.server.pods.delete('default', name, { gracePeriodSeconds: random.integer(0, 5) });
      },
      () => reportedNodes.clear(),
      () => {
        if (outage !== undefined) return endOutage();
        outage = test.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
        test.server.faults.now({ verb: 'watch' }, fault.cut());
      },
      async () => {
        await test.stopNodes();
        await test.startNodes(nodeNames, { provider });
      },
    ];
    await test.startNodes(nodeNames, { provider });
    for (let i = 0; i < 25; i++) {
      await pickOf(steps)!();
      await test.advance(random.integer(500, 20_000));
    }
    endOutage();
    reportedNodes.clear();
    await test.advance(200_000);
    expect(deletedWhileRunning).toEqual([]);
    const left = test.server.pods.list();
    expect(left.filter(({ status }) => status?.phase !== 'Running')).toEqual([]);
    expect(test.cloud.names).toEqual(left.map(({ metadata }) => metadata.name).toSorted());
  },
  120_000,
);
