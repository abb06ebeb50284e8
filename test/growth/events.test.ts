import { expect, it } from 'vitest';
import type { ContainerRuntime, RuntimePod } from 'kubelet-status-manager/agent';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import type { ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { GenericPLEG } from '../../src/agent/pleg/generic-pleg.ts';
import { RuntimePodCache } from '../../src/agent/pleg/runtime-pod-cache.ts';
import { ProviderPodLister } from '../../src/virtual-nodes/calls/provider-pod-lister.ts';
import { SyncHarness } from '../status-manager/sync/sync-harness.ts';
import { asBounded } from '../support/as-bounded.ts';
import { shortestMs } from './growth.ts';

interface Node {
  /** Lets one event happen, and resolves when it has been handled. */
  event(): Promise<void>;
  /** What was asked of others since the last call. */
  takeCalls(): readonly string[];
  stop(): Promise<unknown>;
}

const few = 100;
const factor = 100;
/** Of the times for an event with `factor` times as many pods. Work for each pod would have `factor`. */
const maxRatio = 3;
const events = 100;

async function syncEngine(pods: number): Promise<Node> {
  const h = new SyncHarness({ syncPeriodMs: 3_600_000, logger: silentLogger });
  h.addPods(...Array.from({ length: pods }, (_, i) => `p${i}`));
  h.manager.start();
  for (let i = 0; i < pods; i += 1) h.set(`p${i}`, '0');
  await h.settle();
  h.takeRequests();
  let message = 0;
  return {
    async event() {
      h.set('p0', String((message += 1)));
      await h.settle();
    },
    takeCalls: () => h.takeRequests(),
    stop: () => h.manager.stop(),
  };
}

const runtimePod = (i: number, exited = false): RuntimePod => ({
  ...{ uid: `u${i}`, name: `p${i}`, namespace: 'default' },
  containers: [{ id: `c${i}`, name: 'app', state: exited ? 'exited' : 'running', createdAtMs: 0 }],
});

async function pleg(pods: number): Promise<Node> {
  const calls: string[] = [];
  const shown = Array.from({ length: pods }, (_, i) => runtimePod(i));
  let emit: Parameters<NonNullable<ContainerRuntime['subscribe']>>[0] = () => {};
  const clock = new FakeClock();
  const relists = new GenericPLEG({
    ...{ clock, logger: silentLogger, cache: new RuntimePodCache({ runPodSandbox: async () => 'sandbox' }) },
    onEvent: ({ podUID, type }) => calls.push(`${type} ${podUID}`),
    runtime: asBounded({
      listPods: async () => shown,
      getPod: async (uid: string) => {
        calls.push(`getPod ${uid}`);
        return shown[Number(uid.slice(1))];
      },
      subscribe: (listener: typeof emit) => {
        emit = listener;
        return () => {};
      },
    }),
  });
  relists.start();
  await clock.advanceAsync(0);
  calls.length = 0;
  return {
    async event() {
      shown[0] = runtimePod(0, shown[0]!.containers[0]!.state === 'running');
      emit({ podUID: 'u0', containerID: 'c0', type: 'stopped' });
      await clock.advanceAsync(0);
    },
    takeCalls: () => calls.splice(0),
    stop: () => relists.stop(),
  };
}

/** A node with ten pods among many nodes. */
async function providerPodLister(pods: number): Promise<Node> {
  const calls: string[] = [];
  const podOf = (i: number): ProviderPod => ({
    ...{ uid: `u${i}`, name: `p${i}`, namespace: 'default' },
    ...{ nodeName: `n${Math.floor(i / 10)}`, state: 'running' },
  });
  let notify: (pod: ProviderPod) => void = () => {};
  const clock = new FakeClock();
  const lister = new ProviderPodLister({
    ...{ clock, logger: silentLogger, listPeriodMs: 60_000 },
    provider: { notifyPods: (listener) => void (notify = listener) as never },
    calls: { bounded: async () => Array.from({ length: pods }, (_, i) => podOf(i)) as never },
  });
  for (let i = 0; i < pods / 10; i += 1)
    lister.subscribe(`n${i}`, {
      replace: (listed) => {
        calls.push(`${listed.length} of n${i}`);
        return [];
      },
      set: (pod) => void calls.push(`set ${pod.uid} of n${i}`),
      isEndAwaited: false,
    });
  lister.start();
  await clock.advanceAsync(0);
  calls.length = 0;
  return {
    event: async () => notify(podOf(0)),
    takeCalls: () => calls.splice(0),
    stop: () => lister.stop(),
  };
}

it.each<[string, (pods: number) => Promise<Node>, readonly string[]]>([
  ['the sync engine', syncEngine, ['get p0', 'patch p0']],
  ['the PLEG', pleg, ['getPod u0', 'ContainerDied u0']],
  ['the lister of virtual nodes', providerPodLister, ['set u0 of n0']],
])('the work of %s for one event does not grow with the number of pods', async (_what, start, calls) => {
  const [small, large] = [await start(few), await start(few * factor)];
  for (const node of [small, large]) {
    await node.event();
    expect(node.takeCalls()).toEqual(calls);
  }
  const measure = async (node: Node): Promise<number> => {
    const ms = await shortestMs(async () => {
      for (let i = 0; i < events; i += 1) await node.event();
    }, 5);
    node.takeCalls();
    return ms;
  };
  const ratios: number[] = [];
  while (ratios.length < 4 && (ratios.at(-1) ?? Infinity) > maxRatio) {
    const smallMs = await measure(small);
    ratios.push((await measure(large)) / smallMs);
  }
  expect(Math.min(...ratios)).toBeLessThan(maxRatio);
  await Promise.all([small.stop(), large.stop()]);
});
