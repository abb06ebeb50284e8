import { describe, expect, it } from 'vitest';
import { type PendingResize, sortPendingResizes } from '../../../src/node/allocation/sort-pending-resizes.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';

interface Fields {
  readonly wants?: string;
  readonly priority?: number;
  readonly limits?: Readonly<Record<string, string>>;
  readonly since?: string | null;
}
function resizeOf(name: string, { wants = '2', priority, limits, since }: Fields): PendingResize {
  const podWith = (cpu: string): ValidPod => ({
    metadata: { name, namespace: 'ns', uid: name },
    spec: {
      ...(priority !== undefined && { priority }),
      containers: [{ name: 'app', resources: { requests: { cpu, memory: '1Gi' }, ...(limits && { limits }) } }],
    },
  });
  return { pod: podWith(wants), allocatedPod: podWith('1'), pendingSince: since };
}

/** In the order in which they are tried, whatever the order in which they are pending. */
const order: Readonly<Record<string, Fields>> = {
  shrinking: { wants: '500m', since: '2026-01-02T03:04:09Z' },
  'as before, but less important': { wants: '1000m', priority: -1 },
  important: { priority: 100 },
  guaranteed: { limits: { cpu: '2', memory: '1Gi' } },
  early: { since: '2026-01-02T03:04:05Z' },
  late: { since: '2026-01-02T03:04:06Z' },
  'never tried': {},
  unimportant: { priority: -100, since: '2026-01-02T03:04:04Z' },
};

describe('TestSortPendingResizes: by increase, priority, QoS class, and waiting time', () => {
  const names = Object.keys(order);
  const sorted = (list: readonly string[]): string[] =>
    sortPendingResizes(list.map((name) => resizeOf(name, order[name]!))).map(({ pod }) => pod.metadata.name);

  it.each(names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b] as const)))('%s before %s', (a, b) => {
    expect([sorted([a, b]), sorted([b, a])]).toEqual([
      [a, b],
      [a, b],
    ]);
  });

  it('all together', () => {
    expect(sorted(names.toReversed())).toEqual(names);
  });

  it('those that are equal stay in the order in which they came', () => {
    for (const fields of [{}, { since: null }, { since: '2026-01-02T03:04:05Z' }]) {
      const equal = ['a', 'b'].map((name) => resizeOf(name, fields));
      expect(sortPendingResizes(equal).map(({ pod }) => pod.metadata.name)).toEqual(['a', 'b']);
    }
  });
});
