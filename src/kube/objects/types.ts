/**
 * Structural types of the Kubernetes objects. Both majors of `@kubernetes/client-node`, raw JSON and
 * literals are assignable without a cast.
 */

import type { CanonicalTime } from '../../shared/time.ts';

export type { CanonicalTime } from '../../shared/time.ts';

/** A time as a caller may give it: a `Date`, an RFC 3339 string, or null. */
export type Time = string | Date | null;

/** Quantities in Go's canonical format (`500m`, `1Gi`) by resource name. */
export interface ResourceList {
  readonly [resourceName: string]: string;
}

/** One entry of `status.conditions`. */
export interface PodCondition {
  readonly type: string;
  readonly observedGeneration?: number;
  readonly status: string;
  readonly lastProbeTime: CanonicalTime;
  readonly lastTransitionTime: CanonicalTime;
  readonly reason?: string;
  readonly message?: string;
}

/** One entry of `status.hostIPs`. */
export interface HostIP {
  readonly ip: string;
}

/** One entry of `status.podIPs`. */
export interface PodIP {
  readonly ip: string;
}

/** A container that has not started, or waits to be restarted. */
export interface ContainerStateWaiting {
  readonly reason?: string;
  readonly message?: string;
}

/** A container that runs. */
export interface ContainerStateRunning {
  readonly startedAt: CanonicalTime;
}

/** A container that has ended. */
export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt: CanonicalTime;
  readonly finishedAt: CanonicalTime;
  readonly containerID?: string;
}

/** At most one field is set; none means unknown. */
export interface ContainerState {
  readonly waiting?: ContainerStateWaiting;
  readonly running?: ContainerStateRunning;
  readonly terminated?: ContainerStateTerminated;
}

/** A resource claim of the pod that a container uses. */
export interface ResourceClaim {
  readonly name: string;
  readonly request?: string;
}

/** Requests, limits and claims of a container or pod, as a status shows them. */
export interface ResourceRequirements {
  readonly limits?: ResourceList;
  readonly requests?: ResourceList;
  readonly claims?: readonly ResourceClaim[];
}

/** The image behind a volume of type `image`. */
export interface ImageVolumeStatus {
  readonly imageRef?: string;
}

/** The part of a volume mount's status that depends on the type of the volume. */
export interface VolumeStatus {
  readonly image?: ImageVolumeStatus;
}

/** A volume mount of a container, as mounted by the runtime. */
export interface VolumeMountStatus {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: string;
  readonly volumeStatus?: VolumeStatus;
}

/** The user and groups that the first process of a Linux container runs as. */
export interface LinuxContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups?: readonly number[];
}

/** The user of a container, by operating system. */
export interface ContainerUser {
  readonly linux?: LinuxContainerUser;
}

/** The health of one device that a container uses. */
export interface ResourceHealth {
  readonly resourceID: string;
  readonly health?: string;
  readonly message?: string;
}

/** The health of a container's devices of one resource. */
export interface ResourceStatus {
  readonly name: string;
  readonly resources?: readonly ResourceHealth[];
}

/** One entry of `containerStatuses`, `initContainerStatuses` or `ephemeralContainerStatuses`. */
export interface ContainerStatus {
  readonly name: string;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly started?: boolean;
  readonly allocatedResources?: ResourceList;
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMountStatus[];
  readonly user?: ContainerUser;
  readonly allocatedResourcesStatus?: readonly ResourceStatus[];
  readonly stopSignal?: string;
}

/** The ResourceClaim that was created for a claim in the spec of the pod. */
export interface PodResourceClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string;
}

/** Which request of the ResourceClaim backs an extended resource of a container. */
export interface ContainerExtendedResourceRequest {
  readonly containerName: string;
  readonly resourceName: string;
  readonly requestName: string;
}

/** The ResourceClaim that was created for the extended resources of a pod. */
export interface PodExtendedResourceClaimStatus {
  readonly requestMappings: readonly ContainerExtendedResourceRequest[] | null;
  readonly resourceClaimName: string;
}

/** Allocatable resources of the node that a device of a claim stands for. */
export interface NodeAllocatableMappedResources {
  readonly name: string;
  readonly quantity: string | null;
}

/** Allocatable resources of the node that a device of a claim needs besides its own. */
export interface NodeAllocatableOverheadResources {
  readonly name: string;
  readonly perPod?: string;
  readonly perContainer?: string;
}

/** The node's allocatable resources that a ResourceClaim uses. */
export interface NodeAllocatableResourceClaimStatus {
  readonly resourceClaimName: string;
  readonly containers?: readonly string[];
  readonly mapping?: readonly NodeAllocatableMappedResources[];
  readonly overhead?: readonly NodeAllocatableOverheadResources[];
}

