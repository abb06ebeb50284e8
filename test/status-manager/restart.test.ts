import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileJournal } from '../../src/status-manager/journal/file-journal.ts';
import { MemoryState } from '../../src/status-manager/allocation/memory-state.ts';
import type { Journal } from '../../src/status-manager/journal/journal.ts';
import { BasicPodManager, StatusManager, type StatusManagerOptions } from '../../src/status-manager/index.ts';
import { FakeClock, FakePodClient } from '../../src/testing/index.ts';
import type { Pod, PodStatusInput, ValidPod } from '../../src/kube/objects/types.ts';
import { TestDirectories } from '../support/directories.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';

const running: PodStatusInput = {
  phase: 'Running',
  startTime: '1999-12-31T00:00:00Z',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '1999-12-31T00:00:10Z' }],
  containerStatuses: [{ name: 'app', ready: true, state: { running: { startedAt: '1999-12-31T00:00:05Z' } } }],
};

function pod(uid: string, status: PodStatusInput = {}, metadata: Pod['metadata'] = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid, ...metadata },
    spec: { containers: [{ name: 'app' }] },
    status,
  };
}

function managerOn(
  server: FakePodClient,
  options: Partial<Omit<StatusManagerOptions, 'podManager'>> = {},
): StatusManager {
  return new StatusManager({
    client: server,
    podCouldHaveRunningContainers: () => false,
    clock: new FakeClock(),
    logger: recordingLogger(),
    ...options,
  });
}

