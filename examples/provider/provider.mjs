// provider.mjs
import { KubeConfig } from '@kubernetes/client-node';
import { generateAPIPodStatus, StatusManager } from 'kubelet-status-manager';
import { createInformerPodManager } from 'kubelet-status-manager/informer';

const kubeConfig = new KubeConfig();
try {
  kubeConfig.loadFromDefault();
} catch (error) {
  console.error(`Set KUBECONFIG to the kubeconfig of a cluster: ${error.message}`);
  process.exit(1);
}
const running = new Map(); // stands for your runtime: the UID of each pod that runs → when it started
const podManager = createInformerPodManager({ client: kubeConfig, nodeName: 'node-a' });
const manager = new StatusManager({
  client: kubeConfig,
  podManager,
  podCouldHaveRunningContainers: (pod) => running.has(pod.metadata?.uid),
});

const podListener = {
  onPodAdded(pod) {
    if (manager.canPodRun(pod)) startPod(pod);
    else manager.terminatePod(pod); // it ended before this process started
  },
  onPodUpdated(pod) {
    if (pod.metadata.deletionTimestamp != null) endPod(pod.metadata.uid, 0);
  },
  onPodRemoved(pod) {
    running.delete(pod.metadata.uid); // deleted by force: stop its containers here
    manager.removeOrphanedStatuses(podManager.getPods().map(({ metadata }) => metadata?.uid ?? ''));
  },
};

function startPod(pod) {
  const startedAt = new Date();
  running.set(pod.metadata.uid, startedAt); // start its containers here
  report(pod, { running: { startedAt } });
  // A container that ends on its own, here after two seconds:
  if (pod.spec.restartPolicy === 'Never') setTimeout(endPod, 2_000, pod.metadata.uid, 0).unref();
}

/** Call it when the containers of a pod have stopped for good. */
function endPod(uid, exitCode) {
  const pod = podManager.getPodByUID(uid);
  const startedAt = running.get(uid);
  running.delete(uid); // stop its containers here
  if (pod === undefined) return;
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  if (startedAt) report(pod, { terminated: { exitCode, reason, startedAt, finishedAt: new Date() } });
  manager.terminatePod(pod);
}

function report(pod, state) {
  const isRunning = state.running !== undefined;
  const containerStatuses = pod.spec.containers.map(({ name, image = '' }) => {
    return { name, image, imageID: '', restartCount: 0, ready: isRunning, started: isRunning, state };
  });
  const status = generateAPIPodStatus(pod, {
    containerStatuses,
    sandboxes: [{ ready: isRunning, network: { ip: '10.0.0.7' } }],
    podIPs: isRunning ? ['10.0.0.7'] : [],
    podIsTerminal: !isRunning,
    previous: manager.getPodStatus(pod.metadata.uid),
  });
  manager.setPodStatus(pod, status);
}

async function stop() {
  await manager.stop({ drain: true }); // sends what is unsent
  await podManager.stop();
}
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());

manager.subscribe({ onOutcome: ({ podUID }) => console.log(String(manager.explain(podUID))) });
podManager.start();
podManager.whenSynced().then(
  () => {
    // Adopts the statuses of an earlier run, and starts. The listener then hears of each pod that is known.
    manager.resume({ pods: podManager.getPods() });
    podManager.subscribe(podListener);
    console.log('Watching the pods of node-a');
  },
  () => {}, // it was stopped before
);
