import { refuseOption } from '../../shared/errors.ts';
import { requireDurationOption, requireFunctionOption, requireFields } from '../../shared/validate.ts';
import { requirePort } from '../../shared/ports.ts';
import type { EvictionOptions } from '../eviction/create-eviction-manager.ts';
import { parseThresholds } from '../eviction/thresholds.ts';
import type { ImageGCPolicy } from '../image-gc/image-gc-manager.ts';
import { requireImagePulls } from '../image-pulls/image-pull-options.ts';
import {
  apiSourceName,
  type ContainerRuntime,
  nodeFields,
  type PodSource,
  requireNode,
  requireNodeName,
  runtimeCalls,
  statusManagerFields,
} from '../../node/index.ts';
import type { AgentState, NodeAgentOptions } from './node-agent-options.ts';

/** What is lost with the process unless it is given; a missing one is a compile error. */
const stateNames: Readonly<Record<keyof AgentState, true>> = {
  actuatedState: true,
  allocationState: true,
  imagePullRecordsDirectory: true,
  journal: true,
};
/** Every option; a missing one is a compile error. */
const optionNames: Readonly<Record<keyof NodeAgentOptions, true>> = {
  ...stateNames,
  allowedUnsafeSysctls: true,
  canAdmitPod: true,
  client: true,
  clock: true,
  eventRecorder: true,
  eviction: true,
  handlerRunner: true,
  imageGC: true,
  imagePulls: true,
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
const requiredRuntimeMethods = [
  'listPods',
  'getPod',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'execSync',
] as const;
/** Of an `AllocationState`; `allocationState` is checked by the status manager. */
const stateMethods = ['getContainerResourceAllocation', 'setPodAllocation', 'delete', 'removeOrphanedPods'] as const;
const sandboxMethods = ['runPodSandbox', 'stopPodSandbox', 'removePodSandbox'] as const;

/** Checks the options that no component checks itself. @throws StatusManagerError INVALID_OPTION */
export function requireNodeAgentOptions(options: NodeAgentOptions): void {
  requireFields('options', options, Object.keys(optionNames));
  const { nodeName, client, runtime, sources = [], node = {} } = options;
  requireNodeName(nodeName);
  requirePort('runtime', runtime, requiredRuntimeMethods, Object.keys(runtimeCalls) as (keyof ContainerRuntime)[]);
  if (runtime.runPodSandbox !== undefined) requirePort('runtime', runtime, sandboxMethods);
  requireDurationOption('runtimeRequestTimeoutMs', options.runtimeRequestTimeoutMs);
  if (options.allowedUnsafeSysctls !== undefined && !Array.isArray(options.allowedUnsafeSysctls))
    refuseOption('allowedUnsafeSysctls', "a list of sysctls: ['net.core.*']");
  requireFunctionOption('canAdmitPod', options.canAdmitPod);
  if (options.volumeManager !== undefined)
    requirePort(
      'volumeManager',
      options.volumeManager,
      ['waitForAttachAndMount', 'waitForUnmount'],
      ['cleanupOrphanedPodDirs', 'getPodVolumeStats'],
    );
  if (options.handlerRunner !== undefined) requirePort('handlerRunner', options.handlerRunner, ['run']);
  if (options.prober !== undefined) requirePort('prober', options.prober, ['probe']);
  if (options.eventRecorder !== undefined) requirePort('eventRecorder', options.eventRecorder, ['event']);
  const { imagePullRecordsDirectory: records } = options;
  if (records !== undefined && !(typeof records === 'string' && records.startsWith('/')))
    refuseOption('imagePullRecordsDirectory', 'an absolute path', records);
  if (options.actuatedState !== undefined) requirePort('actuatedState', options.actuatedState, stateMethods);
  if (options.statusManager !== undefined)
    requireFields('statusManager', options.statusManager, Object.keys(statusManagerFields));
  if (options.imagePulls !== undefined) requireImagePulls(options.imagePulls);
  if (options.imageGC) requireImageGC(options.imageGC);
  if (options.eviction !== undefined) requireEviction(options.eviction);
  requireSources(sources, client !== undefined);
  if (node !== false) {
    requireFields('node', node, Object.keys(nodeFields));
    requireNode(node, 'node.');
  }
}

/** What the agent has in memory only. */
export function stateInMemory(state: AgentState): string[] {
  return (Object.keys(stateNames) as (keyof AgentState)[]).filter((name) => state[name] === undefined);
}

function requireImageGC(policy: ImageGCPolicy): void {
  requireFields('imageGC', policy, ['highThresholdPercent', 'lowThresholdPercent', 'minimumAgeMs']);
  const { highThresholdPercent: high = 85, lowThresholdPercent: low = 80, minimumAgeMs = 120_000 } = policy;
  for (const [name, percent] of Object.entries({ highThresholdPercent: high, lowThresholdPercent: low }))
    if (!(percent >= 0 && percent <= 100)) refuseOption(`imageGC.${name}`, 'a number from 0 to 100', percent);
  if (low > high) refuseOption('imageGC.lowThresholdPercent', 'at most `imageGC.highThresholdPercent`', low);
  if (!(minimumAgeMs >= 0)) refuseOption('imageGC.minimumAgeMs', 'a number ≥ 0', minimumAgeMs);
}

const evictionFields: Readonly<Record<keyof EvictionOptions, true>> = {
  hard: true,
  soft: true,
  softGracePeriodMs: true,
  minimumReclaim: true,
  maxPodGracePeriodSeconds: true,
  rootDirectory: true,
  pressureTransitionPeriodMs: true,
};

function requireEviction(eviction: EvictionOptions): void {
  requireFields('eviction', eviction, Object.keys(evictionFields));
  const { rootDirectory = '/', pressureTransitionPeriodMs = 0, maxPodGracePeriodSeconds = 0 } = eviction;
  parseThresholds(eviction);
  if (typeof rootDirectory !== 'string' || !rootDirectory.startsWith('/'))
    refuseOption('eviction.rootDirectory', 'an absolute path', rootDirectory);
  if (!(pressureTransitionPeriodMs >= 0))
    refuseOption('eviction.pressureTransitionPeriodMs', 'a number ≥ 0', pressureTransitionPeriodMs);
  if (!(maxPodGracePeriodSeconds >= 0))
    refuseOption('eviction.maxPodGracePeriodSeconds', 'a number ≥ 0', maxPodGracePeriodSeconds);
}

function requireSources(sources: readonly PodSource[], hasClient: boolean): void {
  if (!Array.isArray(sources)) refuseOption('sources', 'a list of pod sources: [fileSource({ path })]');
  if (!hasClient && sources.length === 0) refuseOption('sources', 'with a source, as there is no `client`');
  const names = new Set<string>();
  for (const [index, source] of sources.entries()) {
    const path = `sources[${index}]`;
    requirePort(path, source, ['start', 'stop']);
    const { name } = source;
    if (typeof name !== 'string' || name === '') refuseOption(`${path}.name`, 'a text');
    if (names.has(name)) refuseOption(`${path}.name`, `unique, but another source has the name ${name}`);
    if (name === apiSourceName && !hasClient) refuseOption(path, 'absent, as there is no `client`');
    names.add(name);
  }
}
