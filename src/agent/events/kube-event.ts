import type { EventType, ObjectReference } from './event-recorder.ts';

/** An Event as the API server has it. Source: `v1.Event`. */
export interface KubeEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion?: string | undefined;
  };
  readonly involvedObject: ObjectReference;
  readonly reason: string;
  readonly message: string;
  readonly type: EventType;
  readonly count: number;
  /** Whole seconds, as all times of an Event. */
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  readonly source: { readonly component?: string | undefined; readonly host?: string | undefined };
  readonly reportingComponent?: string | undefined;
  readonly reportingInstance?: string | undefined;
}

/** The strategic merge patch of an Event that happened again. */
export type KubeEventPatch = Pick<KubeEvent, 'count' | 'lastTimestamp' | 'message'>;

/** Source, object and, for one part of an object, its field path; keys that differ in less are the same. */
function sourceAndObject({ source, involvedObject: object }: KubeEvent): unknown[] {
  return [source.component, source.host, object.kind, object.namespace, object.name, object.uid, object.apiVersion];
}

/** Events with the same key are one Event with a count. Source: client-go `getEventKey`. */
export function eventKey(event: KubeEvent): string {
  const { involvedObject, type, reason, message } = event;
  return JSON.stringify([...sourceAndObject(event), involvedObject.fieldPath, type, reason, message]);
}

/** Events with the same key share a rate. Source: client-go `getSpamKey`. */
export function spamKey(event: KubeEvent): string {
  return JSON.stringify(sourceAndObject(event));
}

/** Events with the same key are similar: they differ in their messages. Source: client-go `EventAggregatorByReasonFunc`. */
export function aggregateKey(event: KubeEvent): string {
  const { type, reason, reportingComponent, reportingInstance } = event;
  return JSON.stringify([...sourceAndObject(event), type, reason, reportingComponent, reportingInstance]);
}
