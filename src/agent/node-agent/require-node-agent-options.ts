import { isIP } from 'node:net';
import { requireDuration } from '../pod-workers/require-duration.ts';
import { refuseOption, requireFunction, requireMembers, requireMethods } from '../require-option.ts';
import type { NodeAgentNode, NodeAgentOptions, NodeAgentSources } from './node-agent-options.ts';

/** Every option; a missing one is a compile error. */
const optionNames: Readonly<Record<keyof NodeAgentOptions, true>> = {
  actuatedState: true,
  allocationState: true,
  canAdmitPod: true,
  client: true,
  clock: true,
  eventRecorder: true,
  handlerRunner: true,
  journal: true,
  logger: true,
  metrics: true,
  node: true,
  nodeName: true,
  podStartupLatency: true,
  prober: true,
  random: true,
  runtime: true,
  runtimeRequestTimeoutMs: true,
  sources: true,
  statusManager: true,
  volumeManager: true,
};
const nodeMembers: Readonly<Record<keyof NodeAgentNode, true>> = {
  addresses: true,
  adoptNode: true,
  annotations: true,
  labels: true,
  leaseDurationSeconds: true,
  nodeStatus: true,
  providerID: true,
  readyErrors: true,
  taints: true,
};
const sourceMembers: Readonly<Record<keyof NodeAgentSources, true>> = { api: true, file: true, http: true };
const statusManagerMembers: Readonly<Record<keyof NonNullable<NodeAgentOptions['statusManager']>, true>> = {
  burst: true,
  concurrency: true,
  limiter: true,
  patchStrategy: true,
  qps: true,
  readBeforePatch: true,
  requestTimeoutMs: true,
  syncPeriodMs: true,
};

const runtimeMethods = [
  'listPods',
  'getPod',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'execSync',
];
/** Of an `AllocationState`; `allocationState` is checked by the status manager. */
const stateMethods = ['getContainerResourceAllocation', 'setPodAllocation', 'delete', 'removeOrphanedPods'];
const sandboxMethods = ['runPodSandbox', 'stopPodSandbox', 'removePodSandbox'];
const otherOptionalMethods = ['pullImage', 'imageRef', 'subscribe', 'updateContainerResources'];

/** Checks the options that no component checks itself. @throws StatusManagerError INVALID_OPTION */
export function requireNodeAgentOptions(options: NodeAgentOptions): void {
  requireMembers('options', options, Object.keys(optionNames));
  const { nodeName, client, runtime, sources = {}, node = {} } = options;
  if (typeof nodeName !== 'string' || !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(nodeName))
    refuseOption('nodeName', "a node's name, in lower case");
  requireMethods('runtime', runtime, runtimeMethods, [...sandboxMethods, ...otherOptionalMethods]);
  if (runtime.runPodSandbox !== undefined) requireMethods('runtime', runtime, sandboxMethods);
  requireDuration('runtimeRequestTimeoutMs', options.runtimeRequestTimeoutMs);
  requireFunction('canAdmitPod', options.canAdmitPod);
  if (options.volumeManager !== undefined)
    requireMethods('volumeManager', options.volumeManager, ['waitForAttachAndMount', 'waitForUnmount']);
  if (options.handlerRunner !== undefined) requireMethods('handlerRunner', options.handlerRunner, ['run']);
  if (options.prober !== undefined) requireMethods('prober', options.prober, ['probe']);
  if (options.eventRecorder !== undefined) requireMethods('eventRecorder', options.eventRecorder, ['event']);
  if (options.actuatedState !== undefined) requireMethods('actuatedState', options.actuatedState, stateMethods);
  if (options.statusManager !== undefined)
    requireMembers('statusManager', options.statusManager, Object.keys(statusManagerMembers));
  requireSources(sources, client !== undefined);
  if (node !== false) requireNode(node);
}

function requireSources(sources: NodeAgentSources, hasClient: boolean): void {
  requireMembers('sources', sources, Object.keys(sourceMembers));
  const { api, file, http } = sources;
  if (!hasClient && file === undefined && http === undefined)
    refuseOption('sources', 'with `file` or `http`, as there is no `client`');
  if (api !== undefined) {
    requireMembers('sources.api', api, ['filter']);
    requireFunction('sources.api.filter', api.filter);
    if (!hasClient) refuseOption('sources.api', 'absent, as there is no `client`');
  }
  if (file !== undefined) {
    requireMembers('sources.file', file, ['path', 'parse', 'fileCheckFrequencyMs']);
    if (typeof file.path !== 'string' || file.path === '')
      refuseOption('sources.file.path', 'the path of a folder or file');
    requireFunction('sources.file.parse', file.parse);
  }
  if (http !== undefined) {
    requireMembers('sources.http', http, ['url', 'header', 'parse', 'httpCheckFrequencyMs']);
    requireFunction('sources.http.parse', http.parse);
  }
}

function requireNode(node: NodeAgentNode): void {
  requireMembers('node', node, Object.keys(nodeMembers));
  const { addresses } = node;
  if (addresses !== undefined && !(Array.isArray(addresses) && addresses.every((address) => isIP(address) !== 0)))
    refuseOption('node.addresses', 'a list of IP addresses');
  const families = (addresses ?? []).map((address) => isIP(address));
  if (new Set(families).size < families.length) refuseOption('node.addresses', 'at most one of each IP family');
  requireFunction('node.nodeStatus', node.nodeStatus);
  requireFunction('node.readyErrors', node.readyErrors);
  requireFunction('node.adoptNode', node.adoptNode);
}
