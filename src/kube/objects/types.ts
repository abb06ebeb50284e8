/**
 * Structural types of the Kubernetes objects. Both majors of `@kubernetes/client-node`, raw JSON and
 * literals are assignable without a cast.
 */

import type { Time } from '../../shared/time.ts';
import type { CanonicalObject, KubeObject } from './kube-object.ts';

export type { CanonicalTime, Time } from '../../shared/time.ts';

/** Quantities in Go's canonical format (`500m`, `1Gi`) by resource name. */
export interface ResourceList {
  readonly [resourceName: string]: string;
}

/** One entry of `status.conditions`. */
export interface PodCondition extends CanonicalObject<'PodCondition'> {}

/** A container that has ended. */
export interface ContainerStateTerminated extends CanonicalObject<'ContainerStateTerminated'> {}

/** At most one field is set; none means unknown. */
export interface ContainerState extends CanonicalObject<'ContainerState'> {}

/** A resource claim of the pod that a container uses. */
export interface ResourceClaim extends CanonicalObject<'ResourceClaim'> {}

/** Requests, limits and claims of a container or pod, as a status shows them. */
export interface ResourceRequirements extends CanonicalObject<'ResourceRequirements'> {}

/** A volume mount of a container, as mounted by the runtime. */
export interface VolumeMountStatus extends CanonicalObject<'VolumeMountStatus'> {}

/** The user of a container, by operating system. */
export interface ContainerUser extends CanonicalObject<'ContainerUser'> {}

/** The health of a container's devices of one resource. */
export interface ResourceStatus extends CanonicalObject<'ResourceStatus'> {}

/** One entry of `containerStatuses`, `initContainerStatuses` or `ephemeralContainerStatuses`. */
export interface ContainerStatus extends CanonicalObject<'ContainerStatus'> {}

/** One condition of a volume’s health. */
export interface VolumeHealthCondition extends CanonicalObject<'VolumeHealthCondition'> {}

/**
 * A pod status in canonical form: the format that Go's typed structs would write. Fields that Go omits
 * when empty are absent, times are strings without a fraction, quantities are in canonical format.
 * Fields that this library does not know are kept unchanged. It is never modified, and the statuses
 * that the manager returns are frozen.
 */
export interface PodStatus extends CanonicalObject<'PodStatus'> {}

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

/** The metadata of a pod. */
export interface ObjectMeta extends KubeObject<'ObjectMeta'> {}

/** What happens to a container that ends with certain exit codes. */
export interface ContainerRestartRule extends KubeObject<'ContainerRestartRule'> {}

/** The resources of a container or pod spec; quantities in any valid format. */
export interface ResourceRequirementsInput extends KubeObject<'ResourceRequirements'> {}

/** A header of an HTTP probe or hook. */
export interface HTTPHeader extends KubeObject<'HTTPHeader'> {}

/** An HTTP request to the container. */
export interface HTTPGetAction extends KubeObject<'HTTPGetAction'> {}

/** One of the fields is set. */
export interface LifecycleHandler extends KubeObject<'LifecycleHandler'> {}

/** How a container is probed, and how often. */
export interface Probe extends KubeObject<'Probe'> {}

/** Where a volume of the pod is mounted in a container. */
export interface VolumeMount extends KubeObject<'VolumeMount'> {}

/** A container of a pod’s spec. */
export interface Container extends KubeObject<'Container'> {}

/** A container that was added to a running pod for debugging. */
export interface EphemeralContainer extends KubeObject<'EphemeralContainer'> {}

/** The spec of a pod. */
export interface PodSpec extends KubeObject<'PodSpec'> {}

/**
 * A pod as callers, pod managers and clients pass it. Every literal of client-node's `V1Pod` is one. Fields that this
 * library does not know are kept: cast it back to your own type (`pod as V1Pod`), but note that an informer and `createPodClient` have
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