describe('restart of the agent', () => {
  it('sends and reads nothing when the statuses equal those on the API server', async () => {
    const server = new FakePodClient([pod('a', running)]);
    const manager = managerOn(server);
    expect(manager.seed([pod('a', running)])).toBe(1);
    expect(manager.setPodStatus(pod('a', running), { ...running, startTime: null }).changed).toBe(false);
    expect((await manager.syncBatch(true)).tried).toBe(0);
    expect(server.actions).toEqual([]);
  });

  it('drops an outdated status of the journal, and not the allocation and the resize of its pod, which lives on', async () => {
    const allocationState = new MemoryState();
    const shown = {
      ...running,
      conditions: [
        { type: 'Ready', status: 'False', lastTransitionTime: '1999-12-31T10:00:00Z' },
        { type: 'PodResizePending', status: 'True', reason: 'Deferred' },
      ],
    };
    const resources = { requests: { cpu: '1' } };
    const server = new FakePodClient([pod('a', shown)]);
    await allocationState.setPodAllocation({
      ...(pod('a') as ValidPod),
      spec: { containers: [{ name: 'app', resources }] },
    });
    const recorded = {
      ...{ podUID: 'a', podNamespace: 'default', podName: 'web', podIsFinished: false },
      ...{ acceptedAt: '1999-12-31T09:00:00Z', status: { phase: 'Running' } },
    };
    const journal: Journal = { recovered: [recorded], accepted() {}, settled() {}, close: async () => {} };
    const manager = managerOn(server, { allocationState, journal });
    manager.seed([pod('a', shown)]);
    await manager.syncBatch(false);
    expect(manager.getPodStatus('a')).toBeUndefined();
    expect(allocationState.getContainerResourceAllocation('a', 'app')).toEqual(resources);
    expect(manager.isPodResizeDeferred('a')).toBe(true);
  });

  it('keeps the transition time of Ready, and sends the first change with one PATCH', async () => {
    const server = new FakePodClient([pod('a', running)]);
    const manager = managerOn(server);
    manager.seed([pod('a', running)]);
    manager.setPodStatus(pod('a', running), {
      ...running,
      message: 'changed',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    await manager.syncBatch(false);
    expect(server.actionsOf({ verb: 'patch' })).toHaveLength(1);
    expect(server.pod('default', 'web')?.status?.conditions?.[0]?.lastTransitionTime).toBe('1999-12-31T00:00:10Z');
  });

  it('skips cached pods, and pods without a phase', () => {
    const manager = managerOn(new FakePodClient());
    manager.setPodStatus(pod('a'), { phase: 'Pending' });
    expect(manager.seed([pod('a', running), pod('b')])).toBe(0);
    expect(manager.getPodStatus('a')?.phase).toBe('Pending');
  });

  it('inherits resize conditions too: without a call of backfillPodResizeConditions they were once dropped', () => {
    const manager = managerOn(new FakePodClient());
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible', message: 'too large' }];
    const { metadata } = pod('a');
    const resizing = { metadata, status: { ...running, conditions } };
    expect(manager.seed([resizing])).toBe(1);
    expect(manager.getPodResizeConditions(metadata!.uid!)).toMatchObject(conditions);
    // What the agent has set since is newer.
    manager.setPodResizePendingCondition(metadata!.uid!, 'Deferred', 'newer', 1);
    manager.seed([resizing]);
    expect(manager.getPodResizeConditions(metadata!.uid!)).toMatchObject([{ reason: 'Deferred', message: 'newer' }]);
  });

  it('seeds a static pod from its mirror', async () => {
    const staticPod = pod('static', {}, { annotations: { 'kubernetes.io/config.source': 'file' } });
    const mirror = pod('mirror', running, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const server = new FakePodClient([mirror]);
    const manager = managerOn(server);
    const { podManager } = manager as { podManager: { addPod?(added: Pod): void } };
    podManager.addPod?.(staticPod);
    podManager.addPod?.(mirror);
    manager.seed([mirror]);
    expect(manager.getPodStatus('static')?.phase).toBe('Running');
    expect((await manager.syncBatch(false)).tried).toBe(0);
  });

  it('finishes a terminal pod with a deletionTimestamp that it sees for the first time', async () => {
    const failed = pod('a', { phase: 'Failed' }, { deletionTimestamp: '1999-12-31T00:00:00Z' });
    const server = new FakePodClient([failed]);
    const manager = managerOn(server);
    manager.seed([failed]);
    manager.terminatePod(failed);
    await manager.syncBatch(false);
    expect(server.actions.map(({ verb }) => verb)).toContain('delete');
    expect(server.pod('default', 'web')).toBeUndefined();
  });
});

describe('journal', () => {
  const directories = new TestDirectories();
  let dir: string;
  beforeEach(() => {
    dir = directories.create();
  });
  afterEach(() => directories.removeAll());

  /** The journal of the next run: the one before it has been killed, or has closed its own. */
  function nextJournal(clock = new FakeClock()): Promise<Journal> {
    dir = directories.afterCrash(dir);
    return fileJournal(dir, { clock, logger: recordingLogger() });
  }

  const failed: PodStatusInput = {
    phase: 'Failed',
    startTime: '1999-12-31T00:00:00Z',
    containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 42, finishedAt: '1999-12-31T23:59:00Z' } } }],
  };

  /** An agent that accepts a status while the API server is down, and crashes. */
  async function crash(uid: string, status: PodStatusInput): Promise<void> {
    const server = new FakePodClient();
    server.fail({}, 500, Number.POSITIVE_INFINITY);
    const manager = managerOn(server, {
      journal: await nextJournal(),
    });
    manager.setPodStatus(pod(uid), status);
    await manager.syncBatch(false);
  }

  async function restart(server: FakePodClient): Promise<StatusManager> {
    return managerOn(server, {
      journal: await nextJournal(),
    });
  }

  it('sends statuses accepted before a crash, with an exit code recorded nowhere else', async () => {
    await crash('a', failed);
    const server = new FakePodClient([pod('a', running)]);
    const manager = await restart(server);
    expect(manager.getPodStatus('a')).toMatchObject({ phase: 'Failed' });
    expect((await manager.syncBatch(false)).tried).toBe(1);
    expect(server.pod('default', 'web')?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(42);
    await manager.stop();

    const third = await restart(new FakePodClient());
    expect(third.inspect().pods).toEqual([]);
    await third.stop();
  });

  it('caches it even without a client', async () => {
    const before = managerOn(new FakePodClient([pod('a')]), { journal: await nextJournal() });
    before.setPodStatus(pod('a'), running);
    const manager = managerOn(new FakePodClient(), { client: undefined, journal: await nextJournal() });
    expect(manager.getPodStatus('a')).toEqual(before.getPodStatus('a'));
    await manager.stop();
    await before.stop();
  });

  it('logs what it has recovered, such as a terminal phase of a pod whose processes still run', async () => {
    await crash('a', failed);
    const logger = recordingLogger();
    const manager = managerOn(new FakePodClient(), { journal: await nextJournal(), logger });
    const end = { phase: 'Failed', podIsFinished: false, acceptedAt: '2000-01-01T00:00:00Z' };
    expect(manager.recovered).toEqual([{ podUID: 'a', podNamespace: 'default', podName: 'web', ...end }]);
    expect(Object.isFrozen(manager.recovered)).toBe(true);
    expect(logger.warnings).toEqual([
      {
        level: 'warn',
        message: 'Recovered the unsent end of a pod: it must not run again',
        fields: { pod: 'default/web', podUID: 'a', ...end },
      },
    ]);
    await manager.stop();
  });

  it('logs at info what it has recovered of a pod that has not ended', async () => {
    await crash('a', running);
    const logger = recordingLogger();
    const manager = managerOn(new FakePodClient(), { journal: await nextJournal(), logger });
    expect(manager.recovered).toMatchObject([{ podUID: 'a', phase: 'Running' }]);
    expect(logger.lines).toMatchObject([{ level: 'info', message: 'Recovered an unsent status' }]);
    expect(manager.canPodRun(pod('a', running))).toBe(true);
    await manager.stop();
  });

  it('after a crash with an unsent Succeeded the pod object says Running: an agent that asks does not run the job again', async () => {
    await crash('a', { phase: 'Succeeded' });
    const server = new FakePodClient([pod('a', running)]);
    const manager = await restart(server);
    expect(manager.canPodRun(pod('a', running))).toBe(false);
    // A pod of the same name that was created since is another one.
    expect(manager.canPodRun(pod('b', running))).toBe(true);
    // Sent, and the watch still shows the old object.
    await manager.syncBatch(false);
    expect(manager.canPodRun(pod('a', running))).toBe(false);
    await manager.stop();
  });

  it('sends it without a call after start()', async () => {
    await crash('a', failed);
    const server = new FakePodClient([pod('a', running)]);
    const manager = await restart(server);
    const written = manager.whenWritten('a');
    manager.start();
    expect(await written).toEqual({ written: true, version: 1 });
    await manager.stop();
  });

  it('records a terminal phase that was held back, although the rest was written', async () => {
    const server = new FakePodClient([pod('a', running)]);
    const manager = managerOn(server, {
      podCouldHaveRunningContainers: () => true,
      journal: await nextJournal(),
    });
    manager.setPodStatus(pod('a'), { ...failed, reason: 'Evicted' });
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')?.status).toMatchObject({
      phase: 'Running',
      containerStatuses: [{ state: { terminated: { exitCode: 42 } } }],
    });

    const afterCrash = await restart(server);
    await afterCrash.syncBatch(false);
    expect(server.pod('default', 'web')?.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    await afterCrash.stop();
    const third = await restart(server);
    expect(third.inspect().pods).toEqual([]);
    await third.stop();
  });

  it('records a status that was set while an older one was being written', async () => {
    const server = new FakePodClient([pod('a', running)]);
    const manager = await restart(server);
    manager.setPodStatus(pod('a'), { ...running, message: 'older' });
    server.react({ verb: 'patch' }, () => void manager.setPodStatus(pod('a'), failed));
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')?.status).toMatchObject({ phase: 'Running', message: 'older' });

    const afterCrash = await restart(server);
    expect(afterCrash.getPodStatus('a')).toMatchObject({ phase: 'Failed' });
    await afterCrash.stop();
  });

  it('keeps the status of a static pod until the pod manager knows the pod', async () => {
    await crash('static', { ...running, message: 'kept' });
    const mirror = pod('mirror', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const server = new FakePodClient([mirror]);
    const podManager = new BasicPodManager();
    podManager.addPod(mirror);
    const manager = new StatusManager({
      client: server,
      podManager,
      podCouldHaveRunningContainers: () => false,
      clock: new FakeClock(),
      logger: recordingLogger(),
      journal: await nextJournal(),
    });
    await manager.syncBatch(false);
    expect(manager.getPodStatus('static')?.message).toBe('kept');
    podManager.addPod(pod('static', {}, { annotations: { 'kubernetes.io/config.source': 'file' } }));
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')?.status?.message).toBe('kept');
    await manager.stop();
  });

  it('never writes to a pod with another UID', async () => {
    await crash('a', failed);
    const server = new FakePodClient([pod('b', running)]);
    const manager = await restart(server);
    await manager.syncBatch(false);
    expect(server.actions.map(({ verb }) => verb)).toEqual(['get']);
    expect(manager.inspect().pods).toEqual([]);
    await manager.stop();
  });

  it.each<[string, PodStatusInput]>([
    ['a terminal phase', { ...running, phase: 'Succeeded' }],
    ['a later restart', { ...running, containerStatuses: [{ name: 'app', restartCount: 1, state: {} }] }],
    [
      'a later transition',
      { ...running, conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2000-01-01T00:00:01Z' }] },
    ],
    [
      'a later start',
      { ...running, containerStatuses: [{ name: 'app', state: { running: { startedAt: '2000-01-01T00:00:01Z' } } }] },
    ],
  ])('drops the recorded status when the API server shows %s', async (_newer, status) => {
    await crash('a', running);
    const server = new FakePodClient([pod('a', status)]);
    const manager = await restart(server);
    await manager.syncBatch(false);
    expect(server.actions.map(({ verb }) => verb)).toEqual(['get']);
    expect(manager.inspect().pods).toEqual([]);
    await manager.stop();
  });

  it('sends a due DELETE after the restart without another call of terminatePod', async () => {
    const server = new FakePodClient();
    const deleted = pod('a', running, { deletionTimestamp: '2026-01-02T03:04:05Z' });
    server.put(deleted);
    server.fail({ verb: 'delete' }, 503, 1);
    const before = managerOn(server, { journal: await nextJournal() });
    before.terminatePod(deleted);
    await before.syncBatch(false);
    expect(server.actionsOf({ verb: 'delete' })).toHaveLength(1);
    await before.stop();

    const manager = managerOn(server, { journal: await nextJournal() });
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')).toBeUndefined();
    await manager.stop();
    const journal = await nextJournal();
    expect(journal.recovered).toEqual([]);
    await journal.close();
  });

  it('that DELETE is sent although the PATCH before it made the pod unready after terminatePod was called', async () => {
    const server = new FakePodClient();
    const ready = { ...running, conditions: [{ type: 'Ready', status: 'True' }] };
    const deleted = pod('a', ready, { deletionTimestamp: '2026-01-02T03:04:05Z' });
    server.put(deleted);
    server.fail({ verb: 'delete' }, 503, 1);
    const clock = new FakeClock();
    const before = managerOn(server, { clock, journal: await nextJournal(clock) });
    before.terminatePod(deleted);
    clock.advance(2_000);
    await before.syncBatch(false);
    expect(server.pod('default', 'web')?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', lastTransitionTime: '2000-01-01T00:00:02Z' }),
    );

    const manager = await restart(server);
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')).toBeUndefined();
    await manager.stop();
    await before.stop();
  });

  it('keeps a restart with its exit code, although the node controller made the pod unready while the agent was down', async () => {
    const restarted: PodStatusInput = {
      ...running,
      containerStatuses: [{ name: 'app', restartCount: 1, lastState: { terminated: { exitCode: 42 } } }],
    };
    await crash('a', restarted);
    const server = new FakePodClient([
      pod('a', {
        ...running,
        conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2000-01-01T00:01:00Z' }],
      }),
    ]);
    const manager = await restart(server);
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')?.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 42 } },
    });
    await manager.stop();
  });

  it('keeps a termination with an earlier time than the start: the wall clock had jumped back', async () => {
    await crash('a', {
      ...failed,
      containerStatuses: [{ name: 'app', state: { terminated: { exitCode: 42, finishedAt: '1999-12-31T00:00:01Z' } } }],
    });
    const server = new FakePodClient([pod('a', running)]);
    const manager = await restart(server);
    await manager.syncBatch(false);
    expect(server.pod('default', 'web')?.status).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 42 } } }],
    });
    await manager.stop();
  });

  it('is current again when the agent sets the very same status', async () => {
    await crash('a', running);
    const server = new FakePodClient([
      pod('a', {
        ...running,
        conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2000-01-01T00:01:00Z' }],
      }),
    ]);
    const manager = await restart(server);
    expect(manager.setPodStatus(pod('a'), running).changed).toBe(false);
    const written = manager.whenWritten('a');
    await manager.syncBatch(false);
    expect(await written).toEqual({ written: true, version: 1 });
    await manager.stop();
  });

  it('a status that is set after the restart replaces the recorded one', async () => {
    await crash('a', { ...running, message: 'kept' });
    const server = new FakePodClient([pod('a')]);
    const manager = await restart(server);
    manager.setPodStatus(pod('a'), { ...running, message: 'new' });
    await manager.syncBatch(false);
    expect(server.actionsOf({ verb: 'patch' })).toHaveLength(1);
    expect(server.pod('default', 'web')?.status?.message).toBe('new');
    await manager.stop();
  });
});

describe('a pod whose API object has Ready twice', () => {
  const ready = (lastTransitionTime: string) => ({ type: 'Ready', status: 'True', lastTransitionTime });
  const twice: PodStatusInput = {
    ...running,
    conditions: [ready('1999-12-31T00:00:10Z'), ready('1999-12-31T00:00:20Z')],
  };

  it.each([
    ['terminated before anything was cached', () => {}],
    ['terminated after it was seeded', (manager: StatusManager) => void manager.seed([pod('a', twice)])],
  ])('%s: is not Ready on the API server once it has Failed, where one Ready=True remained', async (_, prepare) => {
    const server = new FakePodClient([pod('a', twice)]);
    const manager = managerOn(server);
    prepare(manager);
    const { status } = manager.terminatePod(pod('a', twice));
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready']);
    await manager.syncBatch(true);
    const shown = server.pod('default', 'web')?.status;
    expect(shown).toMatchObject({ phase: 'Failed' });
    expect(shown?.conditions?.filter(({ type }) => type === 'Ready')).toEqual([
      expect.objectContaining({ status: 'False', reason: 'PodFailed' }),
    ]);
  });
});
