import type { ContainerState, ContainerStatus, Mutable, Pod, PodStatus } from '../../kube/objects/types.ts';
import { containerStatusesFields } from './container-statuses.ts';
import { compareUTF8, cutTerminationMessage } from './utf8.ts';

/**
 * Maximum size of all termination messages of a pod together. kubelet:
 * `MaxPodTerminationMessageLogLength`.
 */
const maxPodTerminationMessageBytes = 12 * 1024;

/**
 * The status as it is compared and stored: termination messages truncated to the pod's limit, container
 * lists in a fixed order. Times are not truncated, because canonical times have no fraction. Returns
 * `status` itself, or a copy that shares its unchanged parts. Idempotent for one spec.
 * Source: kubelet `normalizeStatus`.
 *
 * Divergence: volumeHealth times have no fraction either (canonical form); the kubelet keeps their
 * fractions, and therefore reads such a pod in every full batch.
 */
export function normalizeStatus(pod: Pod, status: PodStatus): PodStatus {
  const maxBytes = terminationMessageBytes(pod);
  let normalized: Mutable<PodStatus> = status;
  for (const field of containerStatusesFields) {
    const statuses = status[field];
    if (statuses === undefined) continue;
    const cut = cutTerminationMessages(statuses, maxBytes);
    const sorted = field === 'initContainerStatuses' ? sortInitContainerStatuses(pod, cut) : sortByName(cut);
    if (sorted === statuses) continue;
    if (normalized === status) normalized = { ...status };
    normalized[field] = sorted;
  }
  return normalized;
}

function terminationMessageBytes(pod: Pod): number {
  const spec = pod.spec;
  const containers =
    (spec?.containers?.length ?? 0) + (spec?.initContainers?.length ?? 0) + (spec?.ephemeralContainers?.length ?? 0);
  return containers === 0 ? maxPodTerminationMessageBytes : Math.floor(maxPodTerminationMessageBytes / containers);
}

/**
 * Divergence: truncates between code points; the kubelet may leave half a character. U+FFFD that the container itself wrote
 * counts as one byte; in the kubelet as three.
 */
function cutTerminationMessages(statuses: readonly ContainerStatus[], maxBytes: number): readonly ContainerStatus[] {
  let cut: ContainerStatus[] | undefined;
  for (let i = 0; i < statuses.length; i++) {
    const status = statuses[i]!;
    const state = cutStateMessage(status.state, maxBytes);
    const lastState = cutStateMessage(status.lastState, maxBytes);
    if (state === status.state && lastState === status.lastState) continue;
    cut ??= [...statuses];
    cut[i] = { ...status, state, lastState };
  }
  return cut ?? statuses;
}

function cutStateMessage(state: ContainerState, maxBytes: number): ContainerState {
  const message = state.terminated?.message;
  if (message === undefined) return state;
  const cut = cutTerminationMessage(message, maxBytes);
  return cut === message ? state : { ...state, terminated: { ...state.terminated!, message: cut } };
}

function sortByName(statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  for (let i = 1; i < statuses.length; i++) {
    if (compareUTF8(statuses[i - 1]!.name, statuses[i]!.name) > 0) {
      return statuses.toSorted((a, b) => compareUTF8(a.name, b.name));
    }
  }
  return statuses;
}

/**
 * Sorts into spec order by swapping each status into its place. Names that are not in the spec end up
 * last, in the order that the swaps leave. Source: kubelet `SortInitContainerStatuses`.
 */
function sortInitContainerStatuses(pod: Pod, statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const sorted = [...statuses];
  const positions = new Map(statuses.map(({ name }, i) => [name, i]));
  let isSorted = true;
  let next = 0;
  for (const { name } of pod.spec?.initContainers ?? []) {
    const found = positions.get(name);
    if (found === undefined || found < next) continue;
    if (found !== next) {
      isSorted = false;
      const displaced = sorted[next]!;
      sorted[next] = sorted[found]!;
      sorted[found] = displaced;
      positions.set(displaced.name, found);
      positions.set(name, next);
    }
    next++;
  }
  return isSorted ? statuses : sorted;
}
