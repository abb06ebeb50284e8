import { isIP } from 'node:net';
import { firstBy } from '../../shared/by-field.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { isPodPhaseTerminal } from '../../status-manager/status/phase.ts';
import {
  type ContainerStatusesField,
  containerStatusesFields,
  containerStatusesOf,
} from '../../status-manager/status/container-statuses.ts';
import type {
  Container,
  ContainerStatusInput,
  EphemeralContainer,
  PodStatusInput,
  ValidPod,
} from '../../kube/objects/types.ts';
import { allContainersOf } from '../../kube/pods/pod-containers.ts';
import { epochMsOf, timeFromEpochMs } from '../../shared/time.ts';
import {
  probeOf,
  type ProbeResult,
  type ProbeResults,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type StartFailure,
} from '../../node/index.ts';
import type { ProviderContainer, ProviderContainerExit, ProviderPod } from '../pod-provider.ts';

/** What is known of a pod in addition to the provider's report. */
export interface KnownStatus {
  /** The last status of the pod, which has the times that the provider does not report. */
  readonly previous: PodStatusInput | null | undefined;
  /** The pod that the provider has accepted, whose resources the running containers have. Default: those of `previous`. */
  readonly accepted?: ValidPod | undefined;
  /** The pod has stopped, and is started again: as in the kubelet, it keeps its sandbox. Default: false. */
  readonly isBetweenRuns?: boolean | undefined;
  readonly nowMs: number;
}

type AnyContainer = Container | EphemeralContainer;

/** Source: kubelet `MaxContainerTerminationMessageLength`. */
const maxTextLength = 4096;
/** The maximum length of a provider's text in a message. */
const maxShownLength = 64;
/** The exit code of a container that was killed by SIGKILL. */
const killedExitCode = 137;
/** The reason of a container that the provider has not reported, or whose end it has not reported. */
const notReported = 'NotReportedByProvider';
const unreportedContainer: StartFailure = {
  reason: notReported,
  message: 'The provider reports the pod without this container',
  isUnknown: true,
};
const unreportedExit = { reason: notReported, message: 'The provider has not reported how the container has ended' };

/**
 * The reported pod as a container runtime would show it, so that phase, conditions and container statuses are generated as for
 * an agent. A pod that the provider does not have has neither sandboxes nor containers.
 */
export function runtimePodStatus(
  pod: ValidPod,
  reported: ProviderPod | undefined,
  known: KnownStatus,
): RuntimePodStatus {
  const reportedIPs = (known.previous?.podIPs ?? []).flatMap(({ ip }) => ip || []);
  if (reported === undefined) return { sandboxes: [], containers: [], ips: reportedIPs };
  const { uid, state } = reported;
  // The API server refuses a status with anything else.
  const ips = (reported.ips ?? reportedIPs).filter((ip) => isIP(ip) !== 0);
  const ownByName = firstBy(reported.containers, 'name');
  const previousByID = firstBy(containerStatusesOf(known.previous), 'containerID');
  const acceptedByName = firstBy(known.accepted && allContainersOf<AnyContainer>(known.accepted.spec), 'name');
  const kinds = kindsOf(pod);
  const containers = allContainersOf<AnyContainer>(pod.spec).flatMap((container) => {
    const own = ownByName.get(container.name);
    const state = stateOf(kinds.get(container), reported, own);
    if (state === 'waiting') return [];
    const id = containerID(uid, container.name, attemptOf(reported, own));
    const previous = previousByID.get(id)?.state;
    const accepted = acceptedByName.get(container.name);
    return [runOf(reported, container, own, { id, state, previous, accepted, nowMs: known.nowMs })];
  });
  // A pod that is being created has a sandbox once it has addresses, because its network is then set up.
  const hasSandbox = state !== 'creating' || ips.length > 0;
  const sandbox = {
    id: uid,
    ready: state !== 'stopped' || known.isBetweenRuns === true,
    hostNetwork: pod.spec?.hostNetwork ?? false,
  };
  return { sandboxes: hasSandbox ? [sandbox] : [], containers, activeSandboxID: uid, ips };
}

/**
 * The previous status without running containers that the cloud now reports as waiting.
 *
 * Divergence: when a container that ran is gone, the kubelet invents its end. Here, the cloud knows the container, and may or may
 * not say how it has ended.
 */
