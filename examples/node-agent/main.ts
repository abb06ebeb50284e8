import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import { type Logger, logMissingAccess, type Pod, StatusManager, systemClock } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager, type InformerPodManager } from 'kubelet-status-manager/informer';
import { destination, pino } from 'pino';
import { stringify } from 'yaml';
import { AgentError } from './agent-error.ts';
import { NodeAgent } from './agent.ts';
import { CleanUps } from './clean-ups.ts';
import { openCluster, startOwnCluster } from './cluster.ts';
import { kubeletCrashLoopLimits } from './crash-loop-back-off.ts';
import { Demo } from './demo.ts';
import { evaluateEndState } from './end-state.ts';
import { EventLog } from './event-log.ts';
import { readManifests } from './manifests.ts';
import { NodeRegistration } from './node-registration.ts';
import { exitCodes, type Options, parseOptions } from './options.ts';
import { PodHistory } from './pod-history.ts';
import { podTableRows } from './pod-table.ts';
import { ProcessRuntime } from './process-runtime.ts';
import { StopRequest } from './stop-request.ts';
import { renderSummary } from './summary.ts';
import { LiveTable } from './table.ts';
import { UnclaimedPods } from './unclaimed-pods.ts';
import { WorkDirectory } from './work-directory.ts';

// The compiler does not copy YAML files, so the manifests stay next to the sources.
const demoManifests = fileURLToPath(new URL('../../../examples/node-agent/manifests', import.meta.url));
const demoCrashLoopBaseMs = 1000;
/** How long shutting down may wait for the processes. */
const maxShutdownGracePeriodSeconds = 10;

// A terminal that cannot move its cursor gets the same output as a pipe.
const isTerminal = process.stdout.isTTY && process.env['TERM'] !== 'dumb';
const clock = systemClock;

