import { APIError } from '../../../src/kube/client/api-error.ts';
import { fault, type RecordingLogger } from 'kubelet-status-manager/testing';
import { SyncHarness } from '../../status-manager/sync/sync-harness.ts';
import { TestCluster } from '../../agent/node-agent/test-cluster.ts';
import { TestNodes } from '../../virtual-nodes/test-nodes.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

const always = Number.POSITIVE_INFINITY;
const minuteMs = 60_000;

/** What an outage is measured on. */
export interface Subject {
  readonly name: string;
  /** The lines at info and above in each minute of an outage. */
  readonly linesOf: (pods: number, minutes: number) => Promise<number[]>;
}

const unreachable = new APIError('request to 10.0.0.1:6443 failed: ECONNREFUSED', { kind: 'network' });
const forbidden = new APIError('pods is forbidden', { kind: 'http', statusCode: 403, reason: 'Forbidden' });

/** The status of each pod is set once a minute. */
function manager(name: string, failure: APIError): Subject {
  return {
    name,
    async linesOf(pods, minutes) {
      const h = new SyncHarness();
      const names = Array.from({ length: pods }, (_, i) => `pod-${i}`);
      h.addPods(...names);
      h.manager.start();
      for (const pod of names) h.set(pod, 'before');
      await h.clock.advanceAsync(10_000);
      h.client.fail({}, failure, always);
      const counts = await countLines(h.logger, minutes, async (minute) => {
        for (const pod of names) h.set(pod, `minute ${minute}`);
        await h.clock.advanceAsync(minuteMs);
      });
      await h.manager.stop();
      return counts;
    },
  };
}

const container = { name: 'main', image: 'main:1' };

/** The container of each pod exits when the outage begins. */
const agent: Subject = {
  name: 'an agent',
  async linesOf(pods, minutes) {
    await using cluster = await TestCluster.start();
    const uids: string[] = [];
    await cluster.startAgent();
    for (let i = 0; i < pods; i++)
      uids.push(await cluster.create({ metadata: { name: `pod-${i}` }, spec: { containers: [container] } }));
    await cluster.advance(10_000);
    cluster.server.faults.next({ count: always }, fault.cut());
    cluster.server.faults.now({}, fault.cut());
    for (const uid of uids) cluster.runtime.exit(cluster.runtime.container(uid, container.name)!.id, { exitCode: 0 });
    return await countLines(cluster.logger, minutes, () => cluster.advance(minuteMs));
  },
};

/** One pod on each; the cloud reports a change of each pod once a minute. */
const virtualNodes: Subject = {
  name: 'virtual nodes with a pod each',
  async linesOf(pods, minutes) {
    await using test = await TestNodes.start();
    const nodes = Array.from({ length: pods }, (_, i) => `node-${i}`);
    await test.startNodes(nodes);
    const names = Array.from({ length: pods }, (_, i) => `pod-${i}`);
    for (const [i, name] of names.entries())
      await test.create({ metadata: { name }, spec: { containers: [container] } }, nodes[i]);
    await test.advance(10_000);
    test.server.faults.next({ count: always }, fault.cut());
    test.server.faults.now({}, fault.cut());
    return await countLines(test.logger, minutes, async (minute) => {
      for (const name of names)
        test.cloud.report(name, { containers: [{ name: container.name, restartCount: minute + 1 }] });
      await test.advance(minuteMs);
    });
  },
};

export const subjects = {
  manager: manager('a status manager', unreachable),
  forbidden: manager('a status manager that gets 403', forbidden),
  agent,
  virtualNodes,
} as const satisfies Readonly<Record<string, Subject>>;

async function countLines(
  logger: RecordingLogger,
  minutes: number,
  pass: (minute: number) => Promise<void>,
): Promise<number[]> {
  const counts: number[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const before = linesAtInfo(logger).length;
    await pass(minute);
    counts.push(linesAtInfo(logger).length - before);
  }
  return counts;
}