export function withoutWaitingRuns(
  pod: ValidPod,
  reported: ProviderPod | undefined,
  previous: PodStatusInput | null | undefined,
): PodStatusInput {
  if (reported === undefined) return previous ?? {};
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const specs = {
    initContainerStatuses: initContainers,
    containerStatuses: containers,
    ephemeralContainerStatuses: ephemeralContainers,
  };
  const ownByName = firstBy(reported.containers, 'name');
  const kinds = kindsOf(pod);
  const statusesIn = (field: ContainerStatusesField): ContainerStatusInput[] => {
    const statusByName = firstBy(previous?.[field], 'name');
    return specs[field].flatMap((container: AnyContainer) => {
      const before = statusByName.get(container.name);
      const own = ownByName.get(container.name);
      if (stateOf(kinds.get(container), reported, own) !== 'waiting') return before ?? [];
      const restartCount = Math.max(before?.restartCount ?? 0, own?.restartCount ?? 0);
      const state = before?.state?.running == null ? before?.state : { waiting: {} };
      return [{ ...before, name: container.name, restartCount, state }];
    });
  };
  return { ...previous, ...Object.fromEntries(containerStatusesFields.map((field) => [field, statusesIn(field)])) };
}

/**
 * Reported values that cannot belong to the pods of a node, each with its field. Pods may share an address of the node
 * (`hostIPs`).
 */
export function mistakesOf(
  pods: readonly { readonly pod: ValidPod; readonly reported: ProviderPod }[],
  hostIPs: readonly string[] = [],
): string[] {
  const podByIP = new Map<string, ValidPod>();
  const mistakes: string[] = [];
  for (const { pod, reported } of pods) {
    const { containers = [], ips = [], state } = reported;
    const names = new Set(allContainersOf<AnyContainer>(pod.spec).map((container) => container.name));
    containers.forEach(({ name }, i) => {
      if (names.has(name)) return;
      mistakes.push(`containers[${i}].name of ${shownPod(pod)} is not a container of the pod: ${shown(name)}`);
    });
    ips.forEach((ip, i) => {
      if (isIP(ip) === 0) mistakes.push(`ips[${i}] of ${shownPod(pod)} is no IP address: ${shown(ip)}`);
      else if (state !== 'stopped' && pod.spec?.hostNetwork !== true && !hostIPs.includes(ip)) {
        const other = podByIP.get(ip) ?? pod;
        if (other !== pod)
          mistakes.push(`ips[${i}] of ${shownPod(pod)} is also an address of ${shownPod(other)}: ${ip}`);
        podByIP.set(ip, other);
      }
    });
  }
  return mistakes;
}

/** As messages name a pod. */
export function shownPod({ metadata: { namespace, name, uid } }: ValidPod): string {
  return `pod ${namespace}/${name} (${uid})`;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, maxShownLength));
}

/**
 * Readiness and start of the containers as results of probes. They are reported by the cloud, except for probes that the
 * virtual node runs: without a result, what `previous` shows counts for the same run only.
 *
 * Divergence: in the kubelet of v1.37, a run that started while no kubelet was running inherits both (#141473).
 */
export function reportedProbeResults(
  pod: ValidPod,
  status: RuntimePodStatus,
  reported: ProviderPod | undefined,
  own?: ProbeResults,
  previous?: PodStatusInput | null,
): ProbeResults {
  const reportedByName = firstBy(reported?.containers, 'name');
  const specByName: ReadonlyMap<unknown, Container> = firstBy(allContainersOf<AnyContainer>(pod.spec), 'name');
  const shownByID = firstBy(own && containerStatusesOf(previous), 'containerID');
  const byID = (probeType: 'readiness' | 'startup', field: 'ready' | 'started'): Map<string, ProbeResult> =>
    new Map(
      status.containers.flatMap(({ id, name }) => {
        const isOwn = own !== undefined && probeOf(specByName.get(name)!, probeType) !== undefined;
        const isReported = reportedByName.get(name)?.[field] ?? true;
        const before = shownByID.get(id)?.[field] === true ? undefined : 'unknown';
        const result = isOwn ? (own[probeType].get(id) ?? before) : isReported ? 'success' : 'failure';
        return result === undefined ? [] : [[id, result]];
      }),
    );
  const [readiness, startup] = [byID('readiness', 'ready'), byID('startup', 'started')];
  return { readiness, startup, liveness: new Map(), areReported: true };
}

