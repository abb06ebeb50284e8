import { computePodActions } from '../../src/agent/actions/compute-pod-actions.ts';
import {
  hasAnyActiveRegularContainerStarted,
  hasAnyRegularContainerCreated,
} from '../../src/node/status/should-container-be-restarted.ts';
import { computeInitContainerActions } from '../../src/agent/actions/init-container-actions.ts';
import { lostRuns } from '../../src/agent/actions/lost-runs.ts';
import { startsResized } from '../../src/agent/actions/pod-resize-action.ts';
import { insufficientResources, withoutMissingExtendedResources } from '../../src/node/admission/fits-resources.ts';
import { generalPredicates, matchesNodeAffinity } from '../../src/node/admission/general-predicates.ts';
import { unsupportedFeature } from '../../src/node/admission/predicate-admit-handler.ts';
import { podsToPreempt } from '../../src/node/admission/preemption.ts';
import { allocatedFromStatus } from '../../src/node/allocation/reported-resources.ts';
import { resizeMessage } from '../../src/node/allocation/resize-message.ts';
import { doActualRequestsShrink, wantsOtherResources } from '../../src/node/allocation/resource-changes.ts';
import { sortPendingResizes } from '../../src/node/allocation/sort-pending-resizes.ts';
import { isAllocated, updatedFromAllocation } from '../../src/node/allocation/updated-from-allocation.ts';
import { checkAndUpdatePod, withAnnotations } from '../../src/node/config/check-and-update-pod.ts';
import { decodePods, decodeSinglePod } from '../../src/node/config/decode-manifest.ts';
import { containersToDeleteInPod } from '../../src/agent/container-gc/container-gc.ts';
import { lookupCredentials } from '../../src/node/container-options/docker-keyring.ts';
import { makeEnvironmentVariables, parseEnvFile } from '../../src/node/container-options/make-environment.ts';
import { expandContainerCommandAndArgs } from '../../src/node/container-options/expand-references.ts';
import { fieldPathAsString } from '../../src/node/container-options/field-value.ts';
import { managedHostsFileContent, nodeHostsFileContent } from '../../src/agent/container-options/hosts-file.ts';
import { getPodDNS } from '../../src/agent/container-options/pod-dns.ts';
import { pullCredentials } from '../../src/node/container-options/pull-credentials.ts';
import { parseResolvConf } from '../../src/agent/container-options/resolv-conf.ts';
import { serviceEnvironment, servicesForPod } from '../../src/node/container-options/service-environment.ts';
import { rankPods } from '../../src/agent/eviction/rank-pods.ts';
import { localStorageExcess } from '../../src/agent/eviction/local-storage-eviction.ts';
import { mergeImagePullCredentials } from '../../src/agent/image-pulls/pulled-record.ts';
import { decodeImagePulledRecord, encodeImagePulledRecord } from '../../src/agent/image-pulls/record-format.ts';
import { mergeNodeConditions } from '../../src/node/registration/node-conditions.ts';
import { nodeStatusHasChanged, nodeStatusPatch, updatedNodeStatus } from '../../src/node/registration/node-status.ts';
import { toleratesTaints } from '../../src/node/registration/tolerates-taints.ts';
import { computeEvents, plegContainerStates } from '../../src/node/sync-loop/pod-lifecycle-event.ts';
import { refusedFields } from '../../src/node/pod-spec/refused-fields.ts';
import { resolveContainerPort } from '../../src/node/prober/container-port.ts';
import { expandCommand } from '../../src/node/prober/exec-probe.ts';
import { httpProbeRequest } from '../../src/node/prober/http-probe-request.ts';
import { malformedResponseMessage } from '../../src/node/prober/malformed-response.ts';
import { parseImageName } from '../../src/node/runtime/image-name.ts';
import {
  newestFirst,
  newestSandboxesFirst,
  podStatusFromRuntime,
} from '../../src/agent/pleg/pod-status-from-runtime.ts';
import { requireImages, requireRuntimePods, requirePodStats } from '../../src/node/runtime/require-runtime-result.ts';
import { requireRuntimeStatus } from '../../src/node/runtime/require-runtime-status.ts';
import { activeContainerStatuses } from '../../src/node/runtime/runtime-pod-status.ts';
import {
  convertToAPIContainerStatuses,
  convertToAPIInitContainerStatuses,
} from '../../src/node/status/convert-container-statuses.ts';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import { updatePodStatus } from '../../src/node/status/probed-statuses.ts';
import { keepReportedEnds } from '../../src/node/status/reported-ends.ts';
import { makeMounts } from '../../src/agent/volumes/container-mounts.ts';
import { nestedMountPoints } from '../../src/agent/volumes/nested-mount-points.ts';
import { noProbeResults } from '../../src/node/probes/probe-results.ts';
import { apiObjectReference, podConfigMapNames, podSecretNames } from '../../src/kube/objects/api-object-reference.ts';
import { describeAPIError } from '../../src/kube/client/api-error.ts';
import { redact, redactEach, redactLikelySecrets } from '../../src/kube/client/redact.ts';
import { parseJSONBody, isNestedTooDeeply } from '../../src/kube/client/response-body.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';
import { KnownPods } from '../../src/kube/informer/known-pods.ts';
import { readLines, readWatchEvents } from '../../src/kube/informer/watch-events.ts';
import { canonicalIP } from '../../src/kube/objects/ip-address.ts';
import { decodeKubeType } from '../../src/kube/objects/kube-decoder.ts';
import type { JSONObject } from '../../src/kube/objects/json-object.ts';
import { withPodSpecDefaults } from '../../src/kube/pods/pod-defaults.ts';
import { podSummary } from '../../src/kube/pods/pod-summary.ts';
import { canonicalQuantity } from '../../src/kube/objects/quantity.ts';
import { requirePod, requirePods } from '../../src/kube/pods/require-pod.ts';
import { toV1Pod } from '../../src/kube/pods/to-v1-pod.ts';
import type { Pod, PodStatus, ValidPod } from '../../src/kube/objects/types.ts';
import { validateContainers } from '../../src/kube/validation/containers.ts';
import { validateMetadata } from '../../src/kube/validation/metadata.ts';
import { validatePodCreate, validatePodSpec } from '../../src/kube/validation/pod-spec.ts';
import { validateVolumes } from '../../src/kube/validation/volumes.ts';
import { fixedWidthTime, parseLogLine } from '../../src/kubelet-api/parse-log-line.ts';
import { podSummaries, statusDocument } from '../../src/observe/statusz/status-document.ts';
import { assignNodes } from '../../src/virtual-nodes/replicas/assign-nodes.ts';
import { leaseTiming } from '../../src/virtual-nodes/replicas/node-ownership-options.ts';
import { ObservedLeases } from '../../src/virtual-nodes/replicas/observed-leases.ts';
import { planOwnership } from '../../src/virtual-nodes/replicas/plan-ownership.ts';
import { toRuntimeContainerStatus } from '../../src/cri/container-status.ts';
import { podHash } from '../../src/virtual-nodes/pods/pod-hash.ts';
import {
  generateProviderPodStatus,
  providerPodStatusInputs,
} from '../../src/virtual-nodes/pods/generate-provider-pod-status.ts';
import { unknownProviderPod } from '../../src/virtual-nodes/pods/provider-pod-record.ts';
import { runtimePodStatus, shortText, withoutWaitingRuns } from '../../src/virtual-nodes/pods/provider-pod-status.ts';
import { podStatsOf } from '../../src/virtual-nodes/kubelet/provider-stats.ts';
import { readProviderPod, readProviderPods } from '../../src/virtual-nodes/calls/require-provider-pods.ts';
import { deepFreeze } from '../../src/shared/freeze.ts';
import { parseJSON } from '../../src/shared/json.ts';
import { plainCopy } from '../../src/shared/plain-data.ts';
import { canPodRun } from '../../src/status-manager/cache/can-pod-run.ts';
import { unreadyCauses } from '../../src/status-manager/explain/unready-causes.ts';
import { formatText } from '../../src/status-manager/explain/format.ts';
import { decodeJournal, encodeLine } from '../../src/status-manager/journal/journal-lines.ts';
import { canonicalPodStatus, canonicalVolumeHealthConditions } from '../../src/status-manager/status/canonical.ts';
import { containerStatusesOf } from '../../src/status-manager/status/container-statuses.ts';
import { equalJSON, isPodStatusByKubeletEqual, reflectsStatus } from '../../src/status-manager/status/equality.ts';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  needToReconcilePodReadiness,
} from '../../src/status-manager/status/generate-conditions.ts';
import {
  generateAllContainersRestartingCondition,
  shouldAllContainersRestart,
} from '../../src/status-manager/status/generate-runtime-conditions.ts';
import { generateAPIPodStatus } from '../../src/status-manager/status/generate.ts';
import { createStatusJSONPatch } from '../../src/status-manager/status/json-patch.ts';
import { managersOf } from '../../src/status-manager/status/managed-fields.ts';
import { mergePodStatus } from '../../src/status-manager/status/merge.ts';
import { normalizeStatus } from '../../src/status-manager/status/normalize.ts';
import { getPhase } from '../../src/status-manager/status/phase.ts';
import { statusIPs } from '../../src/status-manager/status/pod-ips.ts';
import { actualPodResources, podRequests, podStatusResources } from '../../src/status-manager/status/pod-resources.ts';
import { computePodQOS } from '../../src/status-manager/status/qos.ts';
import { isServerNewer, latestTime } from '../../src/status-manager/status/server-newer.ts';
import { applyPodPatch, applyPodStatusPatch } from '../../src/status-manager/status/strategic-merge-apply.ts';
import { createStatusPatch, diffPodStatus } from '../../src/status-manager/status/strategic-merge.ts';
import { hasPodInitialized, terminatedPodStatus } from '../../src/status-manager/status/terminate.ts';
import { refreshLastTransitionTimes } from '../../src/status-manager/status/transition-times.ts';
import {
  checkContainerStateTransition,
  keepTerminatedContainers,
} from '../../src/status-manager/status/transitions.ts';
import { cutTerminationMessage } from '../../src/status-manager/status/utf8.ts';
import { apiPodOf, decide } from '../../src/status-manager/sync/decide.ts';
import { withoutDroppedFields } from '../../src/status-manager/sync/dropped-fields.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';
import { replacesAllConditions } from '../../src/status-manager/sync/trusted-object.ts';
import type { Reader } from './growth.ts';
import {
  different,
  hostilePod,
  hostileRuntimeStatus,
  hostileStatus,
  type Names,
  record,
  repeat,
  same,
} from './hostile.ts';

