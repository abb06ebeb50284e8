import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { isPodStatusByKubeletEqual } from '../../../src/status-manager/status/equality.ts';
import { isPodPhaseTerminal } from '../../../src/status-manager/status/phase.ts';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { normalizeStatus } from '../../../src/status-manager/status/normalize.ts';
import type { PodInspection } from '../../../src/status-manager/inspection.ts';
import type { FakeAction, FakeReaction, FakeVerb } from '../../../src/testing/fake-pod-client.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { SyncHarness } from './sync-harness.ts';

const names = ['a', 'b', 'c'] as const;
type Name = (typeof names)[number];

const name = fc.constantFrom(...names);
const verb = fc.constantFrom<FakeVerb>('get', 'patch', 'delete');

const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('set' as const), name, ready: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('setReadiness' as const), name, ready: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('terminate' as const), name }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('remove' as const), name }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('deleteByUser' as const), name }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('recreate' as const), name }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('foreignCondition' as const), name }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('foreignReady' as const), name }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('observe' as const), name }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('fail' as const),
      name,
      verb,
      code: fc.constantFrom(403, 404, 409, 422, 429, 500, 503),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('loseAnswer' as const), name, verb }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('hold' as const), name, verb }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('release' as const) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('turn' as const) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 15_000 }) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** One request, or a few, that go wrong. */
type Fault = Extract<Operation, { op: 'fail' | 'hold' | 'loseAnswer' }> & { times: number };

const options = fc.record({
  concurrency: fc.integer({ min: 1, max: 8 }),
  syncPeriodMs: fc.constantFrom(1_000, 10_000),
});
type Options = (typeof options extends fc.Arbitrary<infer T> ? T : never) & (typeof variants)[number];

/** A test each, so that none takes long on a busy machine. */
const variants = [
  { readBeforePatch: 'always', patchStrategy: 'strategic-merge' },
  { readBeforePatch: 'when-stale', patchStrategy: 'strategic-merge' },
  { readBeforePatch: 'always', patchStrategy: 'json-patch' },
  { readBeforePatch: 'when-stale', patchStrategy: 'json-patch' },
] as const;

/** An agent that behaves, an API server that does not always, and what must hold of every write. */
class World {
  readonly h: SyncHarness;
  /** The UID of the pod that the agent runs under this name. */
  readonly #running = new Map<Name, string>();
  readonly #terminated = new Set<string>();
  readonly #lives = new Map<Name, number>();
  readonly #lastSet = new Map<string, number>();
  #faults: Fault[] = [];
  #replaced: Pod | undefined;
  readonly #releases: (() => void)[] = [];
  readonly #deleted = new Map<string, number>();
  #count = 0;
  readonly violations: string[] = [];

