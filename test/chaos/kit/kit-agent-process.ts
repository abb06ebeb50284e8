import { join } from 'node:path';
import { createNodeAgent, createRuntimeHelper, fileSource, type NodeAgent } from '../../../src/agent/index.ts';
import { fileJournal, openCheckpointState, systemClock } from '../../../src/status-manager/index.ts';
import { createPodClient, type HTTPPodClient } from '../../../src/kube/http/index.ts';
import { createProcessRuntime, type ProcessRuntime } from '../../../src/process-runtime/index.ts';
import { reportingLogger, writeReport } from '../agent-reports.ts';
import { kubeConfig } from '../kube-config.ts';
import { LeakCheck } from '../leak-check.ts';
import type { AgentCommand } from '../protocol.ts';
import type { KitAgentConfig } from './kit-protocol.ts';

/*
 * An agent of the agent kit with the process runtime, in its own process, so that it can be killed. The
 * containers outlive it.
 */

const addresses = ['127.0.0.1'];

interface RunningAgent {
  readonly agent: NodeAgent;
  readonly runtime: ProcessRuntime;
  readonly helper: ReturnType<typeof createRuntimeHelper>;
  readonly client: HTTPPodClient;
}

let starting: Promise<RunningAgent> | undefined;
let isStopping = false;
let leakCheck: LeakCheck | undefined;

process.on('message', (command: AgentCommand<KitAgentConfig>) => {
  if (command.do === 'run') {
    leakCheck = new LeakCheck();
    starting = start(command.config);
  } else if (command.do === 'stop') void stop(command.drain);
});
// The run has ended without stopping this agent, so nobody else ends the containers.
process.on('disconnect', () => {
  if (!isStopping) void starting?.then(({ runtime }) => killAll(runtime)).finally(() => process.exit(3));
});

async function start(config: KitAgentConfig): Promise<RunningAgent> {
  const { nodeName, rootDir, manifestDir, incarnation, requestTimeoutMs } = config;
  const logger = reportingLogger(writeReport);
  const clock = systemClock;
  const client = createPodClient(kubeConfig(config), {
    userAgent: `chaos-agent/${incarnation}`,
    connectTimeoutMs: 2_000,
    clock,
    logger,
  });
  const journal = await fileJournal(join(rootDir, 'journal'), { logger, clock });
  const helper = createRuntimeHelper({
    ...{ client, rootDirectory: rootDir, mounts: false, hostIPs: addresses, clock, logger },
  });
  const runtime = await createProcessRuntime({
    rootDirectory: rootDir,
    helper: {
      ...helper,
      generateRunContainerOptions: (pod, container, podIPs) => {
        writeReport({ kind: 'creating', uid: pod.metadata.uid, container: container.name });
        return helper.generateRunContainerOptions(pod, container, podIPs);
      },
    },
    hostIPs: addresses,
    clock,
    logger,
  });
  const agent = createNodeAgent({
    nodeName,
    client,
    runtime,
    sources: [fileSource({ path: manifestDir, fileCheckFrequencyMs: 1_000 })],
    node: { addresses },
    volumeManager: helper.volumeManager,
    journal,
    allocationState: await openCheckpointState(join(rootDir, 'allocation')),
    actuatedState: await openCheckpointState(join(rootDir, 'actuated')),
    statusManager: { requestTimeoutMs },
    logger,
    clock,
  });
  agent.start();
  writeReport({ kind: 'running' });
  return { agent, runtime, helper, client };
}

async function killAll(runtime: ProcessRuntime): Promise<void> {
  const containers = (await runtime.listPods()).flatMap((pod) => pod.containers);
  await Promise.all(containers.map(({ id }) => runtime.stopContainer(id, 0)));
}

async function stop(drain: boolean): Promise<void> {
  isStopping = true;
  const { agent, runtime, helper, client } = await starting!;
  await agent.stop({ drain, deadlineMs: 2_000 });
  await helper.close();
  await client.transport.close();
  await runtime.close();
  writeReport({ kind: 'stopped', left: await leakCheck!.left(), outcomes: {}, broken: [], thrown: 0 });
  process.disconnect();
}
