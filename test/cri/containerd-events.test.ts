import { expect, it } from 'vitest';
import { subscribeToContainerd } from '../../src/cri/runtime-events.ts';
import type { CRIConnection, StreamCall, StreamListener } from '../../src/cri/cri-connection.ts';

/** A field of a message with this number, which is a text, bytes or a message. */
const field = (number: number, content: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
};
const idsOf = (containerID: string, id = ''): Buffer => Buffer.concat([field(1, containerID), field(2, id)]);

function subscribe() {
  const calls: [call: StreamCall, listener: StreamListener<object>][] = [];
  const client = { stream: (...parameters: [StreamCall, StreamListener<object>]) => void calls.push(parameters) };
  const events: unknown[] = [];
  const listener = { onMessage: (event: unknown) => events.push(event), onEnd: () => {} };
  subscribeToContainerd(client as object as CRIConnection, listener);
  const [[call, { onMessage }]] = calls as [[StreamCall, StreamListener<object>]];
  const toEvent = (envelope: object): unknown => {
    onMessage(envelope);
    return events.at(-1);
  };
  return { call, toEvent };
}

it('subscribes to the events of containers and their tasks, in the namespace of Kubernetes', () => {
  const { call } = subscribe();
  const filters = ['/tasks/start', '/tasks/exit', '/containers/create', '/containers/delete'].map(
    (topic) => `namespace==k8s.io,topic=="${topic}"`,
  );
  expect(call.path).toBe('/containerd.services.events.v1.Events/Subscribe');
  expect(call).toMatchObject({ request: { filters }, headers: { 'containerd-namespace': 'k8s.io' } });
  expect(call.requestCodec.encode(call.request)).toEqual(Buffer.concat(filters.map((filter) => field(1, filter))));
});

it('reads the messages of containerd', () => {
  const { call, toEvent } = subscribe();
  const any = Buffer.concat([field(1, 'containerd.events.TaskExit'), field(2, idsOf('c1', 'c1'))]);
  const bytes = Buffer.concat([field(2, 'k8s.io'), field(3, '/tasks/exit'), field(4, any)]);
  const envelope = call.responseCodec.decode(bytes);
  expect(envelope).toMatchObject({ namespace: 'k8s.io', topic: '/tasks/exit' });
  expect(toEvent(envelope as never)).toEqual({ type: 'stopped', id: 'c1' });
});

it.each([
  ['/tasks/start', 'started'],
  ['/tasks/exit', 'stopped'],
  ['/containers/create', 'created'],
  ['/containers/delete', 'deleted'],
])('%s: the container is %s', (topic, type) => {
  expect(subscribe().toEvent({ topic, event: { value: idsOf('c1') } })).toEqual({ type, id: 'c1' });
});

it('the exit of a process of exec is no event, and neither are other topics, and empty and damaged messages', () => {
  const { toEvent } = subscribe();
  expect(toEvent({ topic: '/tasks/exit', event: { value: idsOf('c1', 'exec-1') } })).toBeUndefined();
  expect(toEvent({ topic: '/tasks/exit', event: { value: idsOf('c1', 'c1') } })).toEqual({ type: 'stopped', id: 'c1' });
  // Only exits have the ID of a process.
  expect(toEvent({ topic: '/tasks/start', event: { value: idsOf('c1', 'x') } })).toEqual({ type: 'started', id: 'c1' });
  expect(toEvent({ topic: '/tasks/oom', event: { value: idsOf('c1') } })).toBeUndefined();
  // A wire type that does not exist.
  expect(toEvent({ topic: '/tasks/exit', event: { value: Buffer.from([0x7f]) } })).toBeUndefined();
  expect(toEvent({ topic: '/tasks/exit', event: null })).toBeUndefined();
});
