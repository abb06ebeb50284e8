import type { Clock, Logger, Metrics, Pod } from 'kubelet-status-manager';
import {
  apiSource,
  createNodeAgent,
  createRuntimeHelper,
  type EventRecorder,
  fileSource,
  type NodeAgent,
  type NodeAgentNode,
  openAgentState,
} from 'kubelet-status-manager/agent';
import type { HTTPPodClient } from 'kubelet-status-manager/http';
import { createProcessRuntime, type ProcessRuntime } from 'kubelet-status-manager/process-runtime';
import { parse } from 'yaml';
import { AgentError } from './agent-error.ts';
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
  /** Close it after the agent has stopped. */
  readonly helper: ReturnType<typeof createRuntimeHelper>;
}

/**
 * Creates the agent without starting it, and finds the containers of earlier agents.
 * @throws AgentError when another agent uses the directory
 */
export async function createProcessAgent(options: ProcessAgentOptions): Promise<ProcessAgent> {
  const { nodeName, addresses, podClient, podManifestPath, root, eventRecorder, clock, logger } = options;
  // Fails if another agent uses the directory.
  const state = await openAgentState(root.stateDirectory).catch((error: unknown) => {
    throw AgentError.from(error, `--root-dir ${root.path}`);
  });
  const helper = createRuntimeHelper({
    ...{ client: podClient, rootDirectory: root.path, mounts: false, hostIPs: addresses },
    ...{ eventRecorder, clock, logger },
  });
  const runtime = await createProcessRuntime({
    ...{ rootDirectory: root.path, helper, hostIPs: addresses, clock, logger },
  }).catch((error: unknown) => {
    throw AgentError.from(error, `--root-dir ${root.path}`);
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
    volumeManager: helper.volumeManager,
    eventRecorder,
    ...state,
    metrics: options.metrics,
    clock,
    logger,
  });
  return { agent, runtime, helper };
}
