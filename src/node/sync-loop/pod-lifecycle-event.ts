import type { RuntimePod } from '../runtime/container-runtime.ts';
import type { RuntimeContainerState } from '../runtime/runtime-pod-status.ts';

/**
 * What happened to a container or sandbox of a pod. `PodSync` means that the pod was inspected on
 * request and nothing had changed. Source: kubelet `PodLifeCycleEventType`.
 */
export type PodLifecycleEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  | 'ContainerChanged'
  | 'PodSync';

/** Source: kubelet `PodLifecycleEvent`. */
export interface PodLifecycleEvent {
  readonly podUID: string;
  readonly type: PodLifecycleEventType;
  /** The container or sandbox; absent for `PodSync`. */
  readonly containerID?: string | undefined;
}

/** Source: kubelet `plegContainerState`. */
export type PlegContainerState = 'running' | 'exited' | 'unknown' | 'non-existent';

/** The states of all containers and sandboxes of a pod, by ID. */
export type PlegContainerStates = ReadonlyMap<string, PlegContainerState>;

const stateOf: Readonly<Record<RuntimeContainerState, PlegContainerState>> = {
  created: 'unknown',
  running: 'running',
  exited: 'exited',
  unknown: 'unknown',
};

export function plegContainerStates({ containers, sandboxes = [] }: RuntimePod): PlegContainerStates {
  return new Map([
    ...containers.map(({ id, state }) => [id, stateOf[state]] as const),
    ...sandboxes.map(({ id, ready }) => [id, ready ? 'running' : 'exited'] as const),
  ]);
}

/** The events between two observations of a pod. Source: kubelet `computeEvents`. */
export function computeEvents(
  podUID: string,
  old: PlegContainerStates,
  current: PlegContainerStates,
): PodLifecycleEvent[] {
  const ids = new Set([...old.keys(), ...current.keys()]);
  return [...ids].flatMap((containerID) =>
    eventTypes(old.get(containerID) ?? 'non-existent', current.get(containerID) ?? 'non-existent').map((type) => ({
      podUID,
      type,
      containerID,
    })),
  );
}

/** The events of a container that enters this state. */
const eventTypesOf: Readonly<Record<PlegContainerState, readonly PodLifecycleEventType[]>> = {
  running: ['ContainerStarted'],
  exited: ['ContainerDied'],
  unknown: ['ContainerChanged'],
  'non-existent': ['ContainerDied', 'ContainerRemoved'],
};

/** Source: kubelet `generateEvents`. */
function eventTypes(old: PlegContainerState, current: PlegContainerState): readonly PodLifecycleEventType[] {
  if (current === old) return [];
  // ContainerDied was already sent when the container exited.
  return old === 'exited' && current === 'non-existent' ? ['ContainerRemoved'] : eventTypesOf[current];
}
