import type { Pod } from '../../kube/objects/types.ts';

/** Source: `v1.EventTypeNormal`, `v1.EventTypeWarning`. */
export type EventType = 'Normal' | 'Warning';

/** The object that an event is about. Source: `v1.ObjectReference`. */
export interface ObjectReference {
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  /** Absent for an object without namespace, for example a Node. */
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  /** The version of the object as the agent saw it; absent for a static pod and a Node. */
  readonly resourceVersion?: string | undefined;
  /** The part of the object: `spec.containers{app}`. */
  readonly fieldPath?: string | undefined;
}

interface RecordedEvent {
  readonly type: EventType;
  /** In CamelCase, for example `Started`, `Killing`, `BackOff`. Source: kubelet `pkg/kubelet/events`. */
  readonly reason: string;
  /** A human-readable description. */
  readonly message: string;
  /** Annotations of the Event. Source: client-go `AnnotatedEventf`. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Something that happened to a pod, or to one of its containers. */
export interface PodEvent extends RecordedEvent {
  readonly pod: Pod;
  /** The container's name. */
  readonly container?: string | undefined;
}

/** Something that happened to another object, for example the Node. */
export interface ObjectEvent extends RecordedEvent {
  readonly object: ObjectReference;
}

/**
 * Records Kubernetes Events for users. Returns immediately and must not throw; an event may be
 * dropped. Source: client-go `record.EventRecorder`.
 */
export interface EventRecorder {
  /** Records one Event. Does not throw and does not wait. */
  event(event: PodEvent | ObjectEvent): void;
}

/** Records events about pods; must not throw. For example an `EventRecorder`. */
export interface PodEventRecorder {
  /** Records one Event about a pod. Does not throw and does not wait. */
  event(event: PodEvent): void;
}
