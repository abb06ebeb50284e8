import { refuseOption } from '../../shared/errors.ts';
import {
  aFunction,
  anAbsolutePath,
  duration,
  nested,
  notNegative,
  percentage,
  optional,
  type OptionChecks,
  port,
  requiredPort,
  requireOptions,
  unchecked,
} from '../../shared/option-checks.ts';
import { requirePort } from '../../shared/ports.ts';
import type { EvictionOptions } from '../eviction/create-eviction-manager.ts';
import { parseThresholds } from '../eviction/thresholds.ts';
import type { ImageGCPolicy } from '../image-gc/image-gc-manager.ts';
import { type ImagePullOptions, requireImagePulls } from '../image-pulls/image-pull-options.ts';
import {
  aNodeName,
  apiSourceName,
  nodeChecks,
  type PodSource,
  runtimeCalls,
  statusManagerChecks,
} from '../../node/index.ts';
import type { AgentState, NodeAgentOptions } from './node-agent-options.ts';

/** State that is lost with the process unless the option is given. A missing row is a compile error. */
const stateChecks: OptionChecks<AgentState> = {
  actuatedState: port(['getContainerResourceAllocation', 'setPodAllocation', 'delete', 'removeOrphanedPods']),
  // The status manager checks these.
  allocationState: unchecked,
  imagePullRecordsDirectory: anAbsolutePath,
  journal: unchecked,
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
const sandboxMethods = ['runPodSandbox', 'stopPodSandbox', 'removePodSandbox'] as const;

const imageGCChecks = {
  highThresholdPercent: percentage,
  lowThresholdPercent: percentage,
  minimumAgeMs: notNegative,
} satisfies OptionChecks<ImageGCPolicy>;

const evictionChecks: OptionChecks<EvictionOptions> = {
  hard: unchecked,
  soft: unchecked,
  softGracePeriodMs: unchecked,
  minimumReclaim: unchecked,
  maxPodGracePeriodSeconds: notNegative,
  rootDirectory: anAbsolutePath,
  pressureTransitionPeriodMs: notNegative,
};

const checks: OptionChecks<NodeAgentOptions> = {
  ...stateChecks,
  allowedUnsafeSysctls: optional("a list of sysctls: ['net.core.*']", Array.isArray),
  canAdmitPod: aFunction,
  client: unchecked,
  clock: unchecked,
  eventRecorder: port(['event']),
  eviction: nested(evictionChecks),
  handlerRunner: port(['run']),
  imageGC: (path, policy) => policy !== false && nested(imageGCChecks)(path, policy),
  imagePulls: (_, options) => options !== undefined && requireImagePulls(options as ImagePullOptions),
  logger: unchecked,
  metrics: unchecked,
  node: (path, node) => node !== false && nested(nodeChecks)(path, node),
  nodeName: aNodeName,
  podStartupLatency: unchecked,
  prober: port(['probe']),
  random: unchecked,
  runtime: requiredPort(requiredRuntimeMethods, Object.keys(runtimeCalls)),
  runtimeRequestTimeoutMs: duration,
  sources: optional('a list of pod sources: [fileSource({ path })]', Array.isArray),
  statusManager: nested(statusManagerChecks),
  volumeManager: port(['waitForAttachAndMount', 'waitForUnmount'], ['cleanupOrphanedPodDirs', 'getPodVolumeStats']),
};

/** Checks the options that no component checks itself. @throws StatusManagerError INVALID_OPTION */
export function requireNodeAgentOptions(options: NodeAgentOptions): void {
  requireOptions(options, checks);
  const { client, runtime, sources = [], imageGC, eviction } = options;
  if (runtime.runPodSandbox !== undefined) requirePort('runtime', runtime, sandboxMethods);
  const { highThresholdPercent: high = 85, lowThresholdPercent: low = 80 } = imageGC || {};
  if (low > high) refuseOption('imageGC.lowThresholdPercent', 'at most `imageGC.highThresholdPercent`', low);
  if (eviction !== undefined) parseThresholds(eviction);
  requireSources(sources, client !== undefined);
}

/** The options of `AgentState` that are missing. */
export function stateInMemory(state: AgentState): string[] {
  return (Object.keys(stateChecks) as (keyof AgentState)[]).filter((name) => state[name] === undefined);
}

function requireSources(sources: readonly PodSource[], hasClient: boolean): void {
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
