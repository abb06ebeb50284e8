import { describe, expect, it } from 'vitest';
import type { Json, WatchEvent, WatchStream } from '../../support/kube-http.ts';
import { expectFailure, expectOk, MERGE_PATCH, PODS_PATH, uniqueName } from '../pod-api.ts';
import type { ContractServer, ContractServerKind } from '../servers.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Watches of pods. Tests that take some seconds run in parallel. */
export function describeWatch(server: () => ContractServer, { isAsNewest }: ContractServerKind): void {
  const watch = (query: Record<string, string>): Promise<WatchStream> =>
    server().http.watch(`${PODS_PATH}?${new URLSearchParams({ watch: 'true', ...query }).toString()}`);
  const byRun = (run: string): { labelSelector: string } => ({ labelSelector: `run=${run}` });

  /** One pod with a unique label to select it. */
  async function createPod(): Promise<{ name: string; pod: Json }> {
    const name = uniqueName('watch');
    return { name, pod: await server().pods.create(name, { metadata: { labels: { run: name } } }) };
  }

  /** Waits until the watch cache, which answers for resourceVersion 0, has a pod. */
  async function untilCached({ metadata }: Json): Promise<void> {
    expectOk(await server().http.request('GET', `${PODS_PATH}?resourceVersion=${metadata.resourceVersion}`));
  }

  async function take(events: WatchStream, count: number): Promise<WatchEvent[]> {
    const taken: WatchEvent[] = [];
    while (taken.length < count) {
      const next = await events.next();
      if (next.done === true) throw new Error(`The watch ended after ${JSON.stringify(taken)}`);
      taken.push(next.value);
    }
    return taken;
  }

  async function readToEnd(events: WatchStream): Promise<WatchEvent[]> {
    const read: WatchEvent[] = [];
    for await (const event of events) read.push(event);
    return read;
  }

  const brief = ({ type, object }: WatchEvent): string => `${type} ${object.status?.phase ?? ''}`.trim();

  describe('watch', () => {
    it.for<[string, Record<string, string>]>([
      ['from resourceVersion 0', { resourceVersion: '0' }],
      ['without resourceVersion', {}],
    ])('%s starts with the existing objects and continues with changes', async ([, query]) => {
      const { name, pod } = await createPod();
      // If the watch cache does not have the new pod yet, the pod arrives as a change, which is also ADDED.
      const events = await watch({ ...byRun(name), ...query });
      expect(await take(events, 1)).toEqual([{ type: 'ADDED', object: pod }]);
      const patched = expectOk(await server().pods.patchStatus(name, { phase: 'Running' }));
      expect(await take(events, 1)).toEqual([{ type: 'MODIFIED', object: patched }]);
      events.close();
    });

    it('sends each change after its resourceVersion once, however late it is opened', async () => {
      const { name, pod } = await createPod();
      await server().pods.patchStatus(name, { phase: 'Running' });
      const events = await watch({ ...byRun(name), resourceVersion: pod.metadata.resourceVersion });
      await server().pods.patchStatus(name, { phase: 'Failed' });
      await server().pods.delete(name);
      // The removal is also preceded by a change: of the deletionTimestamp.
      expect((await take(events, 4)).map(brief)).toEqual([
        'MODIFIED Running',
        'MODIFIED Failed',
        'MODIFIED Failed',
        'DELETED Failed',
      ]);
      events.close();
    });

    it('sends no event for a PATCH that changes nothing', async () => {
      const { name, pod } = await createPod();
      const events = await watch({ ...byRun(name), resourceVersion: pod.metadata.resourceVersion });
      await server().pods.patchStatus(name, { phase: 'Pending' });
      await server().pods.patchStatus(name, { phase: 'Running' });
      expect((await take(events, 1)).map(brief)).toEqual(['MODIFIED Running']);
      events.close();
    });

    it('sends the start of a grace period as a change, and its end as a deletion with a newer resourceVersion', async () => {
      const { name, pod } = await createPod();
      const events = await watch({ ...byRun(name), resourceVersion: pod.metadata.resourceVersion });
      const deleting = expectOk(await server().pods.delete(name));
      await server().pods.delete(name, { gracePeriodSeconds: 0 });
      const told = await take(events, 3);
      expect(told.map(({ type }) => type)).toEqual(['MODIFIED', 'MODIFIED', 'DELETED']);
      expect(told[0]?.object).toEqual(deleting);
      expect(told[1]?.object.metadata.deletionGracePeriodSeconds).toBe(0);
      expect(Number(told[2]?.object.metadata.resourceVersion)).toBeGreaterThan(
        Number(told[1]?.object.metadata.resourceVersion),
      );
      events.close();
    });

    it('sends a deletion for an object that leaves the selection, and an addition for one that enters it', async () => {
      const { name, pod } = await createPod();
      const events = await watch({ ...byRun(name), resourceVersion: pod.metadata.resourceVersion });
      for (const run of ['other', name])
        await server().pods.patch(name, { metadata: { labels: { run } } }, MERGE_PATCH);
      expect((await take(events, 2)).map(({ type }) => type)).toEqual(['DELETED', 'ADDED']);
      events.close();

      const running = await watch({ ...byRun(name), fieldSelector: 'status.phase=Running' });
      await server().pods.patchStatus(name, { phase: 'Running' });
      await server().pods.patchStatus(name, { phase: 'Failed' });
      const told = await take(running, 2);
      // The deleted object is the selected one, with the resourceVersion of the change that left the selection.
      expect(told.map(brief)).toEqual(['ADDED Running', 'DELETED Running']);
      running.close();
    });
  });

  describe('watch with initial events', () => {
    it.for<[string, Record<string, string>]>([
      ['sendInitialEvents', { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }],
      [
        'sendInitialEvents at 0',
        { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', resourceVersion: '0' },
      ],
      ['bookmarks without resourceVersion', {}],
      ['bookmarks at 0', { resourceVersion: '0' }],
    ])('%s marks their end with a bookmark', async ([what, query], { skip }) => {
      const fact = what.startsWith('sendInitialEvents') ? 'watch-list' : 'initial-events-end';
      skip(!isAsNewest(fact), 'this version differs, see version-facts.ts');
      const { name, pod } = await createPod();
      await untilCached(pod);
      const events = await watch({ ...byRun(name), allowWatchBookmarks: 'true', ...query });
      const [added, bookmark] = await take(events, 2);
      expect(added).toEqual({ type: 'ADDED', object: pod });
      expect(bookmark).toMatchObject({
        type: 'BOOKMARK',
        object: { kind: 'Pod', apiVersion: 'v1', metadata: { annotations: { [INITIAL_EVENTS_END]: 'true' } } },
      });
      expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
        Number(pod.metadata.resourceVersion),
      );
      await server().pods.patchStatus(name, { phase: 'Running' });
      expect((await take(events, 1)).map(brief)).toEqual(['MODIFIED Running']);
      events.close();
    });

    it.skipIf(!isAsNewest('watch-list'))('sendInitialEvents=false sends none', async () => {
      const { name, pod } = await createPod();
      const { resourceVersion } = pod.metadata;
      const events = await watch({
        ...byRun(name),
        sendInitialEvents: 'false',
        resourceVersionMatch: 'NotOlderThan',
        resourceVersion,
      });
      await server().pods.patchStatus(name, { phase: 'Running' });
      expect((await take(events, 1)).map(brief)).toEqual(['MODIFIED Running']);
      events.close();
    });

    it.for<[string, Record<string, string>]>([
      ['sendInitialEvents without resourceVersionMatch', { sendInitialEvents: 'true' }],
      [
        'resourceVersionMatch without sendInitialEvents',
        { resourceVersionMatch: 'NotOlderThan', resourceVersion: '0' },
      ],
      [
        'sendInitialEvents with resourceVersionMatch=Exact',
        { sendInitialEvents: 'true', resourceVersionMatch: 'Exact', resourceVersion: '1' },
      ],
    ])('rejects %s with 422', async ([, query]) => {
      const response = await server().http.request(
        'GET',
        `${PODS_PATH}?${new URLSearchParams({ watch: 'true', timeoutSeconds: '1', ...query }).toString()}`,
      );
      expectFailure(response, 422, 'Invalid', { details: { group: 'meta.k8s.io', kind: 'ListOptions' } });
      expect(response.body.details.causes).toContainEqual(
        expect.objectContaining({ reason: 'FieldValueForbidden', field: 'resourceVersionMatch' }),
      );
    });
  });

  describe.concurrent('the end of a watch', () => {
    it('ends cleanly after timeoutSeconds', async () => {
      const { name } = await createPod();
      const events = await readToEnd(await watch({ ...byRun(name), resourceVersion: '0', timeoutSeconds: '1' }));
      expect(events.map(brief)).toEqual(['ADDED Pending']);
    });

    it.for([
      ['announced by a bookmark with the newest resourceVersion, if allowed', 'true', ['BOOKMARK']],
      ['not announced otherwise', 'false', []],
    ] as const)('is %s', async ([, allowWatchBookmarks, expected]) => {
      const { name, pod } = await createPod();
      const { resourceVersion } = pod.metadata;
      const events = await watch({ ...byRun(name), resourceVersion, allowWatchBookmarks, timeoutSeconds: '4' });
      const other = await createPod();
      const told = await readToEnd(events);
      expect([...new Set(told.map(({ type }) => type))]).toEqual(expected);
      for (const { object } of told) {
        expect(object).toMatchObject({ kind: 'Pod', apiVersion: 'v1' });
        expect(object.metadata.annotations).toBeUndefined();
        expect(Number(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
          Number(other.pod.metadata.resourceVersion),
        );
      }
    });
  });

  describe('a compacted history', () => {
    it('ends a watch from there with 410 Expired, as an event of a response with 200', async () => {
      const { name, pod } = await createPod();
      await server().pods.patchStatus(name, { phase: 'Running' });
      await server().forgetHistory();
      const events = await watch({
        ...byRun(name),
        resourceVersion: pod.metadata.resourceVersion,
        timeoutSeconds: '5',
      });
      expect(events.status).toBe(200);
      const told = await readToEnd(events);
      expect(told).toHaveLength(1);
      expect(told[0]).toMatchObject({
        type: 'ERROR',
        object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired' },
      });
      const list = expectOk(await server().http.request('GET', PODS_PATH));
      const again = await watch({ ...byRun(name), resourceVersion: list.metadata.resourceVersion });
      await server().pods.patchStatus(name, { phase: 'Failed' });
      expect((await take(again, 1)).map(brief)).toEqual(['MODIFIED Failed']);
      again.close();
    });
  });
}
