import { containersOf } from '../../kube/pods/pod-containers.ts';
import type { AllocationState } from '../../status-manager/allocation/allocation-state.ts';
import type {
  Container,
  PodStatusInput,
  ResourceRequirements,
  ResourceRequirementsInput,
  ValidPod,
} from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import { FailureLog, type FailureLogOptions } from '../../shared/failure-log.ts';
import {
  actuatedContainerFromStatus,
  actuatedPodFromStatus,
  areAmountsEqual,
  containerResources,
  findContainerStatusByName,
  type RuntimePodStatus,
} from '../../node/index.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

/** The resources that a pod and its containers were last given; undefined where none are recorded. */
export interface ActuatedPod {
  /** The resources of the pod itself. */
  readonly resources: ResourceRequirementsInput | undefined;
  ofContainer(name: string): ResourceRequirementsInput | undefined;
}

/**
 * The resources that the runtime was last asked to give each pod and each container. They differ from the
 * allocated ones while a resize is in progress. Source: kubelet `actuatedState`.
 */
export class ActuatedResources {
  readonly #state: AllocationState;
  readonly #saveFailures: FailureLog;

  constructor(state: AllocationState, { clock, logger }: Pick<FailureLogOptions, 'clock' | 'logger'>) {
    this.#state = state;
    this.#saveFailures = new FailureLog({ clock, logger, what: 'Saving the actuated resources of pods' });
  }

  get(podUID: string, containerName: string): ResourceRequirements | undefined {
    return this.#state.getContainerResourceAllocation(podUID, containerName);
  }

  /** The resources of a pod, for `computePodActions`. */
  pod(podUID: string): ActuatedPod {
    return {
      resources: this.#state.getPodLevelResourceAllocation(podUID),
      ofContainer: (name) => this.get(podUID, name),
    };
  }

  /**
   * Records the resources in the pod's spec, unless some are already recorded for the pod. A container that is still being
   * resized according to `status`, the pod's last status, has those that it shows. Source: kubelet `InitializeActuatedPod`.
   */
  initialize(pod: ValidPod, status: PodStatusInput | undefined): void {
    const uid = pod.metadata.uid;
    const containers = containersOf(pod.spec);
    if (containers.some(({ name }) => this.get(uid, name) !== undefined)) return;
    this.#record(
      pod,
      actuatedPodFromStatus(pod, status) ?? pod.spec?.resources,
      (container) => actuatedContainerFromStatus(container, status) ?? containerResources(pod, container),
    );
  }

  /** Records that the pod itself was given the resources in its spec. */
  setPod(pod: ValidPod): void {
    const { uid } = pod.metadata;
    if (areAmountsEqual(this.#state.getPodLevelResourceAllocation(uid), pod.spec?.resources)) return;
    this.#record(pod, pod.spec?.resources, ({ name }) => this.get(uid, name));
  }

  /** Records the resources that a container was given. */
  set(pod: ValidPod, containerName: string, resources: ResourceRequirementsInput): void {
    const uid = pod.metadata.uid;
    const podResources = this.#state.getPodLevelResourceAllocation(uid);
    this.#record(pod, podResources, ({ name }) => (name === containerName ? resources : this.get(uid, name)));
  }

  remove(podUID: string): void {
    this.#state.delete(podUID);
  }

  removeOrphanedPods(remainingPodUIDs: ReadonlySet<string>): void {
    this.#state.removeOrphanedPods(remainingPodUIDs);
  }

  /**
   * True when the pod or a running container has different resources than it was allocated. Of the init
   * containers, only sidecars are considered. Source: kubelet `IsPodResizeInProgress`.
   */
  isPodResizeInProgress(allocatedPod: ValidPod, runtimeStatus: RuntimePodStatus): boolean {
    const uid = allocatedPod.metadata.uid;
    const { containers = [], initContainers = [], resources } = allocatedPod.spec ?? {};
    const actuatedPod = this.#state.getPodLevelResourceAllocation(uid);
    if (resources != null && actuatedPod !== undefined && !areAmountsEqual(resources, actuatedPod)) return true;
    return [...containers, ...initContainers.filter(isRestartableInitContainer)].some((container) => {
      if (findContainerStatusByName(runtimeStatus, container.name)?.state !== 'running') return false;
      return !areAmountsEqual(containerResources(allocatedPod, container), this.get(uid, container.name));
    });
  }

  /**
   * Fills in the actuated resources of containers for which the runtime reports none, and the memory request,
   * which no cgroup has, where it reports only others. Source: kubelet `toKubeContainerStatus`.
   */
  complete(podUID: string, runtimeStatus: RuntimePodStatus): RuntimePodStatus {
    const containers = runtimeStatus.containers.map((container) => {
      const actuated = this.get(podUID, container.name);
      if (container.resources === undefined) return { ...container, resources: actuated };
      const { requests } = container.resources;
      const memory = actuated?.requests?.memory;
      if (memory === undefined || requests?.memory != null) return container;
      return { ...container, resources: { ...container.resources, requests: { ...requests, memory } } };
    });
    return { ...runtimeStatus, containers };
  }

  #record(
    pod: ValidPod,
    resources: ResourceRequirementsInput | null | undefined,
    resourcesOf: (container: Container) => ResourceRequirementsInput | undefined,
  ): void {
    const { uid } = pod.metadata;
    const containers = containersOf(pod.spec).map((container) => ({
      name: container.name,
      resources: resourcesOf(container),
    }));
    const spec = { ...(resources != null && { resources }), containers };
    this.#state.setPodAllocation({ metadata: { uid }, spec }).then(
      () => this.#saveFailures.succeeded(),
      (error: unknown) => this.#saveFailures.failed(error, podFieldsOf(pod), { level: 'error' }),
    );
  }
}
