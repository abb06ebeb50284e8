/* The rest of a kubelet around the status manager: sync loop, pod workers, probes, volumes, the Node. */

// A complete agent
export { createNodeAgent } from './node-agent/create-node-agent.ts';
export type { NodeAgent } from './node-agent/node-agent.ts';
export type { NodeAgentInspection } from './node-agent/node-agent-inspection.ts';
export type { AgentState, NodeAgentOptions } from './node-agent/node-agent-options.ts';
export type { NodeAgentNode } from './node-agent/node-options.ts';
export { openAgentState } from './node-agent/open-agent-state.ts';
export type { Eviction } from './eviction/evict-pod.ts';
export type { PodAdmitAttributes, PodAdmitResult } from './allocation/pod-admission.ts';
export type { Node, NodeStatus } from './node/node-types.ts';
export { NodeReporter } from './node/node-reporter.ts';
export type { NodeReporterOptions } from './node/node-reporter-options.ts';
export { type AgentServer, serveAgent, type ServeAgentOptions } from './http-server/serve-agent.ts';

// The container runtime
export type {
  CallOptions,
  ContainerConfig,
  ContainerRuntime,
  ExecResult,
  PodSandboxConfig,
  RuntimeEvent,
  RuntimeEventType,
  RuntimePod,
} from './runtime/container-runtime.ts';
export { ContainerConfigError, ImageError } from './runtime/container-runtime.ts';
export type { RuntimeContainerStatus, RuntimeSandboxStatus } from './runtime/runtime-pod-status.ts';

// Environment, volumes and DNS of pods, for any runtime
export { createRuntimeHelper, type RuntimeHelperOptions } from './runtime-helper/create-runtime-helper.ts';
export type { RuntimeHelper } from './runtime-helper/runtime-helper.ts';

// Volumes, probes and hooks
export type { VolumeManager } from './volumes/volume-manager.ts';
export type { Prober, ProbeRequest } from './prober/prober.ts';
export type { ProbeResult } from './prober/probe-results.ts';
export type { HandlerRequest, HandlerRunner } from './pod-workers/handler-runner.ts';

// Pod sources
export { apiSource } from './config/api-source.ts';
export { fileSource } from './config/file-source.ts';
export { httpSource } from './config/http-source.ts';
export type { PodSink, PodSource, PodSourceContext } from './config/pod-source.ts';

// Credentials
export { startClientCertificateManager } from './certificate/client-certificate.ts';

// Events
export { APIEventRecorder } from './events/api-event-recorder.ts';
export { createEventClient, type EventClient } from './events/event-client.ts';
export type { EventRecorder, ObjectEvent, PodEvent } from './events/event-recorder.ts';
