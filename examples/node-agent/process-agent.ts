import {
  type Clock,
  fileJournal,
  type Logger,
  type Metrics,
  openCheckpointState,
  type Pod,
} from 'kubelet-status-manager';
import {
  apiSource,
  createNodeAgent,
  type EventRecorder,
  fileSource,
  type NodeAgent,
  type NodeAgentNode,
} from 'kubelet-status-manager/agent';
import type { HTTPPodClient } from 'kubelet-status-manager/http';
import { parse } from 'yaml';
import { AgentError } from './agent-error.ts';
import { createConfigObjects } from './pod-config/config-objects.ts';
import { resolveContainerCommand } from './pod-config/container-command.ts';
import { Volumes } from './pod-config/volumes.ts';
import { ProcessRuntime } from './process-runtime/process-runtime.ts';
import type { RootDirectory } from './root-directory.ts';

export interface ProcessAgentOptions {
  readonly nodeName: string;
  /** IP addresses of the node; its pods share them. */
  readonly addresses: readonly string[];
  readonly podClient: HTTPPodClient;
  readonly node: NodeAgentNode;
  /** Whether the agent runs a pod of the API server. */
  readonly runsPod: (pod: Pod) => boolean;
  /** Path of the manifests of static pods; absent if there are none. */
  readonly podManifestPath?: string | undefined;
  readonly root: RootDirectory;
  readonly eventRecorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A node agent whose containers are processes. */
export interface ProcessAgent {
  readonly agent: NodeAgent;
  readonly runtime: ProcessRuntime;
}

/**
 * Creates the agent without starting it, and finds the containers of earlier agents.
 * @throws AgentError when another agent uses the directory
 */
export async function createProcessAgent(options: ProcessAgentOptions): Promise<ProcessAgent> {
  const { nodeName, addresses, podClient, podManifestPath, root, clock, logger } = options;
  const node = { nodeName, addresses };
  // Only one agent at a time can open the journal, so only one can use the directory.
  const journal = await fileJournal(root.journalDirectory).catch((error: unknown) => {
    throw AgentError.from(error, `--root-dir ${root.path}`);
  });
  const configObjects = createConfigObjects(podClient.transport);
  const runtime = await ProcessRuntime.open({
    directory: root.node,
    resolveCommand: (pod, container) => resolveContainerCommand(pod, container, configObjects, node),
    podIPs: addresses,
    clock,
  });
  const agent = createNodeAgent({
    nodeName,
    client: podClient,
    runtime,
    sources: [
      apiSource({ filter: options.runsPod }),
      ...(podManifestPath === undefined
        ? []
        : [fileSource({ path: podManifestPath, parse: (text) => parse(text) as unknown })]),
    ],
    node: options.node,
    volumeManager: new Volumes({ directory: root.node, configObjects, node, clock, logger }),
    eventRecorder: options.eventRecorder,
    journal,
    allocationState: await openCheckpointState(root.allocatedDirectory),
    actuatedState: await openCheckpointState(root.actuatedDirectory),
    metrics: options.metrics,
    clock,
    logger,
  });
  return { agent, runtime };
}
