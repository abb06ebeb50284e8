import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import {
  type ContainerStatusesField,
  containerStatusesFields,
} from '../../status-manager/status/container-statuses.ts';
import type {
  Container,
  ContainerStatusInput,
  EphemeralContainer,
  PodStatusInput,
  ResourceRequirementsInput,
  ValidPod,
} from '../../kube/objects/types.ts';
import { epochMsOf } from '../../shared/time.ts';
import type {
  ProbeResult,
  ProbeResults,
  RuntimeContainerStatus,
  RuntimePodStatus,
  StartFailure,
} from '../../node/index.ts';
import type { ProviderContainer, ProviderContainerExit, ProviderPod } from '../pod-provider.ts';

/** What is known of a pod beside what the provider has reported. */
export interface KnownStatus {
  /** The last status of the pod, which has the times that the provider does not report. */
  readonly previous: PodStatusInput | null | undefined;
  /** The pod as the provider was last told, which has the resources of running containers. Default: those of `previous`. */
  readonly accepted?: ValidPod | undefined;
  readonly nowMs: number;
}

type AnyContainer = Container | EphemeralContainer;

/** Source: kubelet `MaxContainerTerminationMessageLength`. */
const maxTextLength = 4096;
/** The exit code of a container that was killed by SIGKILL. */
const killedExitCode = 137;

/**
 * What a runtime would show of a pod that is as the provider reports it, so that phase, conditions and container statuses
 * follow as for containers of the agent. A pod that the provider does not have has neither sandbox nor containers.
 */
export function runtimePodStatus(
  pod: ValidPod,
  reported: ProviderPod | undefined,
  known: KnownStatus,
): RuntimePodStatus {
  const reportedIPs = (known.previous?.podIPs ?? []).flatMap(({ ip }) => ip || []);
  if (reported === undefined) return { sandboxes: [], containers: [], ips: reportedIPs };
  const { uid, state, ips = reportedIPs } = reported;
  const containers = containersOf(pod).flatMap((container) => {
    const own = find(reported, container.name);
    const state = stateOf(pod, reported, container, own);
    return state === 'waiting' ? [] : [runOf(reported, container, own, { ...known, state })];
  });
  // A pod that is being created has its network, and so its sandbox, once it has addresses.
  const hasSandbox = state !== 'creating' || ips.length > 0;
  const sandbox = { id: uid, ready: state !== 'stopped', hostNetwork: pod.spec?.hostNetwork ?? false };
  return { sandboxes: hasSandbox ? [sandbox] : [], containers, activeSandboxID: uid, ips };
}

/**
 * The previous status, in which no container runs that the cloud reports as waiting.
 *
 * Divergence: the kubelet takes a container that ran and is gone for lost, and makes up its end; here the cloud knows the
 * container, and says how it has ended or does not.
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
  const statusesIn = (field: ContainerStatusesField): ContainerStatusInput[] =>
    specs[field].flatMap((container: AnyContainer) => {
      const before = previous?.[field]?.find(({ name }) => name === container.name);
      const own = find(reported, container.name);
      if (stateOf(pod, reported, container, own) !== 'waiting') return before ?? [];
      const restartCount = Math.max(before?.restartCount ?? 0, own?.restartCount ?? 0);
      const state = before?.state?.running == null ? before?.state : { waiting: {} };
      return [{ ...before, name: container.name, restartCount, state }];
    });
  return { ...previous, ...Object.fromEntries(containerStatusesFields.map((field) => [field, statusesIn(field)])) };
}

/** Readiness and start of the containers as the results of probes, which the cloud makes itself. */
export function reportedProbeResults(status: RuntimePodStatus, reported: ProviderPod | undefined): ProbeResults {
  const byID = (field: 'ready' | 'started'): Map<string, ProbeResult> =>
    new Map(
      status.containers.map(({ id, name }) => {
        const value = reported && find(reported, name)?.[field];
        return [id, (value ?? true) ? 'success' : 'failure'];
      }),
    );
  return { readiness: byID('ready'), startup: byID('started'), liveness: new Map(), areReported: true };
}

/** Why a container waits; undefined if the provider does not say. */
export function waitingReason(reported: ProviderPod | undefined, containerName: string): StartFailure | undefined {
  const waiting = reported && find(reported, containerName)?.waiting;
  return waiting && { reason: shortText(waiting.reason), message: shortText(waiting.message ?? '') };
}

