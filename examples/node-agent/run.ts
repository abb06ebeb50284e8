import { networkInterfaces } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { APIError, isMirrorPod, type Logger, type Pod, systemClock } from 'kubelet-status-manager';
import { APIEventRecorder, createEventClient, serveAgent } from 'kubelet-status-manager/agent';
import { createPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager } from 'kubelet-status-manager/informer';
import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { AgentError } from './agent-error.ts';
import { AgentNode } from './agent-node.ts';
import type { CleanUps } from './clean-ups.ts';
import { openCluster, startOwnCluster } from './cluster.ts';
import { Demo } from './demo.ts';
import { evaluateEndState } from './end-state.ts';
import { EventLog } from './event-log.ts';
import { describeRecovery, footerLines } from './footer.ts';
import { readKeys } from './keys.ts';
import type { LogTail } from './log-tail.ts';
import { readManifests } from './manifests.ts';
import { defaultNodeName, type RunOptions } from './options.ts';
import { Outage } from './outage.ts';
import { PodHistory } from './pod-history.ts';
import { podTableRows } from './pod-table.ts';
import { podAnnotation, runAnnotation } from './pods.ts';
import { createProcessAgent } from './process-agent.ts';
import { Recovery } from './recovery.ts';
import { defaultRootDirectory, type RootDirectory } from './root-directory.ts';
import { StopRequest } from './stop-request.ts';
import { renderSummary } from './summary.ts';
import { type Line, LiveTable } from './table.ts';
import { UnclaimedPods } from './unclaimed-pods.ts';

// The compiler does not copy YAML files, so the manifests stay next to the sources.
const demoManifests = fileURLToPath(new URL('../../../examples/node-agent/manifests', import.meta.url));
const mainFile = fileURLToPath(new URL('main.js', import.meta.url));
const demoStaticPods = join(demoManifests, 'static');
/** How long shutting down may wait for the processes. */
const maxShutdownGracePeriodSeconds = 10;
const clock = systemClock;

export interface RunSurroundings {
  readonly root: RootDirectory;
  readonly logger: Logger;
  readonly logTail: LogTail;
  readonly cleanUps: CleanUps;
  /** False: stdout gets one JSON object for each change. */
  readonly isTerminal: boolean;
  /** Prints a message for people. */
  readonly printMessage: (text: string) => void;
}