  constructor(settings: Options) {
    this.h = new SyncHarness({
      ...settings,
      podCouldHaveRunningContainers: ({ metadata }) => !this.#terminated.has(metadata!.uid!),
    });
    this.#noteReplacedPods();
    this.h.client.react(
      {},
      ({ verb, name }) =>
        () =>
          this.#check(verb, name as Name),
      Number.POSITIVE_INFINITY,
    );
    this.h.client.react({}, (action, signal) => this.#meetFault(action, signal), Number.POSITIVE_INFINITY);
    for (const each of names) {
      this.#create(each);
      this.#observe(each);
    }
    this.h.manager.start();
  }

  async run(operations: readonly Operation[]): Promise<void> {
    for (const each of operations) await this.#perform(each);
  }

  /** The faults end; within half an hour every last status is there, and nothing is left over. */
  async converge(): Promise<void> {
    const { h } = this;
    this.#faults = [];
    for (const release of this.#releases.splice(0)) release();
    h.informed();
    for (const each of names) this.#observe(each);
    let missing: string[] = ['not looked at yet'];
    for (let minute = 0; minute < 30 && missing.length > 0; minute++) {
      await h.clock.advanceAsync(60_000);
      missing = h.manager.inspect().pods.flatMap((inspection) => this.#missingOf(inspection));
    }
    this.violations.push(...missing);
    await h.manager.stop();
    if (h.clock.pendingTimers > 0) this.violations.push('a timer is left');
  }

  /** What keeps this status from being where it belongs. */
  #missingOf({ podUID, podName, version, sentVersion, unsentSince }: PodInspection): string[] {
    const { client, manager } = this.h;
    const pod = client.pod('default', podName);
    // Of a pod that is no longer there, nobody has told us to forget the status.
    if (pod === undefined || (pod.metadata!.uid !== podUID && unsentSince === undefined)) return [];
    const missing: string[] = [];
    const shown = normalizeStatus(pod, canonicalPodStatus(pod.status, { strict: false }));
    const cached = manager.getPodStatus(podUID)!;
    const isShown = isTerminal({ status: cached })
      ? shown.phase === cached.phase
      : isPodStatusByKubeletEqual(shown, cached);
    if (pod.metadata!.uid !== podUID) missing.push(`${podUID}: kept though it was recreated`);
    if (sentVersion !== version || unsentSince !== undefined) missing.push(`${podUID}: not sent`);
    if (shown.message !== `${podUID} ${this.#lastSet.get(podUID)}`) missing.push(`${podUID}: not the last one`);
    if (!isShown) missing.push(`${podUID}: shown otherwise than it was set`);
    if (isDeletable(pod) && this.#terminated.has(podUID)) missing.push(`${podUID}: not deleted`);
    return missing;
  }

  async #perform(operation: Operation): Promise<void> {
    const { h } = this;
    switch (operation.op) {
      case 'set':
        return this.#set(operation.name, operation.ready);
      case 'setReadiness':
        return void h.manager.setContainerReadiness(this.#running.get(operation.name)!, 'fake://app', operation.ready);
      case 'terminate':
        return this.#terminate(operation.name);
      case 'remove': {
        const uid = this.#running.get(operation.name)!;
        const pod = h.podManager.getPodByUID(uid);
        if (pod !== undefined) h.podManager.removePod(pod);
        const remaining = [...this.#running.values()].filter((other) => other !== uid);
        return h.manager.removeOrphanedStatuses(remaining);
      }
      case 'deleteByUser':
        return this.#write(operation.name, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' },
        }));
      case 'recreate':
        return this.#create(operation.name);
      case 'foreignCondition':
        return this.#writeCondition(operation.name, 'example.com/gate', String(this.#count++));
      case 'foreignReady':
        return this.#writeCondition(operation.name, 'Ready', 'Unknown');
      case 'observe':
        return this.#observe(operation.name);
      case 'fail':
      case 'loseAnswer':
      case 'hold':
        return void this.#faults.push({ times: 1, ...operation });
      case 'release':
        this.#releases.shift()?.();
        return undefined;
      case 'turn':
        return h.settle();
      default:
        return h.clock.advanceAsync(operation.ms);
    }
  }

  #meetFault({ verb, name }: FakeAction, signal: AbortSignal): ReturnType<FakeReaction> {
    const fault = this.#faults.find((each) => each.verb === verb && each.name === name && each.times > 0);
    if (fault === undefined) return undefined;
    fault.times--;
    switch (fault.op) {
      case 'fail':
        throw new APIError('scripted', { kind: 'http', statusCode: fault.code });
      case 'hold':
        return new Promise((resolve, reject) => {
          this.#releases.push(resolve);
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        });
      default:
        return () => {
          throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
        };
    }
  }

