import { type Pod, type PodStatus, StatusManager } from 'kubelet-status-manager';
import { createStatusPatch } from '../../src/status-manager/status/strategic-merge.ts';
import { Agent } from 'undici';
import { runningStatus } from '../fixtures.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { Contestant } from './contestant.ts';

const connections = 8;

/**
 * The lower bound: nothing but the PATCH, over as many connections as the manager has pods in flight.
 * The bodies are those that the manager would send. It has no other logic and ignores the responses.
 */
export function rawContestant(url: string, token: string, ca: string, pods: readonly Pod[]): Contestant {
  // Its connections stay open while it waits for its turn, as the manager's do.
  const agent = new Agent({ connections, connect: { ca }, keepAliveTimeout: 60_000 });
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const cache = new StatusManager({ podCouldHaveRunningContainers: () => true, logger: quietLogger });
  // In canonical form. All pods get the same status.
  const statusOf = (restartCount: number): PodStatus =>
    cache.setPodStatus(
      pods[0]!,
      runningStatus(restartCount, () => now),
    ).status;
  let requests = 0;
  let shown: PodStatus | undefined;

  async function patch(pod: Pod, body: string): Promise<void> {
    const { metadata } = pod;
    const { statusCode, body: response } = await agent.request({
      origin: url,
      path: `/api/v1/namespaces/${metadata!.namespace}/pods/${metadata!.name}/status`,
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/strategic-merge-patch+json',
        accept: 'application/json',
      },
      body,
    });
    const text = await response.text();
    if (statusCode !== 200) throw new Error(`A PATCH failed with ${statusCode}: ${text}`);
    requests++;
  }

  return {
    async update(restartCount) {
      const status = statusOf(restartCount);
      const remaining = pods.values();
      const worker = async (): Promise<void> => {
        for (const pod of remaining) {
          await patch(pod, JSON.stringify(createStatusPatch(pod.metadata!.uid!, shown ?? {}, status)));
        }
      };
      await Promise.all(Array.from({ length: connections }, worker));
      shown = status;
    },
    get requests() {
      return requests;
    },
    async close() {
      await cache.stop();
      await agent.close();
    },
  };
}
