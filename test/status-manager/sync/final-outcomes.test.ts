import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/kube/objects/types.ts';
import type { StatusOutcome } from '../../../src/status-manager/sync/status-outcome.ts';
import type { WrittenResult } from '../../../src/status-manager/sync/status-outcome.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

const deletionTimestamp = '2026-01-02T03:04:05Z';
const subject = { podUID: uidOf('a'), podNamespace: 'default', podName: 'a' };

/** The watch shows the pod's end: the agent forgets it, as the README's example does. */
function observeRemoval(h: SyncHarness, pod: Pod): void {
  h.podManager.removePod(pod);
  h.manager.removeOrphanedStatuses(h.podManager.getPods().map(({ metadata }) => metadata.uid));
}

describe('the watch shows DELETED before a response of ours arrives', () => {
  it.each(['delete', 'patch'] as const)(
    'to the %s: the final version of a terminated pod gets its outcome, and whenWritten settles',
    async (verb) => {
      const h = new SyncHarness();
      const pod = h.addPod(podOf('a', { deletionTimestamp }));
      const release = h.client.hold({ verb }, 1);
      h.manager.start();
      h.manager.terminatePod(pod);
      const written = h.manager.whenWritten(uidOf('a'));
      await h.settle();
      observeRemoval(h, pod);
      release();
      await h.settle();
      if (verb === 'delete') {
        expect(await written).toEqual({ written: true, version: 1 });
        expect(h.takeOutcomes()).toEqual(['written 1', 'deleted 1']);
      } else {
        expect(await written).toEqual({ written: false, reason: 'removed' });
        expect(h.takeOutcomes()).toEqual(['gone 1', 'deleted 1']);
      }
      await h.manager.stop();
    },
  );

  it('to the PATCH of a version that a newer one has replaced: both get an outcome', async () => {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    const release = h.client.hold({ verb: 'patch' }, 1);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    h.set('a', '2');
    observeRemoval(h, pod);
    release();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['gone 1', 'gone 2']);
    await h.manager.stop();
  });
});

it('a version whose PATCH fails while a newer one is set is superseded, not forgotten', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  const release = h.client.hold({ verb: 'patch' }, 1);
  h.client.fail({ verb: 'patch' }, 500);
  h.manager.start();
  h.set('a', '1');
  await h.settle();
  h.set('a', '2');
  release();
  await h.clock.advanceAsync(1_000);
  expect(h.takeOutcomes()).toEqual(['retried 1', 'superseded 1', 'written 2']);
  await h.manager.stop();
});

describe('while a rewrite of an undone version is in flight', () => {
  async function rewriteWhileANewerOneIsSet(
    isFailing = false,
  ): Promise<{ h: SyncHarness; pod: Pod; release: () => void }> {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a'));
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['written 1']);
    h.addPod(pod);
    const release = h.client.hold({ verb: 'patch' }, 1);
    if (isFailing) h.client.fail({ verb: 'patch' }, 500);
    await h.clock.advanceAsync(10_000);
    h.set('a', '2');
    return { h, pod, release };
  }

  it('a written version is never reported as superseded, when the rewrite fails and a newer version is set', async () => {
    const { h, release } = await rewriteWhileANewerOneIsSet(true);
    release();
    await h.clock.advanceAsync(1_000);
    expect(h.takeOutcomes()).toEqual(['retried 1', 'written 2']);
    await h.manager.stop();
  });

  it('a written version is never reported as gone, when the pod is removed', async () => {
    const { h, pod, release } = await rewriteWhileANewerOneIsSet();
    observeRemoval(h, pod);
    release();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['gone 2']);
    await h.manager.stop();
  });
});

it('a status that was set after a drop is superseded by the next, though a PATCH of the dropped one is under way', async () => {
  const h = new SyncHarness();
  h.addPods('a');
  const release = h.client.hold({ verb: 'patch' }, 1);
  h.manager.start();
  h.set('a', 'dropped');
  await h.settle();
  h.manager.removeOrphanedStatuses([]);
  h.set('a', 'first again');
  h.set('a', 'second');
  release();
  await h.settle();
  expect(h.takeOutcomes()).toEqual(['gone 1', 'superseded 1', 'written 2']);
  await h.manager.stop();
});

describe('a finalizer keeps the API object', () => {
  function terminate(): { h: SyncHarness; pod: Pod } {
    const h = new SyncHarness();
    const pod = h.addPod(podOf('a', { deletionTimestamp, finalizers: ['example.com/keep'] }));
    h.manager.start();
    h.manager.terminatePod(pod);
    return { h, pod };
  }

  it('the outcome is deletion-requested, and deleted once the pod manager no longer shows the pod', async () => {
    const { h, pod } = terminate();
    await h.settle();
    expect(h.outcomes).toEqual([
      { ...subject, version: 1, outcome: 'written' },
      { ...subject, version: 1, outcome: 'deletion-requested' },
    ]);
    await h.clock.advanceAsync(60_000);
    expect(h.outcomes).toHaveLength(2);
    observeRemoval(h, pod);
    await h.settle();
    expect(h.outcomes.slice(2)).toEqual([{ ...subject, version: 1, outcome: 'deleted' }]);
    await h.clock.advanceAsync(60_000);
    expect(h.outcomes).toHaveLength(3);
    await h.manager.stop();
  });

  it('the outcome is deleted if the pod manager shows the end of the object before the response to the DELETE', async () => {
    const { h, pod } = terminate();
    const release = h.client.hold({ verb: 'delete' }, 1);
    await h.settle();
    h.podManager.removePod(pod);
    release();
    await h.settle();
    expect(h.takeOutcomes()).toEqual(['written 1', 'deleted 1']);
    await h.manager.stop();
  });

  it('a tick reports deleted for an agent that does not call removeOrphanedStatuses', async () => {
    const { h, pod } = terminate();
    await h.settle();
    h.podManager.removePod(pod);
    await h.clock.advanceAsync(10_000);
    expect(h.takeOutcomes()).toEqual(['written 1', 'deletion-requested 1', 'deleted 1']);
    await h.manager.stop();
  });
});