/** What the growth of is measured. */
export interface Row extends Reader<never> {
  readonly subject: (...args: never[]) => unknown;
  /** What is hostile about the input. */
  readonly shape: string;
}

type Subject = Row['subject'];

/** Reads something that is made with many different names, and with the same name again and again. */
function ofNames<T>(build: (size: number, names: Names) => T) {
  const built = new Map<string, T>();
  const make = (size: number, names: Names): T => {
    const key = `${size} ${names(1)}`;
    if (!built.has(key)) built.set(key, build(size, names));
    return built.get(key)!;
  };
  return (subject: Subject, read: (input: T, size: number) => unknown): Row[] =>
    [different, same].map((names) => ({
      subject,
      shape: names === same ? 'one name in all entries' : 'many entries',
      make: (size) => make(size, names) as never,
      read,
    }));
}

const canonical = (size: number, names: Names, text?: string): PodStatus => {
  const status = hostileStatus(size, names, text);
  return canonicalPodStatus(names === same ? { ...status, conditions: [] } : status, { strict: false });
};
const ofPod = ofNames((size, names) => {
  const pod = hostilePod(size, names);
  return {
    pod,
    spec: pod.spec as unknown as JSONObject,
    podTwin: hostilePod(size, names),
    status: canonical(size, names),
    twin: canonical(size, names),
    other: canonical(size, names, 'y'),
    runtimeStatus: hostileRuntimeStatus(size, names),
    exited: hostileRuntimeStatus(size, names, 'exited'),
  };
});
const ofPods = ofNames((size, names) =>
  repeat(size, (i): ValidPod => {
    const pod = hostilePod(1, names);
    return { ...pod, metadata: { ...pod.metadata, name: names(i), uid: `u${i}` } };
  }),
);
const ofText = (
  subject: Subject,
  texts: Readonly<Record<string, (size: number) => string>>,
  read: (text: string) => unknown,
): Row[] =>
  Object.entries(texts).map(([shape, textOf]) => ({
    subject,
    shape,
    make: (size) => textOf(size * 64) as never,
    read,
  }));

