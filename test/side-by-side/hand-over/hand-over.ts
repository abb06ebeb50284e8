import { setTimeout as sleep } from 'node:timers/promises';
import type { PathDifference } from '../compare/paths.ts';
import { namespace } from '../../support/node/cluster.ts';
import { nodeName } from '../../support/node/machine.ts';
import type { NodeUnderTest } from '../../support/node/node-under-test.ts';
import { Recorder } from '../recorder.ts';
import type { Session } from '../../support/node/session.ts';
import { changedPaths } from './changed-paths.ts';
import { type HandOverPod, handOverPods } from './pods.ts';

/** What changed in the status of a pod after the next agent had taken over. */
export interface HandOverChange {
  readonly pod: string;
  readonly to: 'agent' | 'kubelet';
  /** Before and after are called kubelet and agent. */
  readonly paths: readonly PathDifference[];
}

/** How long each agent has to change something. */
const watchedMs = 15_000;

/**
 * A container that started less than 10 s before an agent counts as started by it, and then its readiness
 * begins anew (kubelet: `kubeletRestartGracePeriod`); all containers shall be older.
 */
const settledMs = 15_000;

/** Pods in every state go from the kubelet to our agent and back, with the folders of one node. */
export async function handOver(session: Session): Promise<HandOverChange[]> {
  const changes: HandOverChange[] = [];
  const folder = 'hand-over';
  const first = session.node('kubelet', { folder });
  const recorder = new Recorder(first.cluster);
  await recorder.start();
  try {
    await first.startAgent();
    await Promise.all(handOverPods.map((pod) => bring(first, recorder, pod)));
    await sleep(settledMs);
    let node = first;
    for (const to of ['agent', 'kubelet'] as const) {
      const before = handOverPods.map((pod) => recorder.podEventsOf(pod.name).at(-1)!);
      await node.agent.stop();
      node = session.node(to, { folder });
      await node.startAgent();
      await sleep(watchedMs);
      for (const [index, pod] of handOverPods.entries()) {
        const events = recorder.podEventsOf(pod.name);
        const after = events.slice(events.indexOf(before[index]!) + 1).map(({ object }) => object);
        const paths = changedPaths(pod, to, before[index]!.object, after);
        if (paths.length > 0) changes.push({ pod: pod.name, to, paths });
      }
    }
    await Promise.all(handOverPods.map(({ name }) => end(node, recorder, name)));
    await node.stop();
  } finally {
    recorder.stop();
  }
  return changes;
}

const path = (pod: string): string => `/api/v1/namespaces/${namespace}/pods/${pod}`;

async function bring(node: NodeUnderTest, recorder: Recorder, pod: HandOverPod): Promise<void> {
  await node.cluster.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name: pod.name },
    spec: { nodeName, automountServiceAccountToken: false, terminationGracePeriodSeconds: 3, ...pod.spec },
  });
  await recorder.until(pod.name, 'in its state', ({ status }) => pod.isThere(status));
  if (pod.deleted === true) await node.cluster.request('DELETE', path(pod.name));
}

/** By force: the kubelet does not shorten the grace period of a container that it is stopping. */
async function end(node: NodeUnderTest, recorder: Recorder, pod: string): Promise<void> {
  await node.cluster.request('DELETE', path(pod), { gracePeriodSeconds: 0 });
  await recorder.until(pod, 'gone', (_, type) => type === 'DELETED');
}
