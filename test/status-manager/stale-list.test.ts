import { describe, expect, it } from 'vitest';
import { APIError } from '../../src/kube/client/api-error.ts';
import { BasicPodManager } from '../../src/kube/pod-manager/basic-pod-manager.ts';
import type { Pod, PodStatusInput } from '../../src/kube/objects/types.ts';
import type { Journal } from '../../src/status-manager/journal/journal.ts';
import { StatusManager, type StatusManagerOptions } from '../../src/status-manager/index.ts';
import { FakeClock, FakePodClient, recordingLogger, settle } from '../../src/testing/index.ts';

/*
 * The first list after a restart may come from an API server whose watch cache lags: it has older
 * objects, and lacks the youngest pods.
 */

const syncPeriodMs = 10_000;
const running = (message: string): PodStatusInput => ({ phase: 'Running', message, startTime: '1999-12-31T00:00:00Z' });

function podOf(uid: string, resourceVersion: string | undefined, status: PodStatusInput, annotations = {}): Pod {
  const metadata = { name: 'web', namespace: 'default', uid, annotations, ...(resourceVersion && { resourceVersion }) };
  return { metadata, spec: { containers: [{ name: 'app' }] }, status };
}

class MemoryJournal implements Journal {
  readonly live: Map<string, string | undefined>;
  readonly recovered: Journal['recovered'];

  constructor(...recovered: Journal['recovered']) {
    this.recovered = recovered;
    this.live = new Map(recovered.map(({ podUID, status }) => [podUID, status.message]));
  }

  accepted({ podUID, status }: Journal['recovered'][number]): void {
    this.live.set(podUID, status.message);
  }

  settled(podUID: string): void {
    this.live.delete(podUID);
  }

  async close(): Promise<void> {}
}

const recordedOf = (podUID: string, status: PodStatusInput): Journal['recovered'][number] => ({
  ...{ podUID, podNamespace: 'default', podName: 'web', podIsFinished: false },
  ...{ acceptedAt: '2000-01-01T00:00:00Z', status: status as Journal['recovered'][number]['status'] },
});

function setup(onServer: readonly Pod[], options: Partial<StatusManagerOptions<BasicPodManager>> = {}) {
  const clock = new FakeClock('2000-01-01T00:01:00Z');
  const client = new FakePodClient(onServer, { clock });
  const podManager = new BasicPodManager();
  const logger = recordingLogger();
  const manager = new StatusManager({
    ...{
      client,
      podManager,
      clock,
      logger,
      syncPeriodMs,
      podDeletionSafety: { podCouldHaveRunningContainers: () => false },
    },
    ...options,
  });
  const periods = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await clock.advanceAsync(syncPeriodMs, () => settle(manager, client));
  };
  return { clock, client, podManager, manager, logger, periods, shown: () => client.pod('default', 'web')?.status };
}

const annotationsOfMirror = { 'kubernetes.io/config.mirror': 'x' };
const staticPod = podOf('static', undefined, {}, { 'kubernetes.io/config.source': 'file' });

