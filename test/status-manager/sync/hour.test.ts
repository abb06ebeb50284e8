import { describe, expect, it } from 'vitest';
import type { StatusManagerOptions } from '../../../src/status-manager/options.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { conditions, podOf, SyncHarness, uidOf } from './sync-harness.ts';

const halfTickMs = 5_000;
const ticks = 360;
const deletionTimestamp = '2026-01-02T03:04:05Z';

interface Scenario {
  readonly name: string;
  readonly prepare: (h: SyncHarness) => void;
  /** Between two full batches. */
  readonly eachTick?: (h: SyncHarness, tick: number) => void;
  readonly ours: Readonly<Record<'get' | 'patch' | 'delete', number>>;
  /** By its rules: a batch after each change, a full one every ten seconds, no back-off. */
  readonly kubelet: Readonly<Record<'get' | 'patch' | 'delete', number>>;
}

async function runHour(h: SyncHarness, { prepare, eachTick }: Scenario, batch?: (all: boolean) => Promise<unknown>) {
  prepare(h);
  if (batch === undefined) h.manager.start();
  for (let tick = 0; tick < ticks; tick++) {
    if (h.manager.inspect().isWakeUpWaiting) await batch?.(false);
    await h.clock.advanceAsync(halfTickMs);
    eachTick?.(h, tick);
    if (h.manager.inspect().isWakeUpWaiting) await batch?.(false);
    await h.clock.advanceAsync(halfTickMs);
    await batch?.(true);
  }
  const requests = { get: h.count('get'), patch: h.count('patch'), delete: h.count('delete') };
  await h.manager.stop();
  return requests;
}

function change(h: SyncHarness, status: (old: NonNullable<Pod['status']>) => Pod['status']): void {
  const pod = h.client.pod('default', 'a')!;
  h.client.put({ ...pod, status: status(pod.status!) });
  h.observe('a');
}

const finalized = podOf('a', { deletionTimestamp, finalizers: ['example.com/keep'] });

