/**
 * The Kubernetes objects as this library sees them: structural types of its own, so that both
 * majors of `@kubernetes/client-node`, raw JSON and hand-written literals fit without a cast.
 */

/** A canonical time: RFC 3339, UTC, whole seconds (`2026-01-02T03:04:05Z`), or null for "no time". */
export type CanonicalTime = string | null;

/** A time as a caller may give it: a `Date`, an RFC 3339 string, or null. */
export type Time = string | Date | null;

/** A quantity in Go's canonical spelling (`500m`, `1Gi`) by resource name. */
export interface ResourceList {
  [resourceName: string]: string;
}

export interface PodCondition {
  type: string;
  observedGeneration?: number;
  status: string;
  lastProbeTime: CanonicalTime;
  lastTransitionTime: CanonicalTime;
  reason?: string;
  message?: string;
}

export interface HostIP {
  ip: string;
}

export interface PodIP {
  ip: string;
}

export interface ContainerStateWaiting {
  reason?: string;
  message?: string;
}

export interface ContainerStateRunning {
  startedAt: CanonicalTime;
}

export interface ContainerStateTerminated {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt: CanonicalTime;
  finishedAt: CanonicalTime;
  containerID?: string;
}

/** At most one member is set; none set reads as "unknown". */
export interface ContainerState {
  waiting?: ContainerStateWaiting;
  running?: ContainerStateRunning;
  terminated?: ContainerStateTerminated;
}

export interface ResourceClaim {
  name: string;
  request?: string;
}

export interface ResourceRequirements {
  limits?: ResourceList;
  requests?: ResourceList;
  claims?: ResourceClaim[];
}

export interface ImageVolumeStatus {
  imageRef?: string;
}

export interface VolumeStatus {
  image?: ImageVolumeStatus;
}

export interface VolumeMountStatus {
  name: string;
  mountPath: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  volumeStatus?: VolumeStatus;
}

export interface LinuxContainerUser {
  uid: number;
  gid: number;
  supplementalGroups?: number[];
}

export interface ContainerUser {
  linux?: LinuxContainerUser;
}

export interface ResourceHealth {
  resourceID: string;
  health?: string;
  message?: string;
}

export interface ResourceStatus {
  name: string;
  resources?: ResourceHealth[];
}

export interface ContainerStatus {
  name: string;
  state: ContainerState;
  lastState: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  volumeMounts?: VolumeMountStatus[];
  user?: ContainerUser;
  allocatedResourcesStatus?: ResourceStatus[];
  stopSignal?: string;
}

export interface PodResourceClaimStatus {
  name: string;
  resourceClaimName?: string;
}

export interface ContainerExtendedResourceRequest {
  containerName: string;
  resourceName: string;
  requestName: string;
}

export interface PodExtendedResourceClaimStatus {
  requestMappings: ContainerExtendedResourceRequest[] | null;
  resourceClaimName: string;
}

export interface NodeAllocatableMappedResources {
  name: string;
  quantity: string | null;
}

export interface NodeAllocatableOverheadResources {
  name: string;
  perPod?: string;
  perContainer?: string;
}

export interface NodeAllocatableResourceClaimStatus {
  resourceClaimName: string;
  containers?: string[];
  mapping?: NodeAllocatableMappedResources[];
  overhead?: NodeAllocatableOverheadResources[];
}

export interface VolumeHealthCondition {
  status: string;
  reason: string;
  message?: string;
}

export interface PodVolumeHealth {
  name: string;
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime: CanonicalTime;
}

/**
 * A pod status in canonical form: the one spelling that Go's typed structs would write. Members
 * that Go leaves out when empty are absent, times are strings of whole seconds, quantities are
 * spelled canonically. Members this library does not know are kept as they came.
 */
export interface PodStatus {
  observedGeneration?: number;
  phase?: string;
  conditions?: PodCondition[];
  message?: string;
  reason?: string;
  nominatedNodeName?: string;
  hostIP?: string;
  hostIPs?: HostIP[];
  podIP?: string;
  podIPs?: PodIP[];
  startTime?: CanonicalTime;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  qosClass?: string;
  ephemeralContainerStatuses?: ContainerStatus[];
  resize?: string;
  resourceClaimStatuses?: PodResourceClaimStatus[];
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
  volumeHealth?: PodVolumeHealth[];
}

/**
 * What a caller may pass where the canonical type is `T`: every member may be absent, undefined or
 * null, times may be `Date`s, lists may be readonly.
 */
export type Input<T> = T extends string | number | boolean | null | undefined
  ? null extends T
    ? Time | undefined
    : T
  : T extends readonly (infer Element)[]
    ? readonly Input<Element>[]
    : { readonly [Member in keyof T]?: Input<T[Member]> | null | undefined };

/** A pod status as a caller may give it: client-node's `V1PodStatus` of either major, or raw JSON. */
export type PodStatusInput = Input<PodStatus>;
export type PodConditionInput = Input<PodCondition>;
export type ContainerStatusInput = Input<ContainerStatus>;
export type VolumeHealthConditionInput = Input<VolumeHealthCondition>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
}

export interface ObjectMeta {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly annotations?: { readonly [name: string]: string } | undefined;
  readonly labels?: { readonly [name: string]: string } | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly creationTimestamp?: Time | undefined;
  readonly deletionTimestamp?: Time | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
}

export interface ContainerRestartRuleOnExitCodes {
  readonly operator: string;
  readonly values?: readonly number[] | undefined;
}

export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: ContainerRestartRuleOnExitCodes | undefined;
}

/** The resources of a container or pod spec; quantities in any valid spelling. */
export interface ResourceRequirementsInput {
  readonly limits?: { readonly [resourceName: string]: string } | undefined;
  readonly requests?: { readonly [resourceName: string]: string } | undefined;
}

export interface Container {
  readonly name: string;
  readonly image?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: readonly ContainerRestartRule[] | undefined;
  readonly resources?: ResourceRequirementsInput | undefined;
}

export interface EphemeralContainer {
  readonly name: string;
}

export interface PodReadinessGate {
  readonly conditionType: string;
}

export interface PodSpec {
  readonly containers?: readonly Container[] | undefined;
  readonly initContainers?: readonly Container[] | undefined;
  readonly ephemeralContainers?: readonly EphemeralContainer[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly readinessGates?: readonly PodReadinessGate[] | undefined;
  readonly nodeName?: string | undefined;
  readonly hostNetwork?: boolean | undefined;
  readonly priority?: number | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly resources?: ResourceRequirementsInput | undefined;
}

/** A pod as callers, pod managers and clients hand it over; only the members this library reads. */
export interface Pod {
  readonly metadata?: ObjectMeta | undefined;
  readonly spec?: PodSpec | undefined;
  readonly status?: PodStatusInput | undefined;
}
