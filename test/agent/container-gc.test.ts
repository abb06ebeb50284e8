import { beforeEach, describe, expect, it } from 'vitest';
import type { RuntimePod } from 'kubelet-status-manager/agent';
import {
  ContainerGC,
  type ContainerGCOptions,
  containersToDeleteInPod,
} from '../../src/agent/container-gc/container-gc.ts';
import type { RuntimeContainerState } from '../../src/node/runtime/runtime-pod-status.ts';
import { FakeClock, FakeContainerRuntime, recordingLogger } from 'kubelet-status-manager/testing';
import { asBounded } from '../support/as-bounded.ts';

const hourMs = 3_600_000;

/** Pod, container, when it was created (milliseconds after two hours ago), state, sandbox. */
type Run = readonly [pod: string, name: string, createdAt: number, state: RuntimeContainerState, sandbox?: string];
type Sandbox = readonly [pod: string, id: string, createdAt: number, ready: boolean];

let clock: FakeClock;
let runtime: FakeContainerRuntime;
let logger: ReturnType<typeof recordingLogger>;
let events: unknown[];
beforeEach(() => {
  events = [];
  clock = new FakeClock('2026-01-02T03:04:05Z');
  runtime = new FakeContainerRuntime({ clock });
  logger = recordingLogger();
});

const idOf = ([pod, name, createdAt]: Run): string => `fake://${pod}-${name}-${createdAt}`;
function put(runs: readonly Run[], sandboxes: readonly Sandbox[] = []): void {
  const startMs = clock.now() - 2 * hourMs;
  const pods = new Map<
    string,
    { containers: RuntimePod['containers'][number][]; sandboxes: NonNullable<RuntimePod['sandboxes']>[number][] }
  >();
  const podOf = (uid: string) => pods.get(uid) ?? pods.set(uid, { containers: [], sandboxes: [] }).get(uid)!;
  for (const run of runs) {
    const [pod, name, createdAt, state, sandboxID] = run;
    podOf(pod).containers.push({ id: idOf(run), name, state, sandboxID, createdAtMs: startMs + createdAt });
  }
  for (const [pod, id, createdAt, ready] of sandboxes)
    podOf(pod).sandboxes.push({ id, ready, createdAtMs: startMs + createdAt });
  for (const [uid, pod] of pods) runtime.put({ uid, name: uid, namespace: 'ns', ...pod });
}
const gone = { shouldPodContentBeRemoved: () => true, shouldPodRuntimeBeRemoved: () => true };
const gcOf = (options: Partial<ContainerGCOptions> = {}): ContainerGC =>
  new ContainerGC({
    runtime: asBounded(runtime),
    podStateProvider: {
      shouldPodContentBeRemoved: (uid) => uid.startsWith('deleted'),
      shouldPodRuntimeBeRemoved: (uid) => /^(deleted|ended)/.test(uid),
    },
    areSourcesReady: () => true,
    nodeName: 'node-a',
    eventRecorder: { event: (event) => void events.push(event) },
    clock,
    logger,
    ...options,
  });
const remaining = async () => {
  const pods = await runtime.listPods();
  return {
    containers: pods.flatMap(({ containers }) => containers.map(({ id }) => id)),
    sandboxes: pods.flatMap(({ sandboxes = [] }) => sandboxes.map(({ id }) => id)),
  };
};