/** One condition of a volume’s health. */
export interface VolumeHealthCondition {
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

/** The health of one volume of the pod. */
export interface PodVolumeHealth {
  readonly name: string;
  readonly healthConditions?: readonly VolumeHealthCondition[];
  readonly lastTransitionTime: CanonicalTime;
}

/**
 * A pod status in canonical form: the format that Go's typed structs would write. Fields that Go omits
 * when empty are absent, times are strings without a fraction, quantities are in canonical format.
 * Fields that this library does not know are kept unchanged. It is never modified, and the statuses
 * that the manager returns are frozen.
 */
export interface PodStatus {
  readonly observedGeneration?: number;
  readonly phase?: string;
  readonly conditions?: readonly PodCondition[];
  readonly message?: string;
  readonly reason?: string;
  readonly nominatedNodeName?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly HostIP[];
  readonly podIP?: string;
  readonly podIPs?: readonly PodIP[];
  readonly startTime?: CanonicalTime;
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly qosClass?: string;
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
  readonly resize?: string;
  readonly resourceClaimStatuses?: readonly PodResourceClaimStatus[];
  readonly extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  readonly allocatedResources?: ResourceList;
  readonly resources?: ResourceRequirements;
  readonly nodeAllocatableResourceClaimStatuses?: readonly NodeAllocatableResourceClaimStatus[];
  readonly volumeHealth?: readonly PodVolumeHealth[];
}

/** A canonical object under construction; afterwards it is never mutated. */
export type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/**
 * The input type for a canonical `T`: every field may be absent, undefined or null; times may be
 * `Date`s; lists may be readonly.
 */
export type Input<T> = T extends string | number | boolean | null | undefined
  ? null extends T
    ? Time | undefined
    : T
  : T extends readonly (infer Element)[]
    ? readonly Input<Element>[]
    : { readonly [Field in keyof T]?: Input<T[Field]> | null | undefined };

/** A pod status as a caller may give it: client-node's `V1PodStatus` of either major, or raw JSON. */
export type PodStatusInput = Input<PodStatus>;
/** A condition as a caller may give it. */
export type PodConditionInput = Input<PodCondition>;
/** A container status as a caller may give it. */
export type ContainerStatusInput = Input<ContainerStatus>;
/** A condition of a volume’s health as a caller may give it. */
export type VolumeHealthConditionInput = Input<VolumeHealthCondition>;

/**
 * Fields that this library does not read: of any type, so that a complete object written by hand
 * type-checks.
 */
type Unread<Name extends string> = { readonly [Field in Name]?: unknown };

/** The object that owns a pod; `controller` marks the one that manages it. */
export interface OwnerReference extends Unread<'blockOwnerDeletion'> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
}

/** The metadata of a pod. */
export interface ObjectMeta extends Unread<'generateName' | 'managedFields' | 'selfLink'> {
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

/** The exit codes to which a restart rule applies. */
export interface ContainerRestartRuleOnExitCodes {
  readonly operator: string;
  readonly values?: readonly number[] | undefined;
}

/** What happens to a container that ends with certain exit codes. */
export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: ContainerRestartRuleOnExitCodes | undefined;
}

/** The resources of a container or pod spec; quantities in any valid format. */
export interface ResourceRequirementsInput {
  readonly limits?: { readonly [resourceName: string]: string } | undefined;
  readonly requests?: { readonly [resourceName: string]: string } | undefined;
  readonly claims?: readonly ResourceClaim[] | undefined;
}

/** A command that runs in the container. */
export interface ExecAction {
  readonly command?: readonly string[] | undefined;
}

/** A header of an HTTP probe or hook. */
export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

/** An HTTP request to the container. */
export interface HTTPGetAction extends Unread<'protocol'> {
  readonly path?: string | undefined;
  /** A number, or the name of a port of the container. */
  readonly port: number | string;
  readonly host?: string | undefined;
  readonly scheme?: string | undefined;
  readonly httpHeaders?: readonly HTTPHeader[] | undefined;
}

/** A TCP connection to the container. */
export interface TCPSocketAction {
  readonly port: number | string;
  readonly host?: string | undefined;
}

/** A call of the gRPC health service of the container. */
export interface GRPCAction extends Unread<'mode'> {
  readonly port: number;
  readonly service?: string | undefined;
}

/** A hook that waits. */
export interface SleepAction {
  readonly seconds: number;
}

/** One of the fields is set. */
export interface LifecycleHandler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly sleep?: SleepAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
}