/** Why a container waits; undefined if no reason is known, for example while its pod is being created. */
export function waitingReason(reported: ProviderPod | undefined, containerName: string): StartFailure | undefined {
  const own = reported?.containers?.find(({ name }) => name === containerName);
  if (own?.waiting !== undefined)
    return { reason: shortText(own.waiting.reason), message: shortText(own.waiting.message ?? '') };
  return own === undefined && reported?.state === 'running' ? unreportedContainer : undefined;
}

/** Why the containers of a pod that was accepted but is not listed wait; see `unlistedSinceMs` of its record. */
export function unlistedReason(sinceMs: number | undefined): StartFailure | undefined {
  return sinceMs === undefined
    ? undefined
    : {
        reason: notReported,
        message: `The provider accepted the pod at ${timeFromEpochMs(sinceMs)} and has not listed it`,
      };
}

/** A text of the cloud, cut to the length of a termination message: the API server refuses a status that is too long. */
export function shortText(text: string): string {
  return text.slice(0, maxTextLength);
}

type Kind = 'plain-init' | 'ephemeral';

/** The ephemeral containers, and the init containers that are not sidecars. */
function kindsOf({ spec }: ValidPod): ReadonlyMap<AnyContainer, Kind> {
  const plain = (spec?.initContainers ?? []).filter((container) => !isRestartableInitContainer(container));
  return new Map<AnyContainer, Kind>([
    ...plain.map((container) => [container, 'plain-init'] as const),
    ...(spec?.ephemeralContainers ?? []).map((container) => [container, 'ephemeral'] as const),
  ]);
}

function stateOf(
  kind: Kind | undefined,
  { state, containers }: ProviderPod,
  own: ProviderContainer | undefined,
): 'waiting' | 'running' | 'exited' {
  if (own?.exit !== undefined) return 'exited';
  if (own === undefined && kind === 'ephemeral') return 'waiting';
  if (state === 'stopped') return 'exited';
  if (own?.waiting !== undefined) return 'waiting';
  if (state === 'creating') return own?.startedAt === undefined ? 'waiting' : 'running';
  const isKnown = own !== undefined || (containers === undefined && kind !== 'plain-init');
  return isKnown ? 'running' : 'waiting';
}

function attemptOf({ restartCount = 0 }: ProviderPod, own: ProviderContainer | undefined): number {
  return own?.restartCount ?? restartCount;
}

/** The ID of a run of a container of the provider; `containerOfID` reads it. */
function containerID(podUID: string, name: string, attempt: number): string {
  return `provider://${podUID}/${name}/${attempt}`;
}

/** The container of an ID in the status of a pod, and how often it was started again before this run. */
export function containerOfID(id: string): {
  readonly podUID: string;
  readonly name: string;
  readonly attempt: number;
} {
  const [, , podUID = '', name = '', attempt = ''] = id.split('/');
  return { podUID, name, attempt: /^\d{1,9}$/.test(attempt) ? Number(attempt) : 0 };
}

/**
 * The `restartCount` of the last run of the pod that its status has shown. That of a container may be higher, because it
 * also counts lost runs.
 */
export function shownRun(status: PodStatusInput | null | undefined): number {
  const ids = containerStatusesOf(status).flatMap(({ containerID, lastState }) => [
    containerID,
    lastState?.terminated?.containerID,
  ]);
  return Math.max(0, ...ids.map((id) => containerOfID(id ?? '').attempt));
}

/**
 * True if a container of the stopped pod is to be started again. If the cloud reports a reason, it has stopped the pod for
 * good.
 */
export function mustRestart(pod: ValidPod, stopped: ProviderPod, previous: PodStatusInput | null | undefined): boolean {
  if (stopped.reason || pod.metadata.deletionTimestamp != null || isPodPhaseTerminal(previous?.phase)) return false;
  const { spec = {} } = pod;
  const ownByName = firstBy(stopped.containers, 'name');
  const failedInit = failedInitContainer(pod, stopped);
  if (failedInit !== undefined)
    return containerShouldRestart(failedInit, spec ?? {}, ownByName.get(failedInit.name)!.exit!.exitCode | 0);
  const hasEnded = endedContainers(pod, previous, undefined);
  return (spec?.containers ?? []).some((container) => {
    const own = ownByName.get(container.name);
    const { exitCode } = own?.exit ?? unknownExit(stopped, own);
    return !hasEnded.has(container.name) && containerShouldRestart(container, spec ?? {}, exitCode | 0);
  });
}