describe('a status of an earlier run is never written over one that the API server got later', () => {
  const cases = ['always', 'when-stale'].flatMap((readBeforePatch) =>
    [false, true].flatMap((hasJournal) =>
      [false, true].flatMap((isMirror) =>
        [
          ['comparable', '1', '2'],
          ['opaque', 'x', 'y'],
          ['absent', undefined, undefined],
        ].map(([versions, before, now]) => ({ readBeforePatch, hasJournal, isMirror, versions, before, now })),
      ),
    ),
  ) as {
    readonly readBeforePatch: 'always' | 'when-stale';
    readonly hasJournal: boolean;
    readonly isMirror: boolean;
    readonly versions: string;
    readonly before: string | undefined;
    readonly now: string | undefined;
  }[];

  it.each(cases)(
    'readBeforePatch $readBeforePatch, journal: $hasJournal, mirror pod: $isMirror, resource versions $versions',
    async ({ readBeforePatch, hasJournal, isMirror, before, now }) => {
      const annotations = isMirror ? annotationsOfMirror : {};
      const older = podOf('a', before, running('older'), annotations);
      const newer = podOf('a', now, running('newer'), annotations);
      const journal = hasJournal ? new MemoryJournal() : undefined;
      const t = setup([newer], { readBeforePatch, ...(journal && { journal }) });
      t.podManager.setPods(isMirror ? [staticPod, older] : [older]);
      t.manager.resume({ pods: [older], otherPodUIDs: ['static'] });
      await t.periods(1);
      // The watch catches up.
      t.podManager.updatePod(newer);
      await t.periods(3);
      expect(t.client.actionsOf({ verb: 'patch' })).toEqual([]);
      expect(t.shown()).toEqual(newer.status);
      expect(t.manager.getPodStatus(isMirror ? 'static' : 'a')?.message).toBe('newer');
      const { length } = t.client.actions;
      await t.periods(3);
      expect(t.client.actions).toHaveLength(length);

      const own = isMirror ? staticPod : newer;
      t.manager.setPodStatus(own, running('of this run'));
      await t.periods(1);
      expect(t.shown()?.message).toBe('of this run');
      await t.manager.stop();
    },
  );

  it('although its last request is processed after a GET of this run has found no difference', async () => {
    const older = podOf('a', undefined, running('older'));
    const t = setup([older], { readBeforePatch: 'when-stale' });
    t.podManager.setPods([older]);
    t.manager.resume({ pods: [older] });
    t.podManager.updatePod(podOf('a', undefined, running('seen by the watch only')));
    await t.periods(1);
    expect(t.client.actions.map(({ verb }) => verb)).toEqual(['get']);
    const newer = podOf('a', undefined, running('newer'));
    t.client.put(newer);
    t.podManager.updatePod(newer);
    await t.periods(2);
    expect(t.client.actionsOf({ verb: 'patch' })).toEqual([]);
    expect(t.manager.getPodStatus('a')?.message).toBe('newer');
    await t.manager.stop();
  });

  it('a status that this run has set is written over a later one, also if it equals that of the list', async () => {
    const older = podOf('a', '1', running('older'));
    const newer = podOf('a', '2', running('newer'));
    const t = setup([newer]);
    t.podManager.setPods([older]);
    t.manager.resume({ pods: [older] });
    expect(t.manager.setPodStatus(older, running('older')).changed).toBe(false);
    t.podManager.updatePod(newer);
    await t.periods(1);
    expect(t.shown()?.message).toBe('older');
    await t.manager.stop();
  });

  const container = (restartCount: number) => ({
    ...{ name: 'app', restartCount, containerID: `x://${restartCount}`, image: 'i', imageID: '' },
    ...{ ready: false, state: { running: { startedAt: '1999-12-31T00:00:00Z' } } },
  });
  const withContainer = (version: string, restartCount: number): Pod =>
    podOf('a', version, { ...running(version), containerStatuses: [container(restartCount)] });

  it.each<[string, (manager: StatusManager) => string | undefined]>([
    ['setContainerReadiness', (manager) => manager.setContainerReadiness('a', 'x://0', true).ignored],
    ['setContainerStartup', (manager) => manager.setContainerStartup('a', 'x://0', true).ignored],
    [
      'setPodVolumeHealth',
      (manager) => manager.setPodVolumeHealth('a', 'data', [{ status: 'Degraded', reason: 'Slow' }]).ignored,
    ],
  ])('%s changes a part of a status that this run has set, as in the kubelet', async (_, call) => {
    const older = withContainer('1', 0);
    const t = setup([withContainer('2', 1)]);
    t.podManager.setPods([older]);
    t.manager.resume({ pods: [older] });
    expect(call(t.manager)).toBe('no-status');
    t.manager.setPodStatus(older, older.status!);
    expect(call(t.manager)).toBeUndefined();
    await t.manager.stop();
  });

  it('terminatePod ends what the API server shows, and not what the list had', async () => {
    const t = setup([withContainer('2', 1)]);
    t.podManager.setPods([withContainer('1', 0)]);
    t.manager.resume({ pods: t.podManager.getPods() });
    t.manager.terminatePod(withContainer('1', 0));
    await t.periods(2);
    expect(t.shown()).toMatchObject({
      ...{ phase: 'Failed', message: '2' },
      containerStatuses: [{ restartCount: 1, state: { terminated: { exitCode: 137 } } }],
    });
    expect(t.manager.getPodStatus('a')).toMatchObject({ phase: 'Failed', message: '2' });
    expect(t.client.actionsOf({ verb: 'patch' })).toHaveLength(1);
    await t.manager.stop();
  });

  it('getPodStatus returns the newest that the pod manager shows', async () => {
    const t = setup([]);
    t.podManager.setPods([withContainer('1', 0)]);
    t.manager.resume({ pods: t.podManager.getPods() });
    t.podManager.updatePod(withContainer('2', 1));
    expect(t.manager.getPodStatus('a')?.message).toBe('2');
    t.podManager.updatePod(withContainer('1', 0));
    expect(t.manager.getPodStatus('a')?.message).toBe('2');
    await t.manager.stop();
  });
});