/** Runs the agent until its time is over or a signal stops it. Resolves with true on success. */
export async function runAgent(
  options: RunOptions,
  { root, logger, logTail, cleanUps, isTerminal, printMessage }: RunSurroundings,
): Promise<boolean> {
  const stopRequest = new StopRequest();
  const { nodeName, leaveRunning } = options;
  const addresses = nodeAddresses();
  const isDemo = options.demo || (options.kubeconfig === undefined && options.manifests === undefined);
  const manifests = await readManifests([...(isDemo ? [demoManifests] : []), ...(options.manifests ?? [])]);
  const podManifestPath = options.podManifestPath ?? (isDemo ? demoStaticPods : undefined);

  const cluster =
    options.kubeconfig === undefined ? await startOwnCluster(options.port) : await openCluster(options.kubeconfig);
  cleanUps.add('API server', () => cluster.close());
  const podClient = createPodClient(cluster.kubeConfig, { kubeConfigDir: cluster.kubeConfigDir, logger });
  const { transport } = podClient;
  cleanUps.add('connections', () => transport.close());
  const eventRecorder = new APIEventRecorder({ client: createEventClient(transport), nodeName, logger, clock });
  cleanUps.add('events', () => eventRecorder.stop());

  const runsPod = (pod: Pod): boolean =>
    cluster.isOwn || isMirrorPod(pod) || podAnnotation(pod, runAnnotation) === 'process';
  const agentNode = new AgentNode({ nodeName, addresses, isTainted: !cluster.isOwn });
  const metricsRegistry = new Registry();
  const eventLog = new EventLog((line) => process.stdout.write(line), clock);
  const { agent, runtime, helper } = await createProcessAgent({
    ...{ nodeName, addresses, runsPod, podManifestPath, root, eventRecorder, clock, logger },
    podClient: isTerminal ? podClient : eventLog.observe(podClient),
    node: agentNode.options(),
    metrics: createPrometheusMetrics({ register: metricsRegistry }),
  });
  cleanUps.add('runtime helper', () => helper.close());
  const runningContainers = async (): Promise<readonly string[]> =>
    (await runtime.listPods()).flatMap(({ containers }) =>
      containers.filter(({ state }) => state === 'running').map(({ id }) => id),
    );
  cleanUps.add('runtime', async () => {
    const running = await runningContainers();
    await runtime.close();
    if (running.length === 0) root.removeFiles();
  });
  stopRequest.onForced(async () => {
    await Promise.all((await runningContainers()).map((id) => runtime.stopContainer(id, 0)));
    root.removeFiles();
  });

  const server = await serveAgent(agent, { port: 0, register: metricsRegistry, logger });
  cleanUps.add('HTTP server', () => server.close());

  const { kubeletPort, clientCaFile } = options;
  // The agent's own API server cannot say who may use it.
  if (kubeletPort !== undefined && !cluster.isOwn) {
    const kubeletAPI = await serveKubeletAPI(agent, {
      ...{ runtime, port: kubeletPort, certDirectory: join(root.path, 'pki'), register: metricsRegistry, logger },
      authentication: { clientCAFile: clientCaFile },
    });
    cleanUps.add('kubelet API', () => kubeletAPI.close());
  }

  // The pods of the node as the API server shows them to users.
  const history = new PodHistory(runsPod);
  const unclaimedPods = new UnclaimedPods(eventRecorder, logger);
  const handlePod = (pod: Pod): void => (runsPod(pod) ? history.handlePod(pod) : unclaimedPods.handlePod(pod));
  const podsOnServer = createInformerPodManager({ client: { transport }, nodeName, clock, logger });
  const handleRemovedPod = (pod: Pod): void => {
    unclaimedPods.handleRemovedPod(pod);
    history.handleRemovedPod(pod);
  };
  podsOnServer.subscribe(
    { onPodAdded: handlePod, onPodUpdated: handlePod, onPodRemoved: handleRemovedPod },
    { includeMirrorPods: true },
  );
  const demo = new Demo({ transport, nodeName, clock, logger });
  if (!cluster.isOwn && !leaveRunning) {
    cleanUps.add('node', () => agentNode.remove(transport, logger));
    cleanUps.add('demo pods', () => demo.deletePods());
    cleanUps.add('mirror pods', () => demo.deleteMirrorPods(history.all()));
  }
  cleanUps.add('demo', () => demo.stop());
  cleanUps.add('informer', () => podsOnServer.stop());
  cleanUps.add('agent', () =>
    agent.stop({ drain: true, terminatePods: !leaveRunning, gracePeriodSeconds: maxShutdownGracePeriodSeconds }),
  );
  await register(agent, nodeName);

  const kubeconfig = options.kubeconfig ?? root.writeKubeconfig(stringify(cluster.kubeConfig));
  printMessage(`Node ${nodeName} is ready. From another terminal:`);
  const selector = cluster.isOwn ? '' : ` --field-selector spec.nodeName=${nodeName}`;
  printMessage(`  kubectl --kubeconfig ${kubeconfig} get pods -A -w${selector}`);
  const rootOption = root.path === defaultRootDirectory(defaultNodeName()) ? '' : ` --root-dir ${root.path}`;
  printMessage(`  node ${relative('', mainFile)} logs POD${rootOption}`);
  printMessage(`Status page: ${server.url}/statusz/`);
  printMessage(`Files: ${root.path}\n`);
  if (!isTerminal) eventLog.started({ node: nodeName, kubeconfig, directory: root.path, url: server.url });

  agent.start();
  podsOnServer.start();
  await Promise.all([agent.whenReady(), podsOnServer.whenSynced()]);
  await demo.createPods(manifests);

  const { statusManager } = agent;
  const recovery = new Recovery({ statusManager, listPods: () => demo.listPods(), clock });
  cleanUps.add('recovery', () => recovery.stop());
  const handleOutage = async (isDown: boolean): Promise<void> => {
    if (!isTerminal) eventLog.apiServer(isDown);
    if (isDown) return recovery.begin();
    const report = await recovery.end();
    if (report === undefined) return;
    logTail.clear();
    if (!isTerminal) eventLog.recovered(report);
  };
  const { outageForMs: durationMs, outageAfterMs } = options;
  const outage =
    cluster.server &&
    new Outage(cluster.server, { clock, durationMs, onChange: (isDown) => void handleOutage(isDown) });
  // Before the agent stops, because it cannot write without the API server.
  if (outage) cleanUps.add('outage', () => outage.stop());
  if (outageAfterMs !== undefined) outage?.beginAfter(outageAfterMs);
  if (isTerminal && process.stdin.isTTY) {
    const handleKey = (key: string): void => {
      if (key === 'o') outage?.begin();
      if (key === 'q') stopRequest.request();
    };
    const stopReading = readKeys(process.stdin, handleKey, clock);
    cleanUps.add('keys', stopReading);
  }
  const footer = (width: number): Line[] =>
    footerLines(
      {
        inspection: statusManager.inspect(),
        explain: (podUID) => statusManager.explain(podUID),
        outage: outage && { remainingSeconds: outage.remainingSeconds, durationSeconds: durationMs / 1000 },
        recovery: recovery.report,
        url: `${server.url}/statusz/`,
        log: logTail.lines(),
      },
      width,
    );
  const table = isTerminal
    ? new LiveTable(process.stdout, () => podTableRows(history, statusManager), clock, footer)
    : undefined;
  table?.start();
  const isTimeOver = await Promise.race([stopRequest.received.then(() => false), timeOver(options.forMs)]);
  stopRequest.markEnding();
  table?.stop();

  const endStates = history.all().map((seen) => [seen.pod, evaluateEndState(seen)] as const);
  if (!isTerminal) for (const [pod, endState] of endStates) eventLog.endState(pod, endState);
  const useColours = isTerminal && process.stdout.hasColors();
  printMessage(`\n${renderSummary(endStates, { isTimeOver, useColours }).join('\n')}\n`);
  if (recovery.report !== undefined) printMessage(`After the outage: ${describeRecovery(recovery.report)}\n`);
  printMessage(
    leaveRunning
      ? 'Stopping; the containers keep running. Press Ctrl-C again to kill them.'
      : 'Terminating the pods. Press Ctrl-C again to kill them immediately.',
  );
  const isLost = (recovery.report?.lost.length ?? 0) > 0;
  const isSuccess = !isLost && (!isTimeOver || endStates.every(([, { isExpected }]) => isExpected));
  if (!isSuccess) root.keepFiles();
  return isSuccess;
}

async function register(agent: { register(): Promise<void> }, nodeName: string): Promise<void> {
  try {
    await agent.register();
  } catch (error) {
    const hint = error instanceof APIError && error.kind === 'network' ? ' (does the API server run?)' : '';
    throw AgentError.from(error, `cannot register the Node ${nodeName}${hint}`);
  }
}

function nodeAddresses(): string[] {
  const address = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  return [address ?? '127.0.0.1'];
}

/** Resolves after this time, or never if it is undefined. Does not keep the process alive. */
function timeOver(afterMs: number | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (afterMs !== undefined) setTimeout(resolve, afterMs, true).unref();
  });
}