/** As much of a text of the cloud as a status has of a termination message. The API server refuses a status that is too long. */
export function shortText(text: string): string {
  return text.slice(0, maxTextLength);
}

function containersOf({ spec }: ValidPod): AnyContainer[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function find({ containers = [] }: ProviderPod, name: string): ProviderContainer | undefined {
  return containers.find((container) => container.name === name);
}

/** True for an init container that runs to its end before the next one starts. */
function isPlainInitContainer({ spec }: ValidPod, container: AnyContainer): boolean {
  return spec?.initContainers?.includes(container) === true && !isRestartableInitContainer(container);
}

function isEphemeral({ spec }: ValidPod, container: AnyContainer): boolean {
  return spec?.ephemeralContainers?.includes(container) === true;
}

function stateOf(
  pod: ValidPod,
  { state }: ProviderPod,
  container: AnyContainer,
  own: ProviderContainer | undefined,
): 'waiting' | 'running' | 'exited' {
  if (own?.exit !== undefined) return 'exited';
  if (own === undefined && isEphemeral(pod, container)) return 'waiting';
  if (state === 'stopped') return 'exited';
  if (own?.waiting !== undefined) return 'waiting';
  if (state === 'creating') return own?.startedAt === undefined ? 'waiting' : 'running';
  return own === undefined && isPlainInitContainer(pod, container) ? 'exited' : 'running';
}

/** The ID of a run of a container of the provider; `containerOfID` reads it. */
function containerID(podUID: string, name: string, attempt: number): string {
  return `provider://${podUID}/${name}/${attempt}`;
}

/** The container of an ID in the status of a pod. */
export function containerOfID(id: string): { readonly podUID: string; readonly name: string } {
  const [, , podUID = '', name = ''] = id.split('/');
  return { podUID, name };
}

function runOf(
  reported: ProviderPod,
  container: AnyContainer,
  own: ProviderContainer | undefined,
  { state, previous, accepted, nowMs }: KnownStatus & { readonly state: 'running' | 'exited' },
): RuntimeContainerStatus {
  const { name, image } = container;
  const attempt = own?.restartCount ?? 0;
  const id = containerID(reported.uid, name, attempt);
  const known = statusesOf(previous).find(({ containerID }) => containerID === id)?.state;
  const startedAtMs =
    (own?.startedAt ?? reported.startedAt)?.getTime() ??
    epochMs(known?.running?.startedAt ?? known?.terminated?.startedAt) ??
    nowMs;
  const imageID = own?.imageID && shortText(own.imageID);
  const run = { id, name, image, attempt, createdAtMs: startedAtMs, startedAtMs, imageID };
  if (state === 'running') return { ...run, state, resources: accepted && resourcesOf(accepted, name) };
  const { exitCode, reason, message, finishedAt } = own?.exit ?? defaultExit(reported, own);
  return {
    ...run,
    state,
    // An int32, as in a status: Windows has 0xC0000005.
    exitCode: exitCode | 0,
    reason: shortText(reason ?? (exitCode === 0 ? 'Completed' : 'Error')),
    message: message && shortText(message),
    finishedAtMs: finishedAt?.getTime() ?? epochMs(known?.terminated?.finishedAt) ?? nowMs,
  };
}

/** The end of a container that the provider says nothing of. */
function defaultExit({ state, reason }: ProviderPod, own: ProviderContainer | undefined): ProviderContainerExit {
  const isKilled = state === 'stopped' && (reason !== undefined || own?.waiting !== undefined);
  return isKilled ? { exitCode: killedExitCode, reason: reason ?? own?.waiting?.reason } : { exitCode: 0 };
}

function resourcesOf({ spec }: ValidPod, name: string): ResourceRequirementsInput | undefined {
  const { initContainers = [], containers = [] } = spec ?? {};
  return [...initContainers, ...containers].find((container) => container.name === name)?.resources;
}

function statusesOf(status: PodStatusInput | null | undefined): ContainerStatusInput[] {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status ?? {};
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])];
}

function epochMs(time: unknown): number | undefined {
  return typeof time === 'string' ? epochMsOf(time) : undefined;
}