/** The hooks of a container. */
export interface Lifecycle extends Unread<'stopSignal'> {
  readonly postStart?: LifecycleHandler | undefined;
  readonly preStop?: LifecycleHandler | undefined;
}

/** How a container is probed, and how often. */
export interface Probe {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly grpc?: GRPCAction | undefined;
  readonly initialDelaySeconds?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly periodSeconds?: number | undefined;
  readonly successThreshold?: number | undefined;
  readonly failureThreshold?: number | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
}

/** Where a volume of the pod is mounted in a container. */
export interface VolumeMount extends Unread<'bindMountOptions' | 'subPath' | 'subPathExpr'> {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: string | undefined;
  readonly mountPropagation?: string | undefined;
}

type UnreadContainerFields =
  | 'ports'
  | 'securityContext'
  | 'stdin'
  | 'stdinOnce'
  | 'terminationMessagePath'
  | 'terminationMessagePolicy'
  | 'tty'
  | 'volumeDevices';

/** What a change of a resource does to a running container. Source: `v1.ContainerResizePolicy`. */
export interface ContainerResizePolicy {
  /** `cpu` or `memory`. */
  readonly resourceName: string;
  /** `NotRequired` or `RestartContainer`. */
  readonly restartPolicy: string;
}

/** An environment variable of a container. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: object | undefined;
}

/** A container of a pod’s spec. */
export interface Container extends Unread<UnreadContainerFields> {
  readonly name: string;
  readonly image?: string | undefined;
  readonly workingDir?: string | undefined;
  readonly env?: readonly EnvVar[] | undefined;
  readonly resizePolicy?: readonly ContainerResizePolicy[] | undefined;
  readonly envFrom?: readonly object[] | undefined;
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: readonly ContainerRestartRule[] | undefined;
  readonly resources?: ResourceRequirementsInput | undefined;
  readonly volumeMounts?: readonly VolumeMount[] | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly imagePullPolicy?: string | undefined;
}

/** A container that was added to a running pod for debugging. */
export interface EphemeralContainer extends Container {
  readonly targetContainerName?: string | undefined;
}

/** A condition that must be True before the pod is Ready. */
export interface PodReadinessGate {
  readonly conditionType: string;
}

type UnreadPodSpecFields =
  | 'affinity'
  | 'automountServiceAccountToken'
  | 'dnsConfig'
  | 'dnsPolicy'
  | 'enableServiceLinks'
  | 'evictionResponders'
  | 'hostAliases'
  | 'hostIPC'
  | 'hostPID'
  | 'hostUsers'
  | 'hostname'
  | 'hostnameOverride'
  | 'imagePullSecrets'
  | 'nodeSelector'
  | 'os'
  | 'preemptionPolicy'
  | 'priorityClassName'
  | 'resourceClaims'
  | 'runtimeClassName'
  | 'schedulerName'
  | 'schedulingGates'
  | 'schedulingGroup'
  | 'securityContext'
  | 'serviceAccount'
  | 'serviceAccountName'
  | 'setHostnameAsFQDN'
  | 'shareProcessNamespace'
  | 'subdomain'
  | 'tolerations'
  | 'topologySpreadConstraints'
  | 'volumes';

/** The spec of a pod. */
export interface PodSpec extends Unread<UnreadPodSpecFields> {
  readonly containers?: readonly Container[] | undefined;
  readonly initContainers?: readonly Container[] | undefined;
  readonly ephemeralContainers?: readonly EphemeralContainer[] | undefined;
  readonly restartPolicy?: string | undefined;
  readonly readinessGates?: readonly PodReadinessGate[] | undefined;
  readonly nodeName?: string | undefined;
  readonly hostNetwork?: boolean | undefined;
  readonly priority?: number | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly activeDeadlineSeconds?: number | undefined;
  readonly resources?: ResourceRequirementsInput | undefined;
  readonly overhead?: { readonly [resourceName: string]: string } | undefined;
}

/**
 * A pod as callers, pod managers and clients pass it. Every literal of client-node's `V1Pod` is one;
 * fields that this library does not read are of type `unknown`. The object itself keeps all of them:
 * cast it back to your own type (`pod as V1Pod`), but note that an informer and `createPodClient` have
 * times as strings, where `V1Pod` says `Date`.
 */
export interface Pod {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata?: ObjectMeta | undefined;
  readonly spec?: PodSpec | undefined;
  readonly status?: PodStatusInput | undefined;
}

/**
 * A pod with the fields that identify it: those that pod managers, sources and informers have checked.
 * Source: kubelet `validation.ValidatePodCreate`, which refuses all others.
 */
export interface ValidPod extends Pod {
  readonly metadata: ObjectMeta & { readonly uid: string; readonly name: string; readonly namespace: string };
}