const repeated = (...parts: readonly string[]) =>
  Object.fromEntries(
    parts.map((part) => [JSON.stringify(part), (size: number) => part.repeat(size / part.length + 1)]),
  );
const node = (size: number, names: Names) => ({
  metadata: { name: 'node', labels: record(size, names, 'x') },
  spec: { taints: repeat(size, (i) => ({ key: names(i), effect: 'NoExecute' })) },
  status: {
    capacity: record(size, names, '1'),
    allocatable: record(size, names, '1'),
    conditions: repeat(size, (i) => ({ type: names(i), status: 'True' })),
    addresses: repeat(size, (i) => ({ type: names(i), address: names(i) })),
    images: repeat(size, (i) => ({ names: [names(i)] })),
  },
});
/** Of the Node, the agent's own part has a fixed size. */
const ofNode = ofNames((size, names) => ({
  node: node(8, names),
  before: node(size, (i) => names(size - 1 - i)),
  pod: hostilePod(size, names),
}));
const statusError = (size: number, of: (i: number) => object) => ({
  statusCode: 422,
  body: JSON.stringify({
    kind: 'Status',
    code: 422,
    reason: 'Invalid',
    message: 'm',
    details: { causes: repeat(size, of) },
  }),
});
const now = '2026-01-02T00:00:00Z';
const secret = Array.from({ length: 300 }, (_, i) => `e${i}`).join('');
const signal = new AbortController().signal;
const nothing = { getObject: () => Promise.resolve({ data: {} }) } as never;
async function readAll(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts);
}
const chunks = (text: string, bytes: number) =>
  (async function* () {
    const all = Buffer.from(text);
    for (let i = 0; i < all.length; i += bytes) yield all.subarray(i, i + bytes);
  })();
const facts = (pod: Pod, status: PodStatus, patchStrategy: 'strategic-merge' | 'json-patch') => ({
  ...{ uid: 'uid', translatedUID: 'uid', pod, adopted: { status, acceptedAt: now } as never },
  ...{ podIsFinished: true, podCouldHaveRunningContainers: () => true, patchStrategy, now },
});
const providerPod = (size: number, names: Names, i: number) => ({
  ...{
    uid: `u${i}`,
    namespace: 'default',
    name: names(i),
    state: 'running',
    ips: repeat(size, (ip) => `10.0.${ip >> 8}.${ip & 255}`),
  },
  containers: repeat(size, (at) => ({
    name: `c${names(size - 1 - at)}`,
    state: 'running',
    message: 'x'.repeat(at === 0 ? size : 1),
  })),
});
const ofProvider = ofNames((size, names) => ({
  pod: hostilePod(size, names),
  reported: providerPod(size, names, 0) as never,
  status: hostileStatus(size, names),
}));
const startsAgain = { podIsTerminal: false, isRestarting: false, crashLoopDelayMs: undefined };
const stats = (size: number, names: Names) =>
  repeat(size, (i) => ({
    podRef: { name: names(i), namespace: 'default', uid: `u${i}` },
    startTime: now,
    containers: repeat(i === 0 ? size : 1, (at) => ({ name: names(at), startTime: now, cpu: {}, memory: {} })),
  }));
const journalStart = 'live 00000000 {"sequence":';
const line = (sequence: number) =>
  encodeLine({
    sequence,
    entry: { podUID: `u${sequence % 7}`, podName: 'n', podNamespace: 'd', status: {} } as never,
  }).toString();
