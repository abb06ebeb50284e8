import { BasicPodManager, type Pod, StatusManager, type StatusManagerOptions } from 'kubelet-status-manager';
import { noopMetrics } from '../../src/status-manager/metrics.ts';
import type { ReadBeforePatch } from '../../src/status-manager/sync/sync-ports.ts';
import { createPodClient } from 'kubelet-status-manager/http';
import { loadClientNode } from '../../test/support/client-node.ts';
import { runningStatus } from '../fixtures.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { Contestant } from './contestant.ts';

/** A `CoreV1Api` of client-node, with default options. */
export async function coreV1Client(kubeConfig: string): Promise<StatusManagerOptions['client']> {
  const { CoreV1Api, KubeConfig } = await loadClientNode();
  const config = new KubeConfig();
  config.loadFromString(kubeConfig);
  return config.makeApiClient(CoreV1Api);
}

export function httpClient(kubeConfig: string): StatusManagerOptions['client'] {
  return createPodClient(JSON.parse(kubeConfig) as Parameters<typeof createPodClient>[0], { logger: quietLogger });
}

/** A StatusManager with a running loop, as in an agent. */
export function managerContestant(
  client: StatusManagerOptions['client'],
  pods: readonly Pod[],
  readBeforePatch?: ReadBeforePatch,
): Contestant {
  let requests = 0;
  const podManager = new BasicPodManager();
  podManager.setPods(pods);
  const manager = new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => true,
    metrics: { ...noopMetrics, incRequests: () => void requests++ },
    // The pod manager is not updated with what is written, so a full batch would read every pod.
    syncPeriodMs: 3_600_000,
    logger: quietLogger,
    readBeforePatch,
  });
  manager.start();
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    async update(restartCount) {
      for (const pod of pods)
        manager.setPodStatus(
          pod,
          runningStatus(restartCount, () => now),
        );
      const unsent = await manager.flush(300_000);
      if (unsent > 0) throw new Error(`${unsent} statuses were not written`);
    },
    get requests() {
      return requests;
    },
    close: () => manager.stop(),
  };
}
