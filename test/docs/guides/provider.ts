// provider.mjs
import { readFile } from 'node:fs/promises';
import { generateAPIPodStatus, StatusManager } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager } from 'kubelet-status-manager/informer';
import { parse } from 'yaml';

const running = new Set(); // the UIDs of pods that your runtime runs
const client = createPodClient(parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8')));
const podManager = createInformerPodManager({ client, nodeName: 'node-a' });
const manager = new StatusManager({
  client,
  podManager,
  podDeletionSafety: (pod) => running.has(pod.metadata?.uid),
});

podManager.subscribe({
  onPodAdded: (pod) => {
    if (!manager.canPodRun(pod)) {
      manager.terminatePod(pod); // it ended before this process started
      return;
    }
    running.add(pod.metadata?.uid); // start its containers here
    const state = { running: { startedAt: new Date() } };
    const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = '' }) => {
      return { name, image, imageID: '', restartCount: 0, ready: true, started: true, state };
    });
    manager.setPodStatus(pod, generateAPIPodStatus(pod, { containerStatuses, podIPs: ['10.0.0.7'] }));
  },
  onPodUpdated: (pod) => {
    if (pod.metadata?.deletionTimestamp == null) return;
    running.delete(pod.metadata.uid); // stop its containers here, and then:
    manager.terminatePod(pod);
  },
  onPodRemoved: () => {
    manager.removeOrphanedStatuses(podManager.getPods().map(({ metadata }) => metadata?.uid ?? ''));
  },
});
podManager.start();
await podManager.whenSynced();
manager.start();
console.log('watching the pods of node-a');

async function stop() {
  await manager.stop({ drain: true });
  await podManager.stop();
  await client.transport.close();
}
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