/** Prints a message for people. When the output is piped, stdout is reserved for JSON, so it goes to stderr. */
function printMessage(text: string): void {
  (isTerminal ? process.stdout : process.stderr).write(`${text}\n`);
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

/** Runs the agent until its time is over or a signal stops it. Resolves with true on success. */
async function run(options: Options, directory: WorkDirectory, logger: Logger, cleanUps: CleanUps): Promise<boolean> {
  const stopRequest = new StopRequest();
  const { nodeName } = options;
  const addresses = nodeAddresses();
  const manifests = await readManifests(options.manifests ?? (options.kubeconfig === undefined ? [demoManifests] : []));

  const cluster =
    options.kubeconfig === undefined ? await startOwnCluster(options.port) : await openCluster(options.kubeconfig);
  cleanUps.add('API server', () => cluster.close());
  const podClient = createPodClient(cluster.kubeConfig, { kubeConfigDir: cluster.kubeConfigDir, logger });
  const { transport } = podClient;
  cleanUps.add('connections', () => transport.close());

  // Not awaited: it warns of what would otherwise show as one refused request after the other.
  void logMissingAccess(podClient, { nodeName, parts: ['status-manager', 'informer', 'node', 'events'], logger });
  const node = new NodeRegistration({ transport, nodeName, addresses, isTainted: !cluster.isOwn, clock, logger });
  cleanUps.add('node', () => node.unregister({ remove: !cluster.isOwn }));
  await node.register();

  // Every agent has these three parts: the pods of the node, the code that runs them, and the status manager.
  const eventLog = new EventLog((line) => process.stdout.write(line), clock);
  const podManager = createInformerPodManager({ transport, nodeName, clock, logger });
  const statusManager: StatusManager<InformerPodManager> = new StatusManager({
    client: isTerminal ? podClient : eventLog.observe(podClient),
    podManager,
    podDeletionSafety: (pod) => agent.podCouldHaveRunningContainers(pod),
    clock,
    logger,
  });
  const runtime = new ProcessRuntime(directory.podsDirectory);
  process.once('exit', () => runtime.killAll());
  const crashLoopBaseMs =
    options.crashLoopBaseMs ?? (cluster.isOwn ? demoCrashLoopBaseMs : kubeletCrashLoopLimits.baseMs);
  const agent = new NodeAgent({
    statusManager,
    runtime,
    crashLoopLimits: { ...kubeletCrashLoopLimits, baseMs: crashLoopBaseMs },
    addresses,
    onlyAnnotatedPods: !cluster.isOwn,
    clock,
    logger,
  });
  const history = new PodHistory((pod) => agent.runsPod(pod));

  const unclaimedPods = new UnclaimedPods({ transport, nodeName, clock, logger });
  const handlePod = (pod: Pod): void => {
    if (!agent.runsPod(pod)) {
      unclaimedPods.handlePod(pod);
      return;
    }
    history.handlePod(pod);
    agent.handlePod(pod);
  };
  podManager.subscribe({
    onPodAdded: handlePod,
    onPodUpdated: handlePod,
    onPodRemoved: (pod) => {
      unclaimedPods.handleRemovedPod(pod);
      history.handleRemovedPod(pod);
      agent.handleRemovedPod(pod);
    },
  });
  const demo = new Demo({ transport, nodeName, clock, logger });
  cleanUps.add('demo pods', () => (cluster.isOwn ? demo.stop() : demo.deletePods()));
  cleanUps.add('informer', () => podManager.stop());
  cleanUps.add('status manager', () => statusManager.stop({ drain: true }));
  cleanUps.add('pods', () => agent.stop({ maxGracePeriodSeconds: maxShutdownGracePeriodSeconds }));

  const kubeconfig = options.kubeconfig ?? directory.writeKubeconfig(stringify(cluster.kubeConfig));
  printMessage(`Node ${nodeName} is ready. To watch its pods from another terminal:`);
  printMessage(
    `  kubectl --kubeconfig ${kubeconfig} get pods --all-namespaces --field-selector spec.nodeName=${nodeName} --watch`,
  );
  printMessage(`Logs are in ${directory.path}. Press Ctrl-C to stop the agent.\n`);
  if (!isTerminal) eventLog.started({ node: nodeName, kubeconfig, directory: directory.path });

  podManager.start();
  await podManager.whenSynced();
  statusManager.start();
  await demo.createPods(manifests);

  const table = isTerminal
    ? new LiveTable(process.stdout, () => podTableRows(history, statusManager), clock)
    : undefined;
  table?.start();
  const isTimeOver = await Promise.race([stopRequest.received.then(() => false), timeOver(options.forMs)]);
  stopRequest.markEnding();
  table?.stop();

  const endStates = history.all().map((seen) => [seen.pod, evaluateEndState(seen)] as const);
  if (!isTerminal) for (const [pod, endState] of endStates) eventLog.endState(pod, endState);
  const useColours = isTerminal && process.stdout.hasColors();
  printMessage(`\n${renderSummary(endStates, { isTimeOver, useColours }).join('\n')}\n`);
  printMessage('Terminating the pods. Press Ctrl-C again to kill them immediately.');
  return !isTimeOver || endStates.every(([, { isExpected }]) => isExpected);
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  }

  const directory = new WorkDirectory();
  process.once('exit', () => directory.remove());
  // On a terminal, only the table is shown on the screen.
  const logger = pino(
    { level: options.logLevel },
    destination({ dest: isTerminal ? directory.agentLogFile : 2, sync: true }),
  );
  const cleanUps = new CleanUps();
  try {
    if (await run(options, directory, logger, cleanUps)) return exitCodes.success;
    directory.keepLogs();
    printMessage(`Some pods are not in their expected end state. The logs are kept in ${directory.path}`);
    return exitCodes.wrongEndState;
  } catch (error) {
    process.stderr.write(`node-agent: ${error instanceof AgentError ? error.message : String(error)}\n`);
    return exitCodes.failure;
  } finally {
    await cleanUps.run(logger);
  }
}

process.exitCode = await main(process.argv.slice(2));
