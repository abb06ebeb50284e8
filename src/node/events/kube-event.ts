import type { EventType, ObjectReference } from './event-recorder.ts';
import type { Pod } from '../../kube/objects/types.ts';

/** An Event of the API. Source: `v1.Event`. */
export interface KubeEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly involvedObject: ObjectReference;
  readonly reason: string;
  readonly message: string;
  readonly type: EventType;
  readonly count: number;
  /** In whole seconds, like all times of an Event. */
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  readonly source: { readonly component?: string | undefined; readonly host?: string | undefined };
  readonly reportingComponent?: string | undefined;
  readonly reportingInstance?: string | undefined;
}

/** The strategic merge patch of an Event that happened again. */
export type KubeEventPatch = Pick<KubeEvent, 'count' | 'lastTimestamp' | 'message'>;

/** The fields that all keys have in common: source, object and field path. */
function sourceAndObject({ source, involvedObject: object }: KubeEvent): unknown[] {
  return [source.component, source.host, object.kind, object.namespace, object.name, object.uid, object.apiVersion];
}

/** Events with the same key are one Event with a count. Source: client-go `getEventKey`. */
export function eventKey(event: KubeEvent): string {
  const { involvedObject, type, reason, message } = event;
  return JSON.stringify([...sourceAndObject(event), involvedObject.fieldPath, type, reason, message]);
}

/** Events with the same key share a rate limit. Source: client-go `getSpamKey`. */
export function spamKey(event: KubeEvent): string {
  return JSON.stringify([...sourceAndObject(event), event.type]);
}

/** Events with the same key are similar: they differ only in their messages. Source: client-go `EventAggregatorByReasonFunc`. */
export function aggregateKey(event: KubeEvent): string {
  const { type, reason, reportingComponent, reportingInstance } = event;
  return JSON.stringify([...sourceAndObject(event), type, reason, reportingComponent, reportingInstance]);
}

const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const;

/**
 * A reference to the pod, or to one of its containers. A container that is not in the pod's spec
 * is marked as implicit. Source: kubelet `GenerateContainerRef`.
 */
export function podObjectReference({ metadata, spec }: Pod, container?: string): ObjectReference {
  const { name = '', namespace, uid, resourceVersion } = metadata ?? {};
  const list = containerLists.find((list) => spec?.[list]?.some((one) => one.name === container));
  const fieldPath = list === undefined ? `implicitly required container ${container}` : `spec.${list}{${container}}`;
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    namespace,
    name,
    uid,
    ...(resourceVersion && { resourceVersion }),
    ...(container === undefined ? {} : { fieldPath }),
  };
}

/** A reference to the Node; `uid` is absent until the agent knows it. Source: kubelet `nodeRefWithUID`. */
export function nodeReference(nodeName: string, uid: string | undefined): ObjectReference {
  return { kind: 'Node', apiVersion: 'v1', name: nodeName, uid };
}