const jsonTexts = {
  ...repeated('[', '{"a":', '"', '\\', '[],', '1'),
  'a pod': (size: number) => JSON.stringify(hostilePod(size / 64)),
};
const observed = ({
  status,
  runtimeStatus,
}: {
  status: PodStatus;
  runtimeStatus: ReturnType<typeof hostileRuntimeStatus>;
}) => ({
  ...{ containerStatuses: status.containerStatuses!, initContainerStatuses: status.initContainerStatuses! },
  ...{
    ephemeralContainerStatuses: status.ephemeralContainerStatuses!,
    previous: status,
    sandboxes: runtimeStatus.sandboxes,
  },
  ...{ runtimeContainers: runtimeStatus.containers, resizeConditions: status.conditions!, resources: {} },
});
const inspection = (pods: readonly ValidPod[]) => ({
  pods: pods.map(({ metadata }) => ({ podUID: metadata.uid, podName: metadata.name, podNamespace: 'd', version: 1 })),
  requestedDeletions: pods.map(({ metadata }) => ({
    podUID: metadata.uid,
    podName: metadata.name,
    podNamespace: 'd',
    finalizers: [],
  })),
});
const ignoreErrors = (read: () => unknown): unknown => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** Everything that reads, compares, redacts, plans or renders what others wrote. `others` of the test says what is not here, and why. */
export const rows: readonly Row[] = [
  // src/status-manager/status
  ...ofPod(canonicalPodStatus, ({ status }) => canonicalPodStatus(status)),
  ...ofPod(canonicalPodStatus, ({ pod }) => canonicalPodStatus(pod.status, { strict: false })),
  ...ofPod(canonicalVolumeHealthConditions, ({ status }) =>
    ignoreErrors(() => canonicalVolumeHealthConditions(status.volumeHealth, {})),
  ),
  ...ofPod(containerStatusesOf, ({ status }) => containerStatusesOf(status)),
  ...ofPod(isPodStatusByKubeletEqual, ({ status, twin }) => isPodStatusByKubeletEqual(status, twin)),
  ...ofPod(reflectsStatus, ({ status, pod }) => reflectsStatus(pod.status as PodStatus, status)),
  ...ofPod(equalJSON, ({ pod, podTwin }) => equalJSON(pod, podTwin)),
  ...ofPod(generateContainersReadyCondition, ({ pod, status }) =>
    generateContainersReadyCondition(pod, status, status.containerStatuses, 'Running'),
  ),
  ...ofPod(generatePodReadyCondition, ({ pod, status }) =>
    generatePodReadyCondition(pod, status, status.conditions, status.containerStatuses, 'Running'),
  ),
  ...ofPod(generatePodInitializedCondition, ({ pod, status }) =>
    generatePodInitializedCondition(pod, status, status.initContainerStatuses, 'Running'),
  ),
  ...ofPod(needToReconcilePodReadiness, ({ pod }) => needToReconcilePodReadiness(pod)),
  ...ofPod(generateAllContainersRestartingCondition, ({ pod, status, runtimeStatus }) =>
    generateAllContainersRestartingCondition(pod, status, runtimeStatus.containers as never, 'Running'),
  ),
  ...ofPod(shouldAllContainersRestart, ({ pod, status, exited }) =>
    shouldAllContainersRestart(restartingAll(pod), status, exited.containers as never),
  ),
  ...ofPod(generateAPIPodStatus, (input) => generateAPIPodStatus(input.pod, observed(input) as never)),
  ...ofPod(generateAPIPodStatus, (input) => generateAPIPodStatus(restartingAll(input.pod), observed(input) as never)),
  ...ofPod(createStatusJSONPatch, ({ pod, other }) => createStatusJSONPatch('uid', pod.status, other)),
  ...ofPod(managersOf, ({ pod, other }) => managersOf(pod, other)),
  ...ofPod(mergePodStatus, ({ pod, status, other }) => mergePodStatus(pod, status, other, true, now)),
  ...ofPod(normalizeStatus, ({ pod, status }) => normalizeStatus(pod, status)),
  ...ofPod(getPhase, ({ pod, status }) =>
    getPhase(pod, [...status.initContainerStatuses!, ...status.containerStatuses!], false, true),
  ),
  ...ofPod(statusIPs, ({ pod, status, runtimeStatus }) =>
    statusIPs({ pod, earlier: [status], podIPs: runtimeStatus.ips, hostIPs: runtimeStatus.ips! }),
  ),
  ...ofPod(podStatusResources, ({ pod }) => podStatusResources(pod.spec!)),
  ...ofPod(actualPodResources, ({ pod, status }) => actualPodResources(pod.spec!, { limits: { cpu: '1' } }, status)),
  ...ofPod(podRequests, ({ pod }) => podRequests(pod)),
  ...ofPod(computePodQOS, ({ pod }) => computePodQOS(pod)),
  ...ofPod(isServerNewer, ({ status, twin }) => isServerNewer(status, twin, now)),
  ...ofPod(isServerNewer, ({ status, other }) => isServerNewer(status, other, now)),
  ...ofPod(latestTime, ({ status }) => latestTime(status)),
  ...ofPod(createStatusPatch, ({ status, twin }) => createStatusPatch('uid', status, twin)),
  ...ofPod(createStatusPatch, ({ status, other }) => createStatusPatch('uid', status, other)),
  ...ofPod(diffPodStatus, ({ status, other }) => diffPodStatus(status, other)),
  ...ofPod(applyPodStatusPatch, ({ status, other }) => applyPodStatusPatch(status, diffPodStatus(status, other) ?? {})),
  // Not with one name: a patch is what this library or the user of the API server in memory wrote.
  ...ofPod(applyPodPatch, ({ pod, other }) =>
    applyPodPatch(pod, { metadata: pod.metadata, spec: pod.spec, status: other }),
  ).filter(({ shape }) => shape === 'many entries'),
  ...ofPod(terminatedPodStatus, ({ pod, status, other }) => terminatedPodStatus(pod, status, other, false)),
  ...ofPod(hasPodInitialized, ({ pod, status }) => hasPodInitialized(pod, status)),
  ...ofPod(refreshLastTransitionTimes, ({ status, other }) =>
    refreshLastTransitionTimes(status, other.conditions, now),
  ),
  ...ofPod(checkContainerStateTransition, ({ pod, status, other }) =>
    checkContainerStateTransition(status, other, pod.spec!),
  ),
  ...ofPod(keepTerminatedContainers, ({ pod, status, other }) =>
    keepTerminatedContainers(status, structuredClone(other), pod.spec!),
  ),
  ...ofText(cutTerminationMessage, repeated('x', 'ä', '\ud800'), (text) => cutTerminationMessage(text, 4096)),

  // src/status-manager: sync, cache, explain, journal
  ...ofPod(apiPodOf, ({ pod }) => apiPodOf(pod)),
  ...ofPod(decide, ({ pod, status, other }) =>
    decide(other, { pod, uid: 'uid', status }, facts(pod, other, 'strategic-merge')),
  ),
  ...ofPod(decide, ({ pod, status, other }) =>
    decide(other, { pod, uid: 'uid', status }, facts(pod, other, 'json-patch')),
  ),
  ...ofPod(withoutDroppedFields, ({ status, other }) =>
    withoutDroppedFields(new Set(['observedGeneration']), status, other),
  ),
  ...ofPod(replacesAllConditions, ({ pod, status, other }) =>
    replacesAllConditions({ pod, uid: 'uid', status }, other),
  ),
  ...ofPod(canPodRun, ({ pod, status }) => canPodRun(pod, pod, { version: 1, status } as never)),
  ...ofPod(unreadyCauses, ({ pod, status }) =>
    unreadyCauses(
      { ...status, containerStatuses: status.containerStatuses!.map((each) => ({ ...each, ready: false })) },
      pod,
    ),
  ),
  ...ofText(formatText, repeated('x', '"', '\u0000', '\ud800'), formatText),
  ...ofText(
    decodeJournal,
    {
      ...repeated(journalStart, journalStart.replace('live', 'past'), '"', '\n', 'live ', 'x', `${journalStart}\n`),
      'lines of one pod': (size) => repeat(size / 256 + 1, line).join(''),
      'lines without newlines': (size) =>
        repeat(size / 256 + 1, line)
          .join('')
          .replaceAll('\n', ' '),
      'damaged lines': (size) =>
        repeat(size / 256 + 1, line)
          .join('')
          .replaceAll('sequence', 'Sequence'),
    },
    (text) => decodeJournal(Buffer.from(`${text}\n`)),
  ),
  ...ofPod(encodeLine, ({ status }) => encodeLine({ sequence: 1, entry: { status } as never })),

  // src/kube
  ...ofPod(apiObjectReference, ({ spec }) => apiObjectReference(spec)),
  ...ofPod(podConfigMapNames, ({ spec }) => podConfigMapNames(spec)),
  ...ofPod(podSecretNames, ({ spec }) => podSecretNames(spec)),
  ...ofText(canonicalIP, repeated('1', '1.', ':', '1:', 'f', '%'), canonicalIP),
  ...ofPod(decodeKubeType, ({ pod }) => ignoreErrors(() => decodeKubeType('Pod', pod))),
  ...ofPod(withPodSpecDefaults, ({ spec }) => withPodSpecDefaults(spec)),
  ...ofPod(podSummary, ({ pod }) => podSummary(pod)),
  ...ofText(canonicalQuantity, repeated('1', '0', '.', 'E', ' '), canonicalQuantity),
  ...ofPod(requirePod, ({ pod }) => requirePod(pod)),
  ...ofPods(requirePods, (pods) => requirePods(pods)),
  ...ofPod(toV1Pod, ({ pod }) => toV1Pod(pod)),
  ...ofPod(validateContainers, ({ spec }) => validateContainers(spec)),
  ...ofPod(validateMetadata, ({ pod }) => validateMetadata(pod.metadata)),
  ...ofPod(validatePodSpec, ({ spec }) => validatePodSpec(spec)),
  ...ofPod(validatePodCreate, ({ spec }) => validatePodCreate(spec)),
  ...ofPod(validateVolumes, ({ spec }) => validateVolumes(spec)),
  ...[
    { field: 'spec.containers[0].image', message: 'invalid', reason: 'x' },
    { field: secret, message: secret },
    { message: '\0' },
  ].map((cause, i): Row => ({
    subject: describeAPIError,
    shape: `causes of kind ${i}`,
    make: (size) => statusError(size, () => cause) as never,
    read: (error) => describeAPIError(error, 0, { secrets: [secret] }),
  })),
  ...ofText(describeAPIError, repeated('x', '\\', 'eyJ-', 'bearer ', '{'), (text) =>
    describeAPIError({ statusCode: 500, body: text }, 0, { secrets: [secret] }),
  ),
  ...ofText(isNestedTooDeeply, jsonTexts, isNestedTooDeeply),
  ...ofText(parseJSONBody, jsonTexts, (text) => ignoreErrors(() => parseJSONBody(text, 200))),
  ...ofText(
    redact,
    repeated('x', '\\', '\\u005c', 'e0e1', secret.slice(0, 20), secret.slice(9, 40), '%65', 'ZTBl'),
    (text) => redact(text, [secret]),
  ),
  ...ofText(
    redactLikelySecrets,
    repeated('eyJ-', 'eyJ.', 'N-', ' ', 'bearer ', 'token=', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', '"', 'a.'),
    (text) => redactLikelySecrets(text),
  ),
  ...ofText(redactEach, repeated('x', 'e0e1e2', secret.slice(0, 30)), (text) =>
    redactEach(text.match(/.{1,14}/g)!, [secret]),
  ),
  ...ofText(
    readLines,
    { ...repeated('x', '\n', 'x\n'), 'a line in small chunks': (size) => 'x'.repeat(size) },
    (text) => readAll(readLines(chunks(text, 16), 2 ** 30)),
  ),
  ...ofText(
    readWatchEvents,
    {
      ...repeated('\n', '{}\n', '{"type":"ERROR"}\n'),
      'one event': (size) => `{"type":"ADDED","object":"${'x'.repeat(size)}"}\n`,
    },
    async (text) => readAll(readWatchEvents(chunks(text, 1024))).catch(() => {}),
  ),

  // src/agent
  ...ofPod(computePodActions, ({ pod, runtimeStatus }) =>
    computePodActions(pod, runtimeStatus, noProbeResults, false, {
      ofContainer: () => undefined,
      ofPod: undefined,
    } as never),
  ),
  ...ofPod(computePodActions, ({ pod, exited }) => computePodActions(pod, exited, noProbeResults)),
  ...ofPod(computePodActions, ({ pod, exited }) => computePodActions(restartingAll(pod), exited, noProbeResults, true)),
  ...ofPod(hasAnyActiveRegularContainerStarted, ({ pod, runtimeStatus }) =>
    hasAnyActiveRegularContainerStarted(
      pod,
      runtimeStatus.containers.filter(({ name }) => name.startsWith('i')),
    ),
  ),
  ...ofPod(hasAnyRegularContainerCreated, ({ pod, runtimeStatus }) =>
    hasAnyRegularContainerCreated(pod, {
      ...runtimeStatus,
      containers: runtimeStatus.containers.filter(({ name }) => name.startsWith('i')),
    }),
  ),
  ...ofPod(computeInitContainerActions, ({ pod, exited }) => computeInitContainerActions(pod, exited, noProbeResults)),
  ...ofPod(lostRuns, ({ pod, status }) => lostRuns(pod, { sandboxes: [], containers: [] }, status)),
  ...ofPod(lostRuns, ({ pod, exited, status }) => lostRuns(pod, exited, status)),
  ...ofPod(startsResized, ({ pod }) =>
    startsResized(pod, pod.spec!.containers!, { ofContainer: () => undefined, ofPod: undefined } as never),
  ),
  ...ofNode(insufficientResources, ({ pod, node }) => insufficientResources(pod, [pod], node as never)),
  ...ofPods(insufficientResources, (pods) => insufficientResources(pods[0]!, pods, node(8, different) as never)),
  ...ofPod(withoutMissingExtendedResources, ({ pod }) => withoutMissingExtendedResources(pod, new Set())),
  ...ofNode(generalPredicates, ({ pod, node }) =>
    generalPredicates(pod, [pod], { nodeName: 'node', node: node as never }),
  ),
  ...ofNode(matchesNodeAffinity, ({ pod, node }) =>
    matchesNodeAffinity(pod, { ...node, metadata: { ...node.metadata, labels: {} } } as never),
  ),
  ...ofNode(unsupportedFeature, ({ pod, node }) => unsupportedFeature(pod, node as never)),
  // The kubelet's algorithm is quadratic, too, in the number of pods on the node.
  ...ofPods(podsToPreempt, (pods) =>
    ignoreErrors(() =>
      podsToPreempt({ ...pods[0]!, spec: { priority: 2_000_000_000 } }, pods, [
        { resource: 'cpu', amount: 1000 * pods.length },
      ]),
    ),
  ).map((row) => ({ ...row, largest: 512 })),
  ...ofPod(allocatedFromStatus, ({ pod, status }) => allocatedFromStatus(pod, status)),
  ...ofPod(resizeMessage, ({ pod }) => resizeMessage('x', pod, 1)),
  ...ofPod(doActualRequestsShrink, ({ pod, podTwin }) => doActualRequestsShrink(pod, podTwin)),
  ...ofPod(wantsOtherResources, ({ pod, podTwin }) => wantsOtherResources(pod, podTwin)),
  ...ofPods(sortPendingResizes, (pods) =>
    sortPendingResizes(pods.map((pod, i) => ({ pod, allocatedPod: pod, pendingSince: `${(i * 7919) % pods.length}` }))),
  ),
  ...ofPod(updatedFromAllocation, ({ pod }) => updatedFromAllocation(pod, allocated as never)),
  ...ofPod(isAllocated, ({ pod }) => isAllocated(pod, allocated as never)),
  ...ofPod(checkAndUpdatePod, ({ pod, podTwin }) => checkAndUpdatePod(pod, podTwin)),
  ...ofPod(withAnnotations, ({ pod }) => withAnnotations(pod, { a: 'b' })),
  ...ofPod(decodeSinglePod, ({ pod }) =>
    ignoreErrors(() => decodeSinglePod('', () => pod, { source: 'file', isFile: true, nodeName: 'node' })),
  ),
  ...ofPods(decodePods, (items) =>
    ignoreErrors(() =>
      decodePods('', () => ({ kind: 'PodList', items }), { source: 'file', isFile: true, nodeName: 'node' }),
    ),
  ),
  ...ofPod(containersToDeleteInPod, ({ exited }) => containersToDeleteInPod(exited, undefined, 1)),
  ...ofText(lookupCredentials, repeated('*', '*.', 'a*', '/'), (text) => {
    const registry = { host: text, path: '' };
    return lookupCredentials([{ registry, credentials: {} }], { host: text.replaceAll('*', 'b'), path: '' });
  }),
  ...ofText(
    parseEnvFile,
    {
      ...repeated('A=b\n', '\n', '=', '\\\n', "A='\n", '#'),
      'other keys': (size) => repeat(size / 8, (i) => `K${i}='v'\n`).join(''),
    },
    (text) => ignoreErrors(() => parseEnvFile(text, 'B')),
  ),
  ...ofPod(makeEnvironmentVariables, ({ pod }) =>
    makeEnvironmentVariables(pod, pod.spec!.containers![0]!, {
      objects: nothing,
      services: undefined,
      allocatable: {},
      volume: () => undefined,
      podIPs: [],
      hostIPs: [],
    }).catch(() => {}),
  ),
  ...ofPod(expandContainerCommandAndArgs, ({ pod }) =>
    expandContainerCommandAndArgs(
      pod.spec!.containers![0]!,
      repeat(1000, (i) => ({ name: different(i), value: 'x' })),
    ),
  ),
  ...ofPod(fieldPathAsString, ({ pod }) =>
    ['metadata.labels', 'metadata.annotations', `metadata.labels['x']`].map((path) => fieldPathAsString(pod, path)),
  ),
  ...ofPod(managedHostsFileContent, ({ pod, runtimeStatus }) =>
    managedHostsFileContent(
      runtimeStatus.ips!,
      { hostname: 'h', domain: 'd' },
      (pod.spec as { hostAliases?: never }).hostAliases,
    ),
  ),
  ...ofText(nodeHostsFileContent, repeated('\n', '10.0.0.1 a\n'), (text) => nodeHostsFileContent(text, [])),
  ...ofPod(getPodDNS, ({ pod, runtimeStatus }) =>
    getPodDNS(pod, { clusterDNS: runtimeStatus.ips!, clusterDomain: 'x', nodeDNS: undefined, nodeIPs: [] }),
  ),
  ...ofPod(pullCredentials, ({ pod }) => pullCredentials(pod, 'registry.example/a', nothing).catch(() => {})),
  ...ofText(
    parseResolvConf,
    repeated('nameserver 1\n', 'search a\n', 'options a:1 b\n', 'search a ', ' ', '#'),
    parseResolvConf,
  ),
  ...ofPod(serviceEnvironment, (_, size) => serviceEnvironment(servicesOf(size))),
  ...ofPod(servicesForPod, (_, size) => servicesForPod(servicesOf(size), 'default', true)),
  ...ofPods(rankPods, (pods) =>
    rankPods(pods, () => ({ stats: undefined, volumeStats: undefined }), { resource: 'memory', parts: [] }),
  ),
  ...ofPod(localStorageExcess, ({ pod }, size) => localStorageExcess(pod, usageOf(size) as never, true)),
  ...ofNames((size, names) => credentialsOf(size, names))(mergeImagePullCredentials, (known) =>
    mergeImagePullCredentials(known, known),
  ),
  ...ofNames((size, names) => recordOf(size, names))(encodeImagePulledRecord, (known) =>
    encodeImagePulledRecord(known as never),
  ),
  ...ofNames((size, names) => encodeImagePulledRecord(recordOf(size, names) as never))(
    decodeImagePulledRecord,
    (text) => decodeImagePulledRecord(text),
  ),
  ...ofNode(mergeNodeConditions, ({ node, before }) =>
    mergeNodeConditions(before.status.conditions as never, node.status.conditions as never, now),
  ),
  ...ofNode(nodeStatusHasChanged, ({ node, before }) =>
    nodeStatusHasChanged(before.status as never, node.status as never),
  ),
  ...ofNode(nodeStatusPatch, ({ node, before }) =>
    nodeStatusPatch(
      before.status as never,
      updatedNodeStatus(before.status as never, { status: node.status as never, readyErrors: [] }, now),
    ),
  ),
  ...ofNode(updatedNodeStatus, ({ node, before }) =>
    updatedNodeStatus(before.status as never, { status: node.status as never, readyErrors: [] }, now),
  ),
  ...ofNode(toleratesTaints, ({ pod, node }) => toleratesTaints(pod, node.spec.taints)),
  ...ofPod(computeEvents, ({ runtimeStatus, exited }) =>
    computeEvents('u', plegContainerStates({ ...runtimeStatus } as never), plegContainerStates(exited as never)),
  ),
  ...ofPod(plegContainerStates, ({ runtimeStatus }) => plegContainerStates(runtimeStatus as never)),
  ...ofPod(refusedFields, ({ pod }) => refusedFields('PodSpec', pod.spec, 'spec')),
  ...ofPod(resolveContainerPort, ({ pod }) =>
    ignoreErrors(() => resolveContainerPort('none', pod.spec!.containers![0]!)),
  ),
  ...ofPod(expandCommand, ({ pod }) =>
    expandCommand(pod.spec!.containers![0]!.command!, pod.spec!.containers![0]!.env),
  ),
  ...ofPod(httpProbeRequest, ({ pod }) =>
    ignoreErrors(() =>
      httpProbeRequest(
        { ...pod.spec!.containers![0]!.readinessProbe!.httpGet!, port: 1 },
        pod.spec!.containers![0]!,
        '10.0.0.1',
      ),
    ),
  ),
  ...ofText(malformedResponseMessage, repeated('x', '\r\n', 'HTTP/1.1 ', '\0'), (text) =>
    malformedResponseMessage(Buffer.from(text)),
  ),
  ...ofText(parseImageName, repeated('a', 'a/', ':', '@', 'a-', '__', '.'), (text) =>
    ignoreErrors(() => parseImageName(text)),
  ),
  ...ofPod(newestFirst, ({ runtimeStatus }) => newestFirst(runtimeStatus.containers)),
  ...ofPod(newestSandboxesFirst, ({ runtimeStatus }) => newestSandboxesFirst(runtimeStatus.sandboxes)),
  ...ofPod(podStatusFromRuntime, ({ pod, runtimeStatus }) =>
    podStatusFromRuntime(
      pod,
      { uid: 'uid', name: 'pod', namespace: 'default', ...runtimeStatus },
      { runPodSandbox: true },
    ),
  ),
  ...ofNames((size, names) =>
    repeat(size, (i) => ({
      uid: `u${i}`,
      name: names(i),
      namespace: 'default',
      ...(i === 0 ? hostileRuntimeStatus(size, names) : { containers: [], sandboxes: [] }),
    })),
  )(requireRuntimePods, (pods) => requireRuntimePods(pods)),
  ...ofNames((size, names) =>
    repeat(size, (i) => ({ id: names(i), repoTags: repeat(i === 0 ? size : 1, names), repoDigests: [], sizeBytes: 1 })),
  )(requireImages, (images) => ignoreErrors(() => requireImages(images))),
  ...ofNames(stats)(requirePodStats, (list) => ignoreErrors(() => requirePodStats(list))),
  ...ofPod(requireRuntimeStatus, ({ pod, runtimeStatus }) => requireRuntimeStatus(pod, runtimeStatus)),
  ...ofPod(activeContainerStatuses, ({ runtimeStatus }) => activeContainerStatuses(runtimeStatus)),
  ...ofPod(convertToAPIContainerStatuses, ({ pod, status, exited }) =>
    convertToAPIContainerStatuses(
      {
        pod,
        runtimeStatus: exited,
        previous: status.containerStatuses,
        startFailures: new Map(),
        isRestartingAllContainers: false,
      },
      pod.spec!.containers!,
    ),
  ),
  ...ofPod(convertToAPIInitContainerStatuses, ({ pod, status, exited }) =>
    convertToAPIInitContainerStatuses({
      pod,
      runtimeStatus: exited,
      previous: status.initContainerStatuses,
      startFailures: new Map(),
      isRestartingAllContainers: true,
    }),
  ),
  ...ofPod(generatePodStatus, ({ pod, status, runtimeStatus }) =>
    generatePodStatus(pod, { runtimeStatus, previous: status }),
  ),
  ...ofPod(generatePodStatus, ({ pod, status, exited }) =>
    generatePodStatus(restartingAll(pod), { runtimeStatus: exited, previous: status, podIsTerminal: true }),
  ),
  ...ofPod(generatePodStatus, ({ pod, status }) =>
    generatePodStatus(pod, { runtimeStatus: { sandboxes: [], containers: [] }, previous: status }),
  ),
  ...ofPod(updatePodStatus, ({ pod, status }) =>
    updatePodStatus(
      pod,
      {
        containerStatuses: status.containerStatuses!,
        initContainerStatuses: status.initContainerStatuses!,
        ephemeralContainerStatuses: status.ephemeralContainerStatuses!,
      } as never,
      { results: noProbeResults, agentStartedAtMs: Date.parse(now) },
    ),
  ),
  ...ofPod(keepReportedEnds, ({ exited, status }) => keepReportedEnds(exited, status)),
  ...ofPod(makeMounts, ({ pod }, size) =>
    makeMounts(
      pod,
      {
        ...pod.spec!.containers![0]!,
        volumeMounts: repeat(size, (i) => ({ name: different(i - (i % 2)), mountPath: `/${i}` })),
      },
      {
        ...{
          files: systemFiles,
          rootDirectory: '/nowhere',
          mounts: false,
          podIPs: [],
          hostName: { hostname: 'h', domain: '' },
          supportsRecursiveReadOnly: true,
          envs: [],
          signal,
        },
      },
    ).catch(() => {}),
  ),
  ...ofNames((size, names) => {
    const volumeMounts = repeat(2 * size, (i) => ({ name: names(i % size), mountPath: `/${'a/'.repeat(475)}${i}` }));
    return { volumes: repeat(size, names), spec: { containers: [{ name: 'c', volumeMounts }] } };
  })(nestedMountPoints, ({ volumes, spec }) => {
    const nested = nestedMountPoints({ spec });
    return volumes.map((name) => nested(name));
  }),

  // src/cri
  ...ofNames((size, names) => ({
    ...{ id: 'c', state: 'CONTAINER_EXITED', labels: record(size, names, 'x'), annotations: record(size, names, '1') },
    ...{
      created_at: 0,
      started_at: 0,
      finished_at: 0,
      exit_code: 0,
      reason: '',
      message: '',
      stop_signal: 'SIGNAL_TERM',
    },
    mounts: repeat(size, (i) => ({ container_path: names(i), recursive_read_only: true, image: { image: names(i) } })),
  }))(toRuntimeContainerStatus, (status) =>
    toRuntimeContainerStatus(status as never, { runtimeName: 'r', sandboxID: 's', terminationMessage: 'x' }),
  ),

  // src/virtual-nodes, src/observe, src/kubelet-api, src/shared
  ...ofPods(assignNodes, (pods) =>
    assignNodes(
      pods.map(({ metadata: { uid } }) => uid),
      ['a', 'b', 'c'],
    ),
  ),
  ...ofPods(planOwnership, (pods) => planOwnership(ownershipOf(pods.map(({ metadata: { uid } }) => uid)))),
  ...ofPod(podHash, ({ pod }) => podHash(pod)),
  ...ofProvider(runtimePodStatus, ({ pod, reported, status }) =>
    runtimePodStatus(pod, reported, { previous: status, nowMs: 1 }),
  ),
  ...ofProvider(generateProviderPodStatus, ({ pod, reported, status: previous }) =>
    generateProviderPodStatus(
      providerPodStatusInputs(pod, { ...unknownProviderPod, restartCount: 1, stopped: reported }, startsAgain),
      { previous, nowMs: 1, failure: undefined, deadlineExceeded: undefined, ownProbeResults: undefined },
    ),
  ),
  ...ofProvider(withoutWaitingRuns, ({ pod, reported, status }) => withoutWaitingRuns(pod, reported, status)),
  ...ofText(shortText, repeated('x', 'ä', '\ud800'), shortText),
  ...ofPods(podStatsOf, (pods) => podStatsOf(pods, stats(pods.length, different) as never)),
  ...ofNames((size, names) => providerPod(size, names, 0))(readProviderPod, (pod) =>
    ignoreErrors(() => readProviderPod(pod)),
  ),
  ...ofNames((size, names) => repeat(size, (i) => providerPod(1, names, i)))(readProviderPods, (list) =>
    ignoreErrors(() => readProviderPods(list)),
  ),
  ...ofPods(podSummaries, (pods) =>
    podSummaries({ inspection: inspection(pods) as never, getPod: () => pods[0], getPodStatus: () => undefined }),
  ),
  ...ofPods(statusDocument, (pods) =>
    statusDocument({
      inspection: inspection(pods),
      problems: [],
      getPod: () => pods[0],
      getPodStatus: () => undefined,
    } as never),
  ),
  ...ofText(parseLogLine, repeated('x', ' ', '2016-10-06T00:17:09Z stdout P ', '9'), (text) =>
    parseLogLine(Buffer.from(text)),
  ),
  ...ofText(fixedWidthTime, repeated('9', '2016-10-06T00:17:09.'), fixedWidthTime),
  {
    subject: KnownPods.prototype.hasAPIPod,
    shape: 'many pods',
    make: (size) => knownPodsOf(size) as never,
    read: ({ known, uids }: ReturnType<typeof knownPodsOf>) => uids.every((uid) => known.hasAPIPod(uid)),
  },
  ...ofPod(deepFreeze, ({ pod }) => deepFreeze(structuredClone(pod))),
  ...ofText(parseJSON, jsonTexts, (text) => ignoreErrors(() => parseJSON(text))),
  ...ofPod(plainCopy, ({ pod }) => ignoreErrors(() => plainCopy(pod, 'pod'))),
];

/** Each node, which somebody else has held, is free; as many processes have come and gone. */
function ownershipOf(nodes: readonly string[]): Parameters<typeof planOwnership>[0] {
  const timing = leaseTiming(15);
  const subjectOf = ({ metadata: { name } }: { metadata: { name: string } }) => {
    const [kind, of = ''] = name.split('.');
    return { kind: kind as 'member' | 'node', of };
  };
  const observed = new ObservedLeases({ subjectOf: subjectOf }, timing);
  const lease = (kind: string, of: string) => ({
    metadata: { name: `${kind}.${of}`, namespace: 'kube-system', resourceVersion: '1', annotations: {} },
    spec: { holderIdentity: of, leaseDurationSeconds: 15 },
  });
  observed.replace(nodes.flatMap((node) => [lease('member', node), lease('node', node)]) as never, 0);
  return {
    ...{
      identity: 'me',
      isLeaving: false,
      memberSinceMs: 0,
      nodeNames: new Set(nodes),
      owned: new Map(),
      observed,
      timing,
    },
    ...{ assign: (members) => assignNodes(nodes, members.slice(0, 3)), nowMs: 1e9 },
  };
}

function restartingAll(pod: ValidPod): ValidPod {
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [99] } }];
  const containers = pod.spec!.containers!.map((container) => ({ ...container, restartPolicyRules }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** With the UIDs of the pods, the last first. */
function knownPodsOf(size: number) {
  const known = new KnownPods(silentLogger);
  const uids = repeat(size, (i) => `u${size - i}`);
  known.replaceAPIPods(uids.toReversed().map((uid) => ({ metadata: { name: uid, namespace: 'default', uid } })));
  return { known, uids };
}

function servicesOf(size: number): never {
  return repeat(size, (i) => ({
    metadata: { name: `s${i}`, namespace: 'default' },
    spec: { clusterIP: '10.0.0.1', ports: repeat(i === 0 ? size : 1, (port) => ({ name: `p${port}`, port })) },
  })) as never;
}

function usageOf(size: number): object {
  const volume = repeat(size, (i) => ({ name: different(size - 1 - i), usedBytes: 1 }));
  return {
    stats: { containers: repeat(size, (i) => ({ name: `c${different(size - 1 - i)}` })) },
    volumeStats: { volumes: volume, stats: volume },
  };
}

function credentialsOf(size: number, names: Names): object {
  const of = (i: number) => ({ uid: `u${i}`, namespace: 'd', name: names(i), credentialHash: names(i) });
  return { kubernetesSecrets: repeat(size, of), kubernetesServiceAccounts: repeat(size, of) };
}

function recordOf(size: number, names: Names): object {
  const credentialMapping = new Map(repeat(size, (i) => [names(i), credentialsOf(i === 0 ? size : 1, names)]));
  return { lastUpdatedMs: 1, imageRef: 'x', credentialMapping };
}

const allocated = {
  getContainerResourceAllocation: () => ({ requests: { cpu: '2' } }),
  getPodLevelResourceAllocation: () => undefined,
};