describe('a recovered status is dropped only when it is certain that its pod is gone', () => {
  const recover = (onServer: readonly Pod[]) => {
    const journal = new MemoryJournal(recordedOf('a', running('recovered')));
    return { ...setup(onServer, { journal }), journal };
  };
  const forbidden = new APIError(
    'pods "web" is forbidden: User "system:node:n" cannot get resource "pods": no relationship found between node \'n\' and this object',
    { kind: 'http', statusCode: 403, reason: 'Forbidden' },
  );

  it('a first list that lacks the pod does not lose it', async () => {
    const t = recover([podOf('a', '1', {})]);
    t.manager.resume({ pods: [] });
    expect(t.journal.live.get('a')).toBe('recovered');
    await settle(t.clock, t.manager, t.client);
    expect(t.shown()?.message).toBe('recovered');
    expect(t.journal.live.size).toBe(0);
    await t.manager.stop();
  });

  it('once it is sent and its pod was shown, it is like every other status', async () => {
    const pod = podOf('a', '1', {});
    const t = recover([pod]);
    t.podManager.setPods([pod]);
    t.manager.resume({ pods: [pod] });
    await settle(t.clock, t.manager, t.client);
    t.podManager.setPods([]);
    t.manager.removeOrphanedStatuses([]);
    expect(t.manager.inspect().pods).toEqual([]);
    await t.manager.stop();
  });

  it('until the pod was shown, also when it is sent: each removal of orphans asks for its pod once, and it may not run', async () => {
    const behind = podOf('a', '1', running('before its end'));
    const end = recordedOf('a', { phase: 'Failed', message: 'recovered' });
    const journal = new MemoryJournal(end);
    const t = setup([behind], { journal });
    t.manager.resume({ pods: [] });
    await settle(t.clock, t.manager, t.client);
    expect(t.shown()?.phase).toBe('Failed');
    expect(t.manager.inspect().pods[0]).toMatchObject({ recoveredAt: undefined, sentAs: 'written' });
    for (const failures of [0, 1]) {
      const { length } = t.client.actions;
      t.client.fail({ verb: 'get' }, 500, failures);
      t.manager.removeOrphanedStatuses([]);
      await t.periods(3);
      expect(t.client.actions.slice(length).map(({ verb }) => verb)).toEqual(Array(failures + 1).fill('get'));
      expect(t.manager.canPodRun(behind)).toBe(false);
    }
    t.client.remove('default', 'web');
    t.manager.removeOrphanedStatuses([]);
    await t.periods(1);
    expect(t.manager.inspect().pods).toEqual([]);
    await t.manager.stop();
  });

  it('the end of a pod that no list has shown is recorded until its DELETE has succeeded', async () => {
    const pod = podOf('a', '1', running('before its end'));
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2000-01-01T00:00:30Z' } };
    const end = { ...recordedOf('a', { phase: 'Failed', message: 'recovered' }), podIsFinished: true };
    const journal = new MemoryJournal(end);
    const t = setup([deleted], { journal });
    t.client.fail({ verb: 'delete' }, 500, 1);
    t.manager.resume({ pods: [] });
    await settle(t.clock, t.manager, t.client);
    expect(t.client.actions.map(({ verb }) => verb)).toEqual(['get', 'patch', 'delete']);
    t.client.fail({ verb: 'delete' }, 500, 1);
    t.manager.removeOrphanedStatuses([]);
    expect(journal.live.get('a')).toBe('recovered');
    await settle(t.clock, t.manager, t.client);
    expect(t.manager.canPodRun(pod)).toBe(false);
    t.podManager.setPods([deleted]);
    await t.periods(3);
    expect(t.shown()).toBeUndefined();
    expect(journal.live.size).toBe(0);
    await t.manager.stop();
  });

  it.each<[string, Pod[]]>([
    ['the API server has no pod of the name', []],
    ['the API server has another pod of the name', [podOf('b', '1', running('of b'))]],
  ])('%s: it is dropped, with one GET', async (_, onServer) => {
    const t = recover(onServer);
    t.manager.resume({ pods: onServer });
    await settle(t.clock, t.manager, t.client);
    expect(t.client.actions.map(({ verb }) => verb)).toEqual(['get']);
    expect(t.journal.live.has('a')).toBe(false);
    expect(t.manager.getPodStatus('a')).toBeUndefined();
    await t.manager.stop();
  });

  it.each<[string, number | Error]>([
    ['500', 500],
    ['a 404 that is not of an API server', 404],
    ['403', forbidden],
  ])('%s is no proof: it stays, and is sent once the pod is shown', async (_, failure) => {
    const t = recover([podOf('a', '1', {})]);
    t.client.fail({ verb: 'get' }, failure, 2);
    t.manager.resume({ pods: [] });
    await t.periods(2);
    t.manager.removeOrphanedStatuses([]);
    await t.periods(30);
    expect(t.shown()?.message).toBe('recovered');
    await t.manager.stop();
  });

  it('a pod that the caller lists again is not an orphan any more', async () => {
    const t = recover([]);
    t.client.fail({ verb: 'get' }, 500, 1);
    t.manager.resume({ pods: [] });
    await settle(t.clock, t.manager, t.client);
    t.manager.removeOrphanedStatuses(['a']);
    await t.periods(3);
    expect(t.journal.live.get('a')).toBe('recovered');
    await t.manager.stop();
  });

  it("a node's user gets 403 for a pod that is gone: it is dropped once a list that is not stale lacks it", async () => {
    const t = recover([]);
    let isGone = false;
    Object.assign(t.podManager, { isGone: () => isGone });
    t.client.fail({ verb: 'get' }, forbidden, Number.POSITIVE_INFINITY);
    t.manager.resume({ pods: [] });
    await t.periods(70);
    expect(t.journal.live.get('a')).toBe('recovered');
    isGone = true;
    await t.periods(6);
    expect(t.journal.live.has('a')).toBe(false);
    await t.manager.stop();
  });

  it('without such lists, it is dropped after ten minutes, not earlier', async () => {
    const t = recover([]);
    t.client.fail({ verb: 'get' }, forbidden, Number.POSITIVE_INFINITY);
    t.manager.resume({ pods: [] });
    await t.periods(59);
    expect(t.journal.live.get('a')).toBe('recovered');
    await t.periods(10);
    expect(t.journal.live.has('a')).toBe(false);
    await t.manager.stop();
  });

  it('a status that this run has set in the meantime is not dropped with the recovered one', async () => {
    const t = recover([]);
    const release = t.client.hold({ verb: 'get' }, 1);
    t.manager.resume({ pods: [] });
    await settle(t.clock, t.manager, t.client);
    t.manager.setPodStatus(podOf('a', undefined, {}), running('of this run'));
    release();
    await settle(t.clock, t.manager, t.client);
    expect(t.manager.getPodStatus('a')?.message).toBe('of this run');
    await t.manager.stop();
  });
});