const finalOutcomes: ReadonlySet<StatusOutcome['outcome']> = new Set(['written', 'unchanged', 'superseded', 'gone']);

const weights = {
  set: 6,
  turn: 5,
  holdPatch: 3,
  remove: 2,
  release: 2,
  terminate: 1,
  recreate: 1,
  deleteByUser: 1,
  observe: 1,
  undo: 1,
  holdGet: 1,
  holdDelete: 1,
  fail: 1,
  refuse: 1,
  tick: 1,
} as const;
const operation = fc.constantFrom(
  ...(Object.keys(weights) as (keyof typeof weights)[]).flatMap((op) => Array.from({ length: weights[op] }, () => op)),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** One pod under random operations, with all that is promised about the versions of its status. */
class OutcomeWorld {
  readonly h: SyncHarness;
  /** Each accepted version, in order, with the outcomes that it got. */
  readonly #accepted: { readonly name: string; readonly outcomes: string[] }[] = [];
  readonly waits: Promise<WrittenResult>[] = [];
  readonly #releases: (() => void)[] = [];
  #life = 1;
  #message = 0;

  constructor(readBeforePatch: 'always' | 'when-stale') {
    this.h = new SyncHarness({ readBeforePatch });
    this.h.manager.subscribe({
      onOutcome: ({ podUID, version, outcome }) => {
        if (finalOutcomes.has(outcome)) this.#accepted[this.#open(`${podUID} ${version}`)]?.outcomes.push(outcome);
      },
    });
    this.h.addPod(this.#pod());
    this.h.manager.start();
  }

  async perform(op: Operation): Promise<void> {
    const { h } = this;
    const uid = `a-${this.#life}`;
    const known = h.podManager.getPodByUID(uid);
    switch (op) {
      case 'set':
        return this.#note(uid, h.manager.setPodStatus(known ?? this.#pod(), this.#status()).changed);
      case 'terminate':
        return this.#note(uid, h.manager.terminatePod(known ?? this.#pod()).changed);
      case 'remove':
        if (known !== undefined) h.podManager.removePod(known);
        return h.manager.removeOrphanedStatuses([]);
      case 'recreate':
        this.#life++;
        return h.client.put(this.#pod());
      case 'deleteByUser': {
        const pod = h.client.pod('default', 'a');
        return pod && h.client.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
      }
      case 'observe':
        return h.observe('a');
      case 'undo':
        h.client.put(this.#pod());
        return h.observe('a');
      case 'holdGet':
      case 'holdPatch':
      case 'holdDelete': {
        const verb = op.slice('hold'.length).toLowerCase() as 'get' | 'patch' | 'delete';
        return void this.#releases.push(h.client.hold({ verb }, 1));
      }
      case 'release':
        return this.#releases.shift()?.();
      case 'fail':
        return h.client.fail({}, 500);
      case 'refuse':
        return h.client.fail({ verb: 'patch' }, 422);
      case 'turn':
        return h.settle();
      default:
        return h.clock.advanceAsync(10_000);
    }
  }

  /** Lets everything come to its end; what nobody wants any more is removed. */
  async end(): Promise<void> {
    for (const release of this.#releases) release();
    await this.h.clock.advanceAsync(1_200_000);
    this.h.manager.removeOrphanedStatuses([]);
    await this.h.settle();
  }

  /** Versions without exactly one final outcome. */
  violations(): string[] {
    return this.#accepted
      .filter(({ outcomes }) => outcomes.length !== 1)
      .map(({ name, outcomes }) => `${name}: ${outcomes.join(', ')}`);
  }

  #pod(): Pod {
    const pod = podOf('a', { uid: `a-${this.#life}` });
    return { ...pod, status: { phase: 'Pending' } };
  }

  #status() {
    return { phase: 'Running', message: String(this.#message++) } as const;
  }

  #note(uid: string, changed: boolean): void {
    if (!changed) return;
    const { version } = this.h.manager.inspect().pods.find(({ podUID }) => podUID === uid)!;
    this.#accepted.push({ name: `${uid} ${version}`, outcomes: [] });
    this.waits.push(this.h.manager.whenWritten(uid));
  }

  /** The first of this name that is still open: outcomes come in order of acceptance. */
  #open(name: string): number {
    const open = this.#accepted.findIndex((each) => each.name === name && each.outcomes.length === 0);
    if (open >= 0) return open;
    return this.#accepted.findLastIndex((each) => each.name === name);
  }
}

it('each accepted version gets exactly one final outcome, and each whenWritten settles, whatever happens in which order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('always' as const, 'when-stale' as const),
      fc.array(operation, { maxLength: 40 }),
      async (readBeforePatch, operations) => {
        const world = new OutcomeWorld(readBeforePatch);
        for (const op of operations) await world.perform(op);
        await world.end();
        expect(world.violations()).toEqual([]);
        const pending = Symbol('pending');
        for (const wait of world.waits) expect(await Promise.race([wait, Promise.resolve(pending)])).not.toBe(pending);
        await world.h.manager.stop();
      },
    ),
    // In the example, statuses are set between the moments at which a PATCH is planned, permitted and sent.
    { numRuns: 400, examples: [['when-stale', ['set', 'turn', 'set', 'set', 'set', 'set']]] },
  );
});
