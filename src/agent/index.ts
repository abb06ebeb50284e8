/* The rest of a kubelet around the status manager: sync loop, pod workers, probes, volumes, the Node. */

// A complete agent
export { createNodeAgent } from './node-agent/create-node-agent.ts';
export type { NodeAgent } from './node-agent/node-agent.ts';
export type { NodeAgentInspection } from './node-agent/node-agent-inspection.ts';
export type { AgentState, NodeAgentOptions } from './node-agent/node-agent-options.ts';
export {
  APIEventRecorder,
  apiSource,
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerRuntime,
  createEventClient,
  type EventClient,
  type EventRecorder,
  type Eviction,
  type ExecResult,
  fileSource,
  httpSource,
  ImageError,
  type Node,
  type NodeAgentNode,
  NodeReporter,
  type NodeReporterOptions,
  type NodeStatus,
  type ObjectEvent,
  type PodAdmitAttributes,
  type PodAdmitResult,
  type PodEvent,
  type PodSandboxConfig,
  type PodSink,
  type PodSource,
  type PodSourceContext,
  type ProbeResult,
  type RuntimeContainerStatus,
  type RuntimeEvent,
  type RuntimeHelper,
  type RuntimePod,
  type RuntimeSandboxStatus,
  startClientCertificateManager,
} from '../node/index.ts';
export { openAgentState } from './node-agent/open-agent-state.ts';
export { serveAgent } from './http-server/serve-agent.ts';
export type { AgentServer, ServeAgentOptions } from '../node/index.ts';

// The container runtime

// Environment, volumes and DNS of pods, for any runtime
export { createRuntimeHelper, type RuntimeHelperOptions } from './runtime-helper/create-runtime-helper.ts';

// Volumes, probes and hooks
export type { VolumeManager } from './volumes/volume-manager.ts';
export type { Prober, ProbeRequest } from '../node/index.ts';
export type { HandlerRequest, HandlerRunner } from './pod-syncer/handler-runner.ts';

// Pod sources

// Credentials

// Events