describe('TestContainerGC', () => {
  const nowMs = 2 * hourMs;
  it.each<[string, readonly Run[], readonly number[], boolean]>([
    [
      'recently started containers should not be removed: they are, even if a clock that was set back shows them in the future',
      [
        ['foo', 'bar', nowMs + 3, 'exited'],
        ['foo', 'bar', nowMs + 2, 'exited'],
        ['foo', 'bar', nowMs + 1, 'exited'],
      ],
      [0],
      true,
    ],
    [
      'oldest containers should be removed when per pod container limit exceeded',
      [
        ['foo', 'bar', 2, 'exited'],
        ['foo', 'bar', 1, 'exited'],
        ['foo', 'bar', 0, 'exited'],
      ],
      [0],
      true,
    ],
    [
      'running containers should not be removed',
      [
        ['foo', 'bar', 2, 'exited'],
        ['foo', 'bar', 1, 'exited'],
        ['foo', 'bar', 0, 'running'],
      ],
      [0, 2],
      true,
    ],
    ['no containers should be removed when limits are not exceeded', [['foo', 'bar', 0, 'exited']], [0], true],
    [
      'max container count should apply per (UID, container) pair',
      [
        ...[2, 1, 0].map((at): Run => ['foo', 'bar', at, 'exited']),
        ...[2, 1, 0].map((at): Run => ['foo', 'baz', at, 'exited']),
        ...[2, 1, 0].map((at): Run => ['foo2', 'bar', at, 'exited']),
      ],
      [0, 3, 6],
      true,
    ],
    [
      'one container that has ended is kept, however young',
      [
        ['foo', 'bar', nowMs, 'exited'],
        ['foo', 'bar', 1, 'created'],
      ],
      [0],
      true,
    ],
    [
      'containers for deleted pods should be removed',
      [
        ['foo', 'bar', 1, 'exited'],
        ['foo', 'bar', 0, 'exited'],
        ['deleted', 'bar1', nowMs + 1, 'exited'],
        ['deleted', 'bar1', 1, 'exited'],
        ['deleted', 'bar1', 0, 'exited'],
      ],
      [0],
      true,
    ],
    [
      'containers for deleted pods may not be removed if allSourcesReady is set false',
      [['deleted', 'bar1', 0, 'exited']],
      [0],
      false,
    ],
  ])('%s', async (_, runs, remain, allSourcesReady) => {
    put(runs);
    await gcOf().garbageCollect(allSourcesReady);
    expect((await remaining()).containers.toSorted()).toEqual(remain.map((i) => idOf(runs[i]!)).toSorted());
  });

  it('the newest run, and the newest sandbox, are kept after the clock was set back', async () => {
    runtime.put({
      ...{ uid: 'foo', name: 'foo', namespace: 'ns' },
      containers: [
        { id: 'old', name: 'bar', state: 'exited', attempt: 1, createdAtMs: nowMs },
        { id: 'new', name: 'bar', state: 'exited', attempt: 2, createdAtMs: nowMs - hourMs },
      ],
      sandboxes: [
        { id: 'old-sandbox', ready: false, attempt: 1, createdAtMs: nowMs },
        { id: 'new-sandbox', ready: false, attempt: 2, createdAtMs: nowMs - hourMs },
      ],
    });
    await gcOf().cleanUpContainersInPod(
      'foo',
      { containers: (await runtime.getPod('foo'))!.containers, sandboxes: [] },
      'old',
    );
    expect((await remaining()).containers).toEqual(['new']);
    await gcOf().garbageCollect(true);
    expect(await remaining()).toEqual({ containers: ['new'], sandboxes: ['new-sandbox'] });
  });
});