  /** Notes what a request, or somebody else, has replaced or removed last, and counts resource versions. */
  #noteReplacedPods(): void {
    const { client } = this.h;
    const [put, remove] = [client.put.bind(client), client.remove.bind(client)];
    client.put = (pod) => {
      this.#replaced = client.pod('default', pod.metadata!.name!);
      put({ ...pod, metadata: { ...pod.metadata, resourceVersion: String(++this.#count) } });
    };
    client.remove = (namespace, name) => {
      this.#replaced = client.pod(namespace, name);
      remove(namespace, name);
    };
  }

  #create(name: Name): void {
    const life = (this.#lives.get(name) ?? 0) + 1;
    this.#lives.set(name, life);
    this.h.client.put({
      metadata: { namespace: 'default', name, uid: `${name}-${life}`, generation: 1 },
      spec: { containers: [{ name: 'app' }], readinessGates: [] },
      status: { phase: 'Pending' },
    });
  }

  /** The agent learns what the API server has; a pod of another UID takes the old one's place. */
  #observe(name: Name): void {
    const pod = this.h.client.pod('default', name);
    const old = this.h.podManager.getPodByUID(this.#running.get(name) ?? '');
    if (pod === undefined) return;
    if (old !== undefined && old.metadata.uid !== pod.metadata!.uid) this.h.podManager.removePod(old);
    this.#running.set(name, pod.metadata!.uid!);
    this.h.podManager.updatePod(structuredClone(pod));
  }

  #podOf(name: Name): Pod | undefined {
    return this.h.podManager.getPodByUID(this.#running.get(name)!);
  }

  #set(name: Name, ready: boolean): void {
    const pod = this.#podOf(name);
    if (pod === undefined) return;
    const uid = pod.metadata!.uid!;
    const isTerminated = this.#terminated.has(uid);
    this.#lastSet.set(uid, ++this.#count);
    this.h.manager.setPodStatus(pod, {
      phase: isTerminated ? 'Failed' : 'Running',
      message: `${uid} ${this.#count}`,
      conditions: [{ type: 'Ready', status: ready && !isTerminated ? 'True' : 'False' }],
      containerStatuses: [
        {
          name: 'app',
          containerID: 'fake://app',
          ready: ready && !isTerminated,
          state: isTerminated ? { terminated: { exitCode: 137 } } : { running: { startedAt: '2026-01-02T03:04:05Z' } },
        },
      ],
    });
  }

  #terminate(name: Name): void {
    const pod = this.#podOf(name);
    const cached = pod && this.h.manager.getPodStatus(pod.metadata!.uid!);
    if (pod === undefined || cached === undefined) return;
    this.#terminated.add(pod.metadata!.uid!);
    // A pod that is terminated while its cached status is Ready is a hot loop, here and in the kubelet.
    if (cached.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) this.#set(name, false);
    this.h.manager.terminatePod(pod);
  }

  #write(name: Name, change: (pod: Pod) => Pod): void {
    const pod = this.h.client.pod('default', name);
    if (pod !== undefined) this.h.client.put(change(pod));
  }

  #writeCondition(name: Name, type: string, status: string): void {
    this.#write(name, (pod) => {
      const others = (pod.status?.conditions ?? []).filter((condition) => condition.type !== type);
      return { ...pod, status: { ...pod.status, conditions: [...others, { type, status, lastTransitionTime: null }] } };
    });
  }

  /** Right after a request has had its effect. */
  #check(verb: FakeVerb, name: Name): void {
    const before = this.#replaced;
    const pod = this.h.client.pod('default', name);
    if (verb === 'patch' && pod !== undefined) {
      const uid = pod.metadata!.uid!;
      const [of, number] = (pod.status?.message ?? '').split(' ');
      if (of !== '' && of !== uid) this.violations.push(`the status of ${of} on ${uid}`);
      const oldNumber = Number(before?.status?.message?.split(' ')[1] ?? 0);
      if (before?.metadata?.uid === uid) {
        if (Number(number) < oldNumber) this.violations.push(`${uid}: ${number} after ${oldNumber}`);
        if (isTerminal(before) && !isTerminal(pod)) this.violations.push(`${uid} left its terminal phase`);
        const gate = (of: Pod): unknown =>
          of.status?.conditions?.find(({ type }) => type === 'example.com/gate')?.status;
        if (gate(before) !== gate(pod)) this.violations.push(`${uid}: somebody else’s condition`);
      }
    }
    if (verb === 'delete' && before !== undefined) {
      const uid = before.metadata!.uid!;
      this.#deleted.set(uid, (this.#deleted.get(uid) ?? 0) + 1);
      if (this.#deleted.get(uid)! > 1) this.violations.push(`${uid}: a second DELETE`);
      if (!isDeletable(before) || !this.#terminated.has(uid)) this.violations.push(`${uid}: an early DELETE`);
    }
  }
}

function isTerminal(pod: Pod): boolean {
  return isPodPhaseTerminal(pod.status?.phase);
}

function isDeletable(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined && isTerminal(pod);
}

describe('random interleavings of calls, slow and failing responses, and other writers', () => {
  it.each(variants)(
    'never write an older version after a newer one, leave a terminal phase, touch another UID or delete early; and converge: %o',
    async (variant) => {
      const property = fc.asyncProperty(
        options,
        fc.array(operation, { minLength: 5, maxLength: 60 }),
        async (settings, operations) => {
          const world = new World({ ...settings, ...variant });
          await world.run(operations);
          await world.converge();
          expect(world.violations).toEqual([]);
        },
      );
      await fc.assert(property, { numRuns: 40 });
    },
  );
});
