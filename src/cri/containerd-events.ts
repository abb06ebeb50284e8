import type { RuntimeEventType } from '../node/index.ts';
import type { CRIConnection, CRIStream, StreamListener } from './cri-connection.ts';
import { createCodecs } from './message-codec.ts';

/*
 * The events API of containerd, on its CRI socket: containerd 1.6 has no CRI events. Source: containerd
 * `api/services/events/v1`, `api/events`.
 */

const codecs = (): ReturnType<typeof createCodecs<'SubscribeRequest' | 'Envelope' | 'Any' | 'IDs'>> =>
  createCodecs({
    SubscribeRequest: { filters: [1, 'repeated string'] },
    Envelope: { namespace: [2, 'string'], topic: [3, 'string'], event: [4, 'Any'] },
    Any: { type_url: [1, 'string'], value: [2, 'bytes'] },
    // The fields that the events below share: a task's container, and the process of it that has ended.
    IDs: { container_id: [1, 'string'], id: [2, 'string'] },
  });

const typeOfTopic: Readonly<Record<string, RuntimeEventType>> = {
  '/tasks/start': 'started',
  '/tasks/exit': 'stopped',
  '/containers/create': 'created',
  '/containers/delete': 'deleted',
};

interface Envelope {
  readonly topic: string;
  readonly event: { readonly value: Uint8Array } | null;
}

/** What happened to a container or sandbox. */
export interface ContainerdEvent {
  readonly type: RuntimeEventType;
  readonly id: string;
}

/** Undefined for messages that are not about a container. */
export function subscribeToContainerd(
  client: Pick<CRIConnection, 'stream'>,
  { onMessage, onEnd }: StreamListener<ContainerdEvent | undefined>,
): CRIStream {
  const { SubscribeRequest, Envelope, IDs } = codecs();
  const topics = Object.keys(typeOfTopic)
    .map((topic) => `topic=="${topic}"`)
    .map((topic) => `namespace==k8s.io,${topic}`);
  const toEvent = ({ topic, event }: Envelope): ContainerdEvent | undefined => {
    const type = typeOfTopic[topic];
    if (type === undefined || event === null) return undefined;
    const { container_id: containerID, id } = IDs.decode(event.value) as { container_id: string; id: string };
    // A process of `exec` has an ID of its own.
    const isExec = topic === '/tasks/exit' && id !== '' && id !== containerID;
    return isExec ? undefined : { type, id: containerID };
  };
  return client.stream<Envelope>(
    {
      path: '/containerd.services.events.v1.Events/Subscribe',
      request: { filters: topics },
      requestCodec: SubscribeRequest,
      responseCodec: Envelope,
      headers: { 'containerd-namespace': 'k8s.io' },
    },
    { onMessage: (envelope) => onMessage(toEvent(envelope)), onEnd },
  );
}