/** Our requests are those of the table in docs/parity.md. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a pod at rest',
    prepare(h) {
      h.informed().addPods('a');
      h.set('a', '1', { conditions: conditions.ready });
    },
    ours: { get: 1, patch: 1, delete: 0 },
    kubelet: { get: 1, patch: 1, delete: 0 },
  },
  {
    name: 'an orphaned pod (404)',
    prepare: (h) => h.set('a', '1'),
    ours: { get: 15, patch: 0, delete: 0 },
    kubelet: { get: 361, patch: 0, delete: 0 },
  },
  {
    name: 'an orphaned pod that is updated every ten seconds',
    prepare: (h) => h.set('a', '1'),
    eachTick: (h, tick) => h.set('a', `update ${tick}`),
    ours: { get: 15, patch: 0, delete: 0 },
    kubelet: { get: 721, patch: 0, delete: 0 },
  },
  {
    name: 'an orphaned pod for a node user (403)',
    prepare(h) {
      h.client.fail({ verb: 'get' }, 403, Number.POSITIVE_INFINITY);
      h.set('a', '1');
    },
    ours: { get: 65, patch: 0, delete: 0 },
    kubelet: { get: 361, patch: 0, delete: 0 },
  },
  {
    name: 'a terminated pod whose deletion is refused (403)',
    prepare(h) {
      h.informed();
      const pod = h.addPod(podOf('a', { deletionTimestamp }));
      h.client.fail({ verb: 'delete' }, 403, Number.POSITIVE_INFINITY);
      h.manager.terminatePod(pod);
    },
    ours: { get: 17, patch: 1, delete: 17 },
    kubelet: { get: 361, patch: 1, delete: 361 },
  },
  {
    name: 'the same, with a cached Ready of True',
    prepare(h) {
      h.informed();
      const pod = h.addPod(podOf('a', { deletionTimestamp }));
      h.set('a', '1', { conditions: conditions.ready });
      h.client.fail({ verb: 'delete' }, 403, Number.POSITIVE_INFINITY);
      h.manager.terminatePod(pod);
    },
    // Each merge makes Ready False now, as in the kubelet, whose pod worker sets a terminal status first.
    ours: { get: 17, patch: 17, delete: 17 },
    kubelet: { get: 361, patch: 361, delete: 361 },
  },
  {
    name: 'a pod that is terminated while its cached Ready is True is patched at every second tick only',
    prepare(h) {
      h.informed().addPods('a');
      h.set('a', '1', { conditions: conditions.ready });
      h.manager.terminatePod(h.podManager.getPodByUID(uidOf('a'))!);
    },
    ours: { get: 182, patch: 182, delete: 0 },
    kubelet: { get: 361, patch: 361, delete: 0 },
  },
  {
    name: 'a terminated pod that a finalizer keeps',
    prepare(h) {
      h.informed().addPod(finalized);
      h.manager.terminatePod(finalized);
    },
    ours: { get: 1, patch: 1, delete: 1 },
    kubelet: { get: 1, patch: 1, delete: 1 },
  },
  {
    name: 'the same, reported as terminated again every minute',
    prepare(h) {
      h.informed().addPod(finalized);
      h.manager.terminatePod(finalized);
    },
    eachTick(h, tick) {
      if (tick % 6 === 5) h.manager.terminatePod(h.podManager.getPodByUID(uidOf('a'))!);
    },
    ours: { get: 61, patch: 1, delete: 61 },
    kubelet: { get: 61, patch: 1, delete: 61 },
  },
  {
    name: 'a webhook that strips a field',
    prepare(h) {
      h.addPods('a');
      const strip = (): void => change(h, ({ message: _message, ...status }) => status);
      h.client.react({ verb: 'patch' }, () => strip, Number.POSITIVE_INFINITY);
      h.set('a', 'stripped');
    },
    ours: { get: 182, patch: 182, delete: 0 },
    kubelet: { get: 361, patch: 361, delete: 0 },
  },
  {
    name: 'somebody else who writes Ready every ten seconds',
    prepare(h) {
      h.informed().addPods('a');
      h.set('a', '1', { conditions: conditions.ready });
    },
    eachTick: (h) =>
      change(h, (status) => ({
        ...status,
        conditions: status.conditions!.map((condition) => ({ ...condition, status: 'False' })),
      })),
    ours: { get: 182, patch: 182, delete: 0 },
    kubelet: { get: 361, patch: 361, delete: 0 },
  },
  {
    name: 'a status that is refused (422)',
    prepare(h) {
      h.addPods('a');
      h.client.fail({ verb: 'patch' }, 422, Number.POSITIVE_INFINITY);
      h.set('a', '1');
    },
    ours: { get: 17, patch: 17, delete: 0 },
    kubelet: { get: 361, patch: 361, delete: 0 },
  },
];

describe('requests in an hour on the fake clock', () => {
  it.each(scenarios)('$name: ours', async (scenario) => {
    expect(await runHour(new SyncHarness(), scenario)).toEqual(scenario.ours);
  });

  it.each(scenarios)('$name: by the kubelet’s rules', async (scenario) => {
    const h = new SyncHarness();
    expect(await runHour(h, scenario, (all) => h.manager.syncBatch(all))).toEqual(scenario.kubelet);
  });

  const variants: readonly Partial<StatusManagerOptions>[] = [
    { readBeforePatch: 'when-stale' },
    { patchStrategy: 'json-patch' },
    { readBeforePatch: 'when-stale', patchStrategy: 'json-patch', concurrency: 1 },
    { random: () => 0.999 },
  ];
  it.each(variants.flatMap((options) => scenarios.map((scenario) => ({ ...scenario, options }))))(
    '$name: never much more, with $options',
    async ({ options, ...scenario }) => {
      const { get, patch, ...requests } = await runHour(new SyncHarness(options), scenario);
      expect(requests.delete).toBeLessThanOrEqual(1.25 * scenario.ours.delete);
      expect(get + patch).toBeLessThanOrEqual(1.25 * (scenario.ours.get + scenario.ours.patch) + 2);
    },
  );

  it('many orphaned pods at the same time do not cause more requests per pod', async () => {
    let last = 0;
    const h = new SyncHarness({ random: () => (last = (last + 0.377) % 1) });
    const prepare = (): void => {
      for (let i = 0; i < 100; i++) h.set(`p${i}`, '1');
    };
    const { get } = await runHour(h, { ...scenarios[1]!, prepare });
    expect(get).toBeGreaterThanOrEqual(1_500);
    expect(get).toBeLessThanOrEqual(1_800);
  });
});
