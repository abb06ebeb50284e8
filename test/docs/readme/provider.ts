// provider.mjs
import { readFile } from 'node:fs/promises';
import { generateAPIPodStatus, StatusManager } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager } from 'kubelet-status-manager/informer';
import { parse } from 'yaml';

const client = createPodClient(parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8')));
const podManager = createInformerPodManager({ client, nodeName: 'node-a' });
const manager = new StatusManager({ client, podManager, podDeletionSafety: () => false });
podManager.subscribe({
  onPodAdded: (pod) => {
    const state = { running: { startedAt: new Date() } }; // start its containers here
    const containerStatuses = (pod.spec?.containers ?? []).map(({ name }) => ({ name, ready: true, state }));
    manager.setPodStatus(pod, generateAPIPodStatus(pod, { containerStatuses, podIPs: ['10.0.0.7'] }));
  },
  onPodUpdated: (pod) => {
    if (pod.metadata?.deletionTimestamp != null) manager.terminatePod(pod);
  },
});
podManager.start();
manager.start();