describe('TestSandboxGC', () => {
  it.each<[string, readonly Sandbox[], readonly Run[], readonly string[]]>([
    [
      'notready sandboxes without containers for deleted pods should be garbage collected.',
      [['deleted', 's', 0, false]],
      [],
      [],
    ],
    [
      'ready sandboxes without containers for deleted pods should not be garbage collected.',
      [['deleted', 's', 0, true]],
      [],
      ['s'],
    ],
    [
      'sandboxes for existing pods should not be garbage collected.',
      [
        ['a', 's', 0, true],
        ['b', 't', 0, false],
      ],
      [],
      ['s', 't'],
    ],
    [
      'older exited sandboxes without containers for existing pods should be garbage collected if there are more than one exited sandboxes.',
      [
        ['a', 'new', 1, false],
        ['a', 'old', 0, false],
      ],
      [],
      ['new'],
    ],
    [
      'older exited sandboxes with containers for existing pods should not be garbage collected even if there are more than one exited sandboxes.',
      [
        ['a', 'new', 1, false],
        ['a', 'old', 0, false],
      ],
      [['a', 'bar', 0, 'exited', 'old']],
      ['new', 'old'],
    ],
    [
      'multiple sandboxes should be handled properly.',
      [
        ['a', 'running', 1, true],
        ['a', 'exited', 0, false],
        ['b', 'with-container', 1, false],
        ['b', 'without', 0, false],
        ['deleted', 'gone', 0, false],
      ],
      [['b', 'bar', 0, 'exited', 'with-container']],
      ['running', 'with-container'],
    ],
    [
      'the sandbox of a deleted pod goes together with its containers',
      [['deleted', 's', 0, false]],
      [['deleted', 'bar', 0, 'exited', 's']],
      [],
    ],
  ])('%s', async (_, sandboxes, runs, remain) => {
    put(runs, sandboxes);
    await gcOf().garbageCollect(true);
    expect((await remaining()).sandboxes.toSorted()).toEqual(remain.toSorted());
  });

  it('a runtime without sandboxes', async () => {
    runtime = new FakeContainerRuntime({ clock, sandboxes: false });
    put([['deleted', 'bar', 0, 'exited']]);
    await gcOf().garbageCollect(true);
    expect((await remaining()).containers).toEqual([]);
  });
});

describe('TestUnknownStateContainerGC', () => {
  it('is stopped before it is removed', async () => {
    put([
      ['foo', 'bar', 1, 'unknown'],
      ['foo', 'bar', 0, 'unknown'],
    ]);
    await gcOf().garbageCollect(true);
    expect(runtime.calls.map(({ method }) => method)).toEqual([
      'listPods',
      'stopContainer',
      'removeContainer',
      'listPods',
    ]);
  });
});

describe('deleteAllUnusedContainers', () => {
  const sandboxes: readonly Sandbox[] = [['ended', 'old', 0, false]];
  const runs: readonly Run[] = [
    ['ended', 'job', 1, 'exited'],
    ['ended', 'job', 0, 'exited'],
    ['running', 'app', 0, 'exited'],
    ['running', 'app', 1, 'running'],
    ['deleted', 'app', 0, 'exited'],
  ];
  it('removes all containers and sandboxes of pods that have ended, too; garbageCollect keeps the newest', async () => {
    put(runs, sandboxes);
    await gcOf().garbageCollect(true);
    const kept = ['fake://ended-job-1', 'fake://running-app-0', 'fake://running-app-1'];
    expect(await remaining()).toEqual({ containers: kept, sandboxes: ['old'] });
    await gcOf().deleteAllUnusedContainers();
    expect(await remaining()).toEqual({ containers: kept.slice(1), sandboxes: [] });
  });

  it('takes no pod for ended or gone until all sources have delivered their pods', async () => {
    put(runs);
    await gcOf({ areSourcesReady: () => false }).deleteAllUnusedContainers();
    expect((await remaining()).containers).toEqual(runs.map(idOf).filter((id) => id !== 'fake://ended-job-0'));
  });
});

describe('failures', () => {
  it('logs a container that cannot be removed, removes the others, and retries', async () => {
    put([
      ['deleted', 'a', 0, 'exited'],
      ['deleted', 'b', 0, 'exited'],
    ]);
    runtime.fail({ method: 'removeContainer', container: 'a' }, 'busy');
    const gc = gcOf();
    await gc.garbageCollect(true);
    expect((await remaining()).containers).toEqual(['fake://deleted-a-0']);
    expect(logger.warnings).toMatchObject([
      {
        message: 'Failed to remove a container or sandbox',
        fields: { podUID: 'deleted', id: 'fake://deleted-a-0', reason: 'busy' },
      },
    ]);
    await gc.garbageCollect(true);
    expect((await remaining()).containers).toEqual([]);
  });

  it('rejects when the runtime cannot list its pods', async () => {
    runtime.fail({ method: 'listPods' }, 'down');
    await expect(gcOf().garbageCollect(true)).rejects.toThrow('down');
  });

  it('each collection that fails is an Event of the Node, and one that succeeds or is stopped is none', async () => {
    const gc = gcOf();
    gc.start();
    runtime.fail({ method: 'listPods' }, 'down', 2);
    await clock.advanceAsync(120_000);
    const failed = {
      object: { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: undefined },
      ...{ type: 'Warning', reason: 'ContainerGCFailed', message: 'down' },
    };
    expect(events).toEqual([failed, failed]);
    await clock.advanceAsync(60_000);
    runtime.delay({ method: 'listPods' }, 1000);
    await clock.advanceAsync(60_000);
    await gc.stop();
    expect(events).toHaveLength(2);
  });
});

