import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PodRecord } from '../../../src/status-manager/sync/pod-records.ts';
import { ReadyPods } from '../../../src/status-manager/sync/sync-queue.ts';

/** A queue of pods by UID. */
class Queue {
  readonly #queue = new ReadyPods();
  readonly #records = new Map<string, PodRecord>();

  get size(): number {
    return [...this.#records.values()].filter(({ readySinceMs }) => readySinceMs !== undefined).length;
  }

  add(uid: string, isUrgent: boolean, nowMs: number): void {
    this.#queue.add(this.#of(uid), isUrgent, nowMs);
  }

  sinceMs(uid: string): number | undefined {
    return this.#of(uid).readySinceMs;
  }

  take(): string | undefined {
    return this.#queue.take()?.uid;
  }

  remove(uid: string): void {
    this.#queue.remove(this.#of(uid));
  }

  #of(uid: string): PodRecord {
    const record = this.#records.get(uid) ?? new PodRecord(uid);
    this.#records.set(uid, record);
    return record;
  }
}

function takeAll(queue: Queue): string[] {
  const taken: string[] = [];
  for (let uid = queue.take(); uid !== undefined; uid = queue.take()) taken.push(uid);
  return taken;
}

describe('ReadyPods', () => {
  it('is first in, first out within a tier, urgent ones first', () => {
    const queue = new Queue();
    queue.add('a', false, 0);
    queue.add('u', true, 1);
    queue.add('b', false, 2);
    queue.add('v', true, 3);
    expect(queue.size).toBe(4);
    expect(takeAll(queue)).toEqual(['u', 'v', 'a', 'b']);
    expect(queue.size).toBe(0);
  });

  it('contains each pod once: a queued pod keeps its place, and moves up when it becomes urgent', () => {
    const queue = new Queue();
    queue.add('a', false, 0);
    queue.add('b', false, 1);
    queue.add('a', false, 2);
    queue.add('c', false, 3);
    queue.add('c', true, 4);
    queue.add('c', false, 5);
    queue.add('c', true, 6);
    expect(takeAll(queue)).toEqual(['c', 'a', 'b']);
  });

  it('knows since when each pod is ready: an earlier start stays, another tier starts again', () => {
    const queue = new Queue();
    queue.add('a', false, 1);
    queue.add('a', false, 2);
    expect(queue.sinceMs('a')).toBe(1);
    queue.add('a', true, 3);
    queue.add('a', true, 4);
    expect(queue.sinceMs('a')).toBe(3);
    expect(queue.sinceMs('b')).toBeUndefined();
  });

  it('does not let an aged routine pod go before the first urgent one', () => {
    const queue = new Queue();
    queue.add('a', false, 0);
    queue.add('u', true, 60_000);
    expect(takeAll(queue)).toEqual(['u', 'a']);
  });

  it('lets a routine pod take turns with urgent ones that came five seconds later', () => {
    const queue = new Queue();
    queue.add('a', false, 0);
    queue.add('early', true, 4_998);
    queue.add('almost', true, 4_999);
    queue.add('late', true, 5_000);
    expect(takeAll(queue)).toEqual(['early', 'almost', 'a', 'late']);
  });

  it('puts an urgent pod before a backlog that has aged', () => {
    const queue = new Queue();
    for (const uid of ['a', 'b', 'c']) queue.add(uid, false, 0);
    expect(queue.take()).toBe('a');
    for (const uid of ['u', 'v']) queue.add(uid, true, 60_000);
    expect(takeAll(queue)).toEqual(['u', 'b', 'v', 'c']);
  });

  it('does not contain a pod that was removed or taken', () => {
    const queue = new Queue();
    for (const uid of ['a', 'b', 'c']) queue.add(uid, uid === 'b', 0);
    queue.remove('b');
    queue.remove('b');
    expect(takeAll(queue)).toEqual(['a', 'c']);
    expect(['a', 'b', 'c'].map((uid) => queue.sinceMs(uid))).toEqual([undefined, undefined, undefined]);
    expect(queue.take()).toBeUndefined();
  });

  it('no two urgent pods in a row pass one that has waited five seconds longer', () => {
    const additions = fc.array(
      fc.record({ uid: fc.nat(30), isUrgent: fc.boolean(), afterMs: fc.nat(3_000), takes: fc.nat(2) }),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(additions, (list) => {
        const queue = new Queue();
        const since = new Map<string, number>();
        const urgent = new Set<string>();
        let now = 0;
        let hasPassed = false;
        const take = (): void => {
          const uid = queue.take();
          if (uid === undefined) return;
          const mine = since.get(uid)!;
          since.delete(uid);
          urgent.delete(uid);
          const passes = [...since.values()].some((other) => mine - other >= 5_000);
          expect(passes && hasPassed).toBe(false);
          hasPassed = passes;
        };
        for (const { uid, isUrgent, afterMs, takes } of list) {
          now += afterMs;
          const name = String(uid);
          // A pod that becomes urgent while it waits counts from then on.
          const size = queue.size;
          queue.add(name, isUrgent, now);
          if (queue.size > size || (isUrgent && !urgent.has(name))) since.set(name, now);
          if (isUrgent) urgent.add(name);
          for (let i = 0; i < takes; i++) take();
        }
        while (queue.size > 0) take();
        expect(since.size).toBe(0);
      }),
    );
  });
});
