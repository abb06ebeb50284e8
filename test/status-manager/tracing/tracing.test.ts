import { channel, type ChannelListener, tracingChannel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import {
  type AcceptedMessage,
  type RequestMessage,
  type SyncMessage,
  tracingChannelNames,
} from '../../../src/status-manager/index.ts';
import { SyncHarness, uidOf } from '../sync/sync-harness.ts';

interface Ended {
  readonly event: string;
  readonly message: SyncMessage | RequestMessage;
}

/** What is published while a test runs. */
class Published {
  readonly accepted: AcceptedMessage[] = [];
  readonly events: Ended[] = [];
  readonly #unsubscribe: (() => unknown)[] = [];

  constructor() {
    const onAccepted: ChannelListener = (message) => void this.accepted.push(message as AcceptedMessage);
    channel(tracingChannelNames.accepted).subscribe(onAccepted);
    this.#unsubscribe.push(() => channel(tracingChannelNames.accepted).unsubscribe(onAccepted));
    for (const name of ['sync', 'request'] as const) {
      const on =
        (event: string) =>
        (message: object): void =>
          void this.events.push({ event: `${name} ${event}`, message: message as SyncMessage });
      const subscribers = {
        start: on('start'),
        end: () => {},
        asyncStart: () => {},
        asyncEnd: on('end'),
        error: on('error'),
      };
      const traced = tracingChannel(tracingChannelNames[name]);
      traced.subscribe(subscribers);
      this.#unsubscribe.push(() => traced.unsubscribe(subscribers));
    }
  }

  get names(): string[] {
    return this.events.map(({ event, message }) => ('verb' in message ? `${event} ${message.verb}` : event));
  }

  syncs(): SyncMessage[] {
    return this.events.filter(({ event }) => event === 'sync end').map(({ message }) => message as SyncMessage);
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}

let published: Published;
beforeEach(() => void (published = new Published()));
afterEach(() => published.end());

describe('the tracing channels', () => {
  it('publish a change, its sync and its requests; the sync has the same object that was published for the change', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    h.set('a', '1');
    expect(published.accepted).toEqual([{ podUID: uidOf('a'), podNamespace: 'default', podName: 'a', version: 1 }]);
    await h.settle();
    expect(published.names).toEqual([
      'sync start',
      'request start get',
      'request end get',
      'request start patch',
      'request end patch',
      'sync end',
    ]);
    const [sync] = published.syncs();
    expect(sync).toMatchObject({ podUID: uidOf('a'), version: 1, outcome: 'written' });
    expect(sync!.accepted[0]).toBe(published.accepted[0]);
    const requests = published.events.map(({ message }) => message).filter((message) => 'verb' in message);
    expect(requests.every((request) => request.sync === sync)).toBe(true);
    await h.manager.stop();
  });

  it('a change during the GET is sent by the same sync, and a change during the PATCH by the next one', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const releaseGet = h.client.hold({ verb: 'get' }, 1);
    const releasePatch = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    releaseGet();
    await h.settle();
    h.set('a', '3');
    releasePatch();
    await h.settle();
    expect(published.syncs().map(({ accepted }) => accepted.map(({ version }) => version))).toEqual([[1, 2], [3]]);
    await h.manager.stop();
  });

  it('a sync that fails ends with its error, and the next one has the same changes', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, new APIError('500 InternalError', { kind: 'http', statusCode: 500 }), 1);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(1_000);
    expect(published.syncs()).toMatchObject([
      { outcome: 'failed', version: undefined, accepted: [{ version: 1 }] },
      { outcome: 'written', version: 1, accepted: [{ version: 1 }] },
    ]);
    expect(published.events.find(({ event }) => event === 'request error')!.message).toMatchObject({
      verb: 'patch',
      error: { name: 'APIError', message: '500 InternalError' },
    });
    await h.manager.stop();
  });

  it('keeps 32 changes of a pod at most, the oldest among them, and none of a pod that is gone', async () => {
    const h = new SyncHarness();
    h.addPods('a', 'b');
    for (let i = 0; i < 100; i++) h.set('a', String(i));
    h.set('b', '1');
    h.manager.removeOrphanedStatuses([uidOf('a')]);
    h.set('b', '2');
    h.manager.start();
    await h.settle();
    const [a, b] = published.syncs();
    expect(a!.accepted.map(({ version }) => version)).toEqual([1, ...Array.from({ length: 31 }, (_, i) => 70 + i)]);
    expect(b!.accepted).toHaveLength(1);
    await h.manager.stop();
  });

  it('a sync that was started by a tick has no changes', async () => {
    const h = new SyncHarness().informed();
    h.addPods('a');
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.client.put({ ...h.client.pod('default', 'a')!, status: { phase: 'Pending' } });
    h.observe('a');
    await h.clock.advanceAsync(10_000);
    expect(published.syncs().map(({ accepted }) => accepted.length)).toEqual([1, 0]);
    await h.manager.stop();
  });

  it('nothing is recorded without subscribers', async () => {
    published.end();
    const h = new SyncHarness();
    h.addPods('a');
    h.set('a', '1');
    const late = new Published();
    h.manager.start();
    await h.settle();
    late.end();
    expect(late.syncs()).toMatchObject([{ accepted: [], outcome: 'written' }]);
    await h.manager.stop();
  });
});
