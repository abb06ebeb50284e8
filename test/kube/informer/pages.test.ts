import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInformerPodManager, type InformerPodManager } from '../../../src/kube/informer/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { FakeTransport } from './fake-transport.ts';
import { pod, recorder, recordingLogger } from './pods.ts';

let api: FakeTransport;
let clock: FakeClock;
let pods: InformerPodManager;
let listener: ReturnType<typeof recorder>;

beforeEach(() => {
  api = new FakeTransport();
  clock = new FakeClock();
  listener = recorder();
  pods = createInformerPodManager({
    client: { transport: api },
    nodeName: 'node-a',
    clock,
    random: () => 0,
    logger: recordingLogger(),
  });
  pods.subscribe(listener);
  pods.start();
});
afterEach(() => pods.stop());

const turn = (): Promise<void> => clock.yieldToEventLoop();
const fieldSelector = 'spec.nodeName=node-a';

function page(continueToken: string | undefined, items: readonly Pod[], resourceVersion = '10'): object {
  return { kind: 'PodList', metadata: { resourceVersion, ...(continueToken && { continue: continueToken }) }, items };
}

describe('a list that comes in pages', () => {
  it('is read to the last page before listeners are called, because pods of later pages would seem to be deleted', async () => {
    api.last(1).respond(page('one', [pod('a', '1')]));
    await turn();
    expect(api.last(2)).toMatchObject({ isWatch: false, query: { fieldSelector, limit: 500, continue: 'one' } });
    expect(api.last(2).query).not.toHaveProperty('resourceVersion');
    api.last(2).respond(page('two', [pod('b', '2')]));
    await turn();
    expect(listener.heard).toEqual([]);
    api.last(3).respond(page(undefined, [pod('c', '3')]));
    await pods.whenSynced();
    expect(listener.heard).toEqual(['+uid-a@1', '+uid-b@2', '+uid-c@3']);
    await turn();
    expect(api.last(4)).toMatchObject({ isWatch: true, query: { resourceVersion: '10' } });
  });

  it('is requested again in one response when the continue token has expired (410), immediately', async () => {
    api.last(1).respond(page('one', [pod('a', '1'), pod('gone', '1')]));
    await turn();
    api.last(2).refuse(410, { reason: 'Expired' });
    await turn();
    expect(api.last(3).query).toEqual({ fieldSelector });
    api.last(3).respond(page(undefined, [pod('a', '1')], '20'));
    await pods.whenSynced();
    expect(listener.heard).toEqual(['+uid-a@1']);
    await turn();
    expect(api.last(4).query).toMatchObject({ watch: true, resourceVersion: '20' });
  });

  it('is retried with back-off when its continue tokens keep expiring', async () => {
    for (let calls = 1; calls < 4; calls += 2) {
      api.last(calls).respond(page('one', [pod('a', '1')]));
      await turn();
      api.last(calls + 1).refuse(410);
      await turn();
    }
    api.last(4);
    clock.advance(800);
    await turn();
    expect(api.last(5).query).toMatchObject({ limit: 500 });
  });

  it('is started again after a page that failed, without the first page', async () => {
    api.last(1).respond(page('one', [pod('gone', '1')]));
    await turn();
    api.last(2).refuse(500);
    await turn();
    clock.advance(800);
    await turn();
    api.last(3).respond(page(undefined, [pod('a', '2')]));
    await pods.whenSynced();
    expect(listener.heard).toEqual(['+uid-a@2']);
  });

  it('that repeats its continue token is an invalid response', async () => {
    api.last(1).respond(page('one', []));
    await turn();
    api.last(2).respond(page('one', []));
    await turn();
    expect(api.calls).toHaveLength(2);
    clock.advance(800);
    await turn();
    expect(api.last(3).query).toEqual({ fieldSelector, limit: 500 });
  });

  it('that never ends is an invalid response after 1,000 pages, and is requested again with back-off', async () => {
    const answered = async (): Promise<number> => {
      const before = api.calls.length;
      for (let calls = before; api.calls.length === calls; calls += 1) {
        api.last(calls).respond(page(`token-${calls}`, [pod('a', '1')]));
        await turn();
      }
      return api.calls.length - before + 1;
    };
    expect(await answered()).toBe(1000);
    clock.advance(800);
    await turn();
    expect(api.last(1001).query).toEqual({ fieldSelector, limit: 500 });
  });

  it('has a deadline for each page', async () => {
    clock.advance(59_000);
    api.last(1).respond(page('one', []));
    await turn();
    clock.advance(59_999);
    await turn();
    expect(api.last(2).signal.aborted).toBe(false);
    clock.advance(1);
    await turn();
    expect(api.last(2).signal.aborted).toBe(true);
  });

  it('does not change the pods until it is complete', async () => {
    api.last(1).respond(page(undefined, [pod('a', '1'), pod('b', '1')]));
    await turn();
    clock.advance(60_000);
    api.last(2).open().event('ERROR', { code: 410 });
    await turn();
    api.last(3).respond(page('one', [pod('b', '2')]));
    await turn();
    expect(pods.getPods()).toHaveLength(2);
    api.last(4).respond(page(undefined, [], '20'));
    await turn();
    expect(listener.heard).toEqual(['+uid-a@1', '+uid-b@1', '-uid-a@1', '~uid-b@1>2']);
  });
});