describe('the containers of one pod', () => {
  const runs: readonly Run[] = [
    ['foo', 'foo', 1, 'exited'],
    ['foo', 'bar', 2, 'exited'],
    ['foo', 'bar', 3, 'exited'],
    ['foo', 'bar', 4, 'exited'],
    ['foo', 'bar', 5, 'running'],
  ];
  const toDelete = (filter: string | undefined, containersToKeep: number): number[] => {
    put(runs);
    const { containers } = runtime.pod('foo')!;
    const ids = runs.map(idOf);
    return containersToDeleteInPod({ containers, sandboxes: [] }, filter, containersToKeep).map(({ id }) =>
      ids.indexOf(id),
    );
  };

  it.each([
    [0, [3, 2, 1]],
    [1, [2, 1]],
    [2, [1]],
  ])('TestGetContainersToDeleteInPodWithFilter: %i kept', (keep, expected) => {
    expect(toDelete('fake://foo-bar-4', keep)).toEqual(expected);
  });

  it.each([
    [0, [3, 2, 1, 0]],
    [1, [2, 1, 0]],
    [2, [1, 0]],
  ])('TestGetContainersToDeleteInPod: %i kept', (keep, expected) => {
    expect(toDelete(undefined, keep)).toEqual(expected);
  });

  it('TestGetContainersToDeleteInPodWithNoMatch', () => {
    expect(toDelete('fake://abc', 0)).toEqual([]);
  });

  it('after the death of a container one of its name is kept; of a pod that is gone, none', async () => {
    put(runs);
    const status = { containers: runtime.pod('foo')!.containers, sandboxes: [] };
    await gcOf().cleanUpContainersInPod('foo', status, 'fake://foo-bar-4');
    expect((await remaining()).containers).toEqual(['fake://foo-foo-1', 'fake://foo-bar-4', 'fake://foo-bar-5']);
    await gcOf({ podStateProvider: gone }).cleanUpContainersInPod('foo', status);
    expect((await remaining()).containers).toEqual(['fake://foo-bar-5']);
  });

  it('removes the newest run last, so that the final status shows its exit code', async () => {
    put(runs);
    const status = { containers: runtime.pod('foo')!.containers, sandboxes: [] };
    await gcOf({ podStateProvider: gone }).cleanUpContainersInPod('foo', status);
    expect(
      runtime.callsOf({ method: 'removeContainer', container: 'bar' }).map(({ containerID }) => containerID),
    ).toEqual(['fake://foo-bar-2', 'fake://foo-bar-3', 'fake://foo-bar-4']);
  });
});

it('removes what is left of pods whose content may be removed, once all sources are ready', async () => {
  const asked: boolean[] = [];
  const withLogs = Object.assign(runtime, {
    removePodContent: async (shouldPodContentBeRemoved: (podUID: string) => boolean) => {
      asked.push(shouldPodContentBeRemoved('deleted-1'), shouldPodContentBeRemoved('kept'));
    },
  });
  await gcOf({ runtime: asBounded(withLogs) }).garbageCollect(false);
  expect(asked).toEqual([]);
  await gcOf({ runtime: asBounded(withLogs) }).garbageCollect(true);
  expect(asked).toEqual([true, false]);
});