/** The init container, not a sidecar, that has failed in the reported run. No container after it has started. */
export function failedInitContainer({ spec }: ValidPod, reported: ProviderPod | undefined): Container | undefined {
  const { initContainers = [] } = spec ?? {};
  if (initContainers.length === 0) return undefined;
  const ownByName = firstBy(reported?.containers, 'name');
  return initContainers.find(
    (container) => !isRestartableInitContainer(container) && (ownByName.get(container.name)?.exit?.exitCode ?? 0) !== 0,
  );
}

/** The containers of a stopped pod that have not started, because an init container has failed. */
export function unstartedContainers({ spec }: ValidPod, { containers }: ProviderPod): string[] {
  const ended = new Set(containers?.filter(({ exit }) => exit !== undefined).map(({ name }) => name));
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
    .map(({ name }) => name)
    .filter((name) => !ended.has(name));
}

/**
 * The containers that have ended for good, although the pod may be started again for others: by their restart policy, or as
 * init containers, which the kubelet does not run again in the same sandbox.
 * @param failedInit has failed in the reported run, so it runs again
 */
export function endedContainers(
  { spec }: ValidPod,
  previous: PodStatusInput | null | undefined,
  failedInit: Container | undefined,
): ReadonlySet<string> {
  const previousByName = firstBy(containerStatusesOf(previous), 'name');
  const hasEnded = (container: Container, mayRestart: (exitCode: number) => boolean): boolean => {
    const exitCode = previousByName.get(container.name)?.state?.terminated?.exitCode;
    return exitCode != null && !mayRestart(exitCode);
  };
  const regular = (spec?.containers ?? []).filter((container) =>
    hasEnded(container, (exitCode) => containerShouldRestart(container, spec ?? {}, exitCode)),
  );
  const init = (spec?.initContainers ?? []).filter(
    (container) =>
      !isRestartableInitContainer(container) &&
      container !== failedInit &&
      hasEnded(container, (exitCode) => exitCode !== 0),
  );
  return new Set([...init, ...regular].map(({ name }) => name));
}

function runOf(
  reported: ProviderPod,
  container: AnyContainer,
  own: ProviderContainer | undefined,
  {
    id,
    state,
    previous: known,
    accepted,
    nowMs,
  }: {
    readonly id: string;
    readonly state: 'running' | 'exited';
    /** Of this run. */
    readonly previous: ContainerStatusInput['state'];
    readonly accepted: AnyContainer | undefined;
    readonly nowMs: number;
  },
): RuntimeContainerStatus {
  const { name, image } = container;
  const attempt = attemptOf(reported, own);
  const startedAtMs =
    (own?.startedAt ?? reported.startedAt)?.getTime() ??
    epochMs(known?.running?.startedAt ?? known?.terminated?.startedAt) ??
    nowMs;
  const imageID = own?.imageID && shortText(own.imageID);
  const run = { id, name, image, attempt, createdAtMs: startedAtMs, startedAtMs, imageID };
  if (state === 'running') return { state, resources: accepted?.resources, ...run };
  const { exitCode, reason, message, finishedAt } = own?.exit ?? unknownExit(reported, own);
  return {
    state,
    // An int32, as in a status: Windows has 0xC0000005.
    exitCode: exitCode | 0,
    reason: shortText(reason ?? (exitCode === 0 ? 'Completed' : 'Error')),
    message: message && shortText(message),
    finishedAtMs: finishedAt?.getTime() ?? epochMs(known?.terminated?.finishedAt) ?? nowMs,
    ...run,
  };
}

/** The end of a container of a stopped pod that the provider has not reported: only that it does not run is known. */
function unknownExit({ reason }: ProviderPod, own: ProviderContainer | undefined): ProviderContainerExit {
  const known = reason ?? own?.waiting?.reason;
  return { exitCode: killedExitCode, ...(known === undefined ? unreportedExit : { reason: known }) };
}

function epochMs(time: unknown): number | undefined {
  return typeof time === 'string' ? epochMsOf(time) : undefined;
}
