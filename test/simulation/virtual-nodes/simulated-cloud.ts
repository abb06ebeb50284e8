import type { ValidPod } from '../../../src/kube/objects/types.ts';
import {
  type PodMaterials,
  type PodProvider,
  type ProviderPodReference,
  type ProviderCallOptions,
  ProviderError,
  type ProviderPod,
  type ProviderPodOptions,
} from '../../../src/virtual-nodes/index.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import { type CloudPod, CloudPods } from './cloud-pods.ts';
import { type ProbeType, SimulatedProbes } from './simulated-probes.ts';
import { failureOfCloud, wrongList, wrongPod } from './wrong-answers.ts';

/** What the cloud and its provider can do. */
export interface CloudKind {
  readonly updates: boolean;
  readonly gets: boolean;
  readonly notifies: boolean;
  readonly reportsHash: boolean;
  readonly losesPods: boolean;
  /** Who starts pods again whose containers have ended. Undefined: containers restart on their own. */
  readonly restarts: 'node' | undefined;
  /** Lists show the pods as they were some time ago, at most so long. */
  readonly lagMs: number;
  readonly heedsSignals: boolean;
  readonly needsMaterials: boolean;
  /** Logs, commands and statistics. */
  readonly streams: boolean;
  /** The virtual nodes run the probes of containers, which are commands. */
  readonly probes: boolean;
}

/** Probabilities of what happens to a call. */
export interface CloudFaults {
  readonly slow: number;
  /** A list lacks a pod, which the one before had. */
  readonly incomplete: number;
  /** It does not arrive. Half of those that are lost, before or after, never get an answer. */
  readonly lostBefore: number;
  readonly lostAfter: number;
  readonly duplicate: number;
  readonly refused: number;
  readonly permanent: number;
  readonly wrong: number;
}

export const noCloudFaults: CloudFaults = {
  ...{ slow: 0, incomplete: 0, lostBefore: 0, lostAfter: 0, duplicate: 0, refused: 0, permanent: 0, wrong: 0 },
};

export type CloudMethod = 'createPod' | 'updatePod' | 'deletePod' | 'killContainer' | 'getPod' | 'listPods' | 'stats';

/** One call of a provider. */
export interface CloudCall {
  readonly process: SimulatedProcess;
  readonly method: CloudMethod;
  readonly nodeName: string | undefined;
  readonly uid: string | undefined;
  readonly epoch: number;
  readonly signal: AbortSignal;
  /** When the library made the call: a provider reads the materials of a pod before it sends anything. */
  readonly madeMs: number;
  readonly sentMs: number;
  /** When it had its effect, if it had one. */
  processedMs?: number;
  /** The cloud has refused it, because it knew a higher epoch of the node. */
  isRefused?: boolean;
  settledMs?: number;
  isSuccess?: boolean;
}

interface Effect<T> {
  readonly method: CloudMethod;
  readonly pod: ProviderPodReference | undefined;
  readonly epoch: number;
  readonly signal: AbortSignal;
  /** Default: now. */
  readonly madeMs?: number;
  readonly run: () => T;
}

/** Longer than the time-out of calls. */
const slowMs = { min: 1_000, max: 70_000 };
const tickMs = 1 / 1024;

/** The cloud that runs the pods of all replicas. It refuses calls with an epoch that is lower than one it has seen. */
export class SimulatedCloud {
  readonly kind: CloudKind;
  readonly cloudPods: CloudPods;
  readonly probes: SimulatedProbes;
  readonly calls: CloudCall[] = [];
  faults = noCloudFaults;
  /** No call of these arrives, nor does an answer. */
  readonly cutOff = new Set<SimulatedProcess>();
  /** By UID: pods that a call has refused permanently. */
  readonly refusedForGood = new Set<string>();
  readonly #world: World;
  readonly #random: Random;
  readonly #answers: Random;
  /** How much longer lists and creations take at most: notifications overtake a list, pods end while they are created. */
  readonly #longer: { readonly listPods: number; readonly createPod: number };
  readonly #lengths: Random;
  /** By node, the highest epoch. */
  readonly #epochs = new Map<string, { readonly epoch: number; readonly process: SimulatedProcess }>();
  readonly #listeners = new Map<SimulatedProcess, (pod: ProviderPod) => void>();
  readonly #gaps = new Map<SimulatedProcess, () => void>();
  /** What lists have shown, with times. */
  readonly #history: { readonly atMs: number; readonly uid: string; readonly pod: ProviderPod | undefined }[] = [];
  readonly #lagging = new Map<string, ProviderPod>();
  #seen = 0;
  #laggingUntilMs = 0;

  constructor(world: World, kind: CloudKind) {
    this.#world = world;
    this.kind = kind;
    this.#random = world.random.fork('cloud');
    this.#answers = world.random.fork('answers of the cloud');
    this.#lengths = world.random.fork('longer calls');
    this.#longer = { listPods: this.#lengths.pick([0, 0, 2_500]), createPod: this.#lengths.pick([0, 0, 2_500]) };
    this.cloudPods = new CloudPods(world, kind);
    this.cloudPods.onChange = (pod) => this.#changed(pod);
    this.probes = new SimulatedProbes(world, this.cloudPods, kind, (process) => this.cutOff.has(process));
  }

  /** The provider of one process. */
  providerFor(process: SimulatedProcess): PodProvider {
    const { kind, cloudPods } = this;
    const random = this.#random.fork(process.name);
    let isIncomplete = false;
    const reference = ({ metadata: { uid, namespace, name }, spec }: ValidPod): ProviderPodReference => {
      return { uid, namespace, name, nodeName: spec?.nodeName ?? '' };
    };
    const hashOf = (podHash: string): string | undefined => (kind.reportsHash ? podHash : undefined);
    return {
      capabilities: { initContainers: true, restarts: kind.restarts, ...(kind.probes && { probes: 'node' as const }) },
      createPod: async (pod, options) => {
        const madeMs = this.#world.nowMs;
        this.onCreateCall(process, pod, options.restartCount);
        await this.#useMaterials(process, pod, options, random);
        const { signal, epoch, podHash, restartCount } = options;
        // It may have taken too long.
        signal.throwIfAborted();
        const create = (): void => cloudPods.create(structuredClone(pod), hashOf(podHash), restartCount);
        this.onCreate(process, pod, restartCount);
        await this.#call(process, { method: 'createPod', pod: reference(pod), epoch, signal, madeMs, run: create });
        // What it does to the object that it was handed concerns nobody else.
        (pod as { spec?: unknown }).spec = {};
      },
      ...(kind.updates && {
        updatePod: async (pod, _previous, { signal, epoch, podHash }) => {
          const run = (): void => cloudPods.update(pod.metadata.uid, podHash);
          await this.#call(process, { method: 'updatePod', pod: reference(pod), epoch, signal, run });
        },
      }),
      deletePod: async (pod, { signal, epoch, gracePeriodSeconds }) => {
        const stopMs = random.integer(50, 8_000);
        const run = (): void => cloudPods.delete(pod.uid, gracePeriodSeconds * 1000, stopMs);
        await this.#call(process, { method: 'deletePod', pod, epoch, signal, run });
      },
      ...(kind.probes && {
        killContainer: async (pod, name, { signal, epoch, restartCount, gracePeriodSeconds }) => {
          const stopMs = Math.min(random.integer(50, 4_000), gracePeriodSeconds * 1000);
          const run = (): void => void this.#world.at(stopMs, () => cloudPods.kill(pod.uid, name, restartCount));
          const called = this.#call(process, { method: 'killContainer', pod, epoch, signal, run });
          this.onKill(process, this.calls.at(-1)!, name, restartCount);
          await called;
        },
      }),
      ...(kind.gets && {
        getPod: async (pod, { signal, epoch }) => {
          const run = (): ProviderPod | undefined => copyOf(cloudPods.pods.get(pod.uid));
          const found = await this.#call(process, { method: 'getPod', pod, epoch, signal, run });
          return this.#strikes('wrong') ? (wrongPod(found, random) as ProviderPod) : found;
        },
      }),
      listPods: async ({ signal }) => {
        this.onList(process);
        const run = (): ProviderPod[] => this.#list();
        const found = await this.#call(process, { method: 'listPods', pod: undefined, epoch: 0, signal, run });
        isIncomplete = !isIncomplete && found.length > 0 && this.#strikes('incomplete');
        const omitted = isIncomplete ? found[this.#answers.integer(0, found.length - 1)] : undefined;
        const pods = found.filter((pod) => pod !== omitted);
        if (!this.#strikes('wrong')) return pods;
        const { kind, list } = wrongList(pods, random);
        this.#world.note(process.name, 'wrong list', kind);
        return list as ProviderPod[];
      },
      ...(kind.notifies && {
        notifyPods: (listener, onGap) => {
          this.#listeners.set(process, listener);
          this.#gaps.set(process, onGap);
          return () => {
            this.#listeners.delete(process);
            this.#gaps.delete(process);
            if (random.chance(0.1)) throw new Error('simulated: the end of notifications');
          };
        },
      }),
      ...(kind.streams && {
        logs: async (pod, _name, _log, options) => {
          this.#stream(process, 'logs', pod, options);
          return (async function* (): AsyncGenerator<Uint8Array> {})();
        },
        exec: async (pod, container, [what, probeType, timeoutSeconds], _io, options) => {
          this.#stream(process, 'exec', pod, options);
          if (what !== 'probe') return 0;
          const probe = { probeType: probeType as ProbeType, timeoutMs: 1000 * Number(timeoutSeconds) };
          return this.probes.run({ process, pod, container, ...probe, signal: options.signal });
        },
        attach: async (pod, _name, _io, options) => this.#stream(process, 'attach', pod, options),
        portForward: async (pod, _port, stream, options) => {
          this.#stream(process, 'portForward', pod, options);
          stream.destroy();
        },
        stats: async ({ signal }) => {
          const run = () =>
            [...cloudPods.pods.values()].map(({ reported: { uid, namespace, name } }) => {
              return { podRef: { uid, namespace, name }, startTime: '2026-01-02T03:04:05Z', containers: [] };
            });
          const stats = await this.#call(process, { method: 'stats', pod: undefined, epoch: 0, signal, run });
          return this.#strikes('wrong') ? ([{ podRef: 1 }] as never) : stats;
        },
      }),
    };
  }

  /** A client reaches a pod: by its owner only. */
  #stream(
    process: SimulatedProcess,
    what: string,
    { nodeName }: ProviderPodReference,
    { epoch }: ProviderCallOptions,
  ): void {
    this.#world.count(`cloud: ${what}`);
    const last = this.#epochs.get(nodeName);
    if (last !== undefined && epoch < last.epoch)
      this.#world.violate(
        'clients reach pods by the owner of their node only',
        `${process.name} ${what} ${nodeName} ${epoch} after ${last.epoch}`,
      );
  }

  /** Of those who have been told to end it. */
  get listeners(): number {
    return [...this.#listeners.keys()].filter(({ isAlive }) => isAlive).length;
  }

  async #useMaterials(
    process: SimulatedProcess,
    { metadata: { uid } }: ValidPod,
    { materials }: ProviderPodOptions,
    random: Random,
  ): Promise<void> {
    if (!this.kind.needsMaterials) return;
    await materials();
    // As a cloud does that passes new tokens and changed objects to a running pod, and sometimes to one that has ended.
    for (const laterMs of [random.integer(1_000, 60_000), 60_000 + random.fork(uid).integer(0, 180_000)])
      process.receive(laterMs, () => {
        const isOver = this.isOver(process, uid);
        materials().then(
          (read) => this.onMaterials(process, uid, isOver, read),
          () => {},
        );
      });
  }

  /** Whether a process knows that a pod is gone. */
  isOver: (process: SimulatedProcess, uid: string) => boolean = () => false;

  /** The materials of a pod were read later. `isOver` is what held when they were asked for. */
  onMaterials: (process: SimulatedProcess, uid: string, isOver: boolean, read: PodMaterials) => void = () => {};

  /** `createPod` is called; its materials are read before the creation is sent. */
  onCreateCall: (process: SimulatedProcess, pod: ValidPod, restartCount: number) => void = () => {};

  /** A creation is sent. */
  onCreate: (process: SimulatedProcess, pod: ValidPod, restartCount: number) => void = () => {};

  /** A container is to be killed: the call has just been sent. */
  onKill: (process: SimulatedProcess, call: CloudCall, name: string, restartCount: number) => void = () => {};

  /** A list is asked for. */
  onList: (process: SimulatedProcess) => void = () => {};

  /** A deletion has arrived. */
  onDelete: (process: SimulatedProcess, uid: string, pod: ProviderPod | undefined) => void = () => {};

  #strikes(kind: keyof CloudFaults): boolean {
    if (this.faults[kind] === 0 || !this.#random.chance(this.faults[kind])) return false;
    if (!this.#world.happens(`cloud: ${kind}`)) return false;
    this.#world.count(`cloud: ${kind}`);
    return true;
  }

  #call<T>(process: SimulatedProcess, effect: Effect<T>): Promise<T> {
    if (!process.isAlive) return new Promise(() => {});
    const world = this.#world;
    const sentMs = world.nowMs;
    const { method, pod, epoch, signal, madeMs = sentMs, run } = effect;
    const random = this.#random;
    const { uid, nodeName } = pod ?? {};
    const call: CloudCall = { process, method, nodeName, uid, epoch, signal, madeMs, sentMs };
    this.calls.push(call);
    const number = this.calls.length;
    world.note(process.name, `⇒ ${number}`, method, pod?.name ?? '', uid ?? '', nodeName ?? '', epoch);
    const isSlow = this.#strikes('slow');
    const slowlyMs = isSlow ? random.integer(slowMs.min, slowMs.max) : 0;
    const isAnswerSlow = isSlow && this.#answers.chance(0.5);
    const createMs = method === 'createPod' ? this.#lengths.next() * this.#longer.createPod : 0;
    const latencyMs = (isSlow && !isAnswerSlow ? slowlyMs : 1 + random.next() * 200) + createMs;
    const listMs = method === 'listPods' ? this.#lengths.next() * this.#longer.listPods : 0;
    const backMs = (isAnswerSlow ? slowlyMs : 1) + random.next() * 50 + listMs;
    const isHanging = random.chance(0.5);
    const thrown = failureOfCloud(random);
    const is = {
      lostBefore: this.#strikes('lostBefore'),
      lostAfter: this.#strikes('lostAfter'),
      duplicate: this.#strikes('duplicate'),
      refused: this.#strikes('refused'),
      permanent: (method === 'createPod' || method === 'updatePod') && this.#strikes('permanent'),
    };
    return new Promise<T>((resolve, reject) => {
      const settle = (what: string, isSuccess: boolean, end: () => void): void => {
        if (call.settledMs !== undefined) return;
        signal.removeEventListener('abort', onAbort);
        call.settledMs = world.nowMs;
        call.isSuccess = isSuccess;
        world.note(process.name, `⇐ ${number}`, what);
        end();
      };
      const answer = (what: string, isSuccess: boolean, end: () => void): void =>
        void process.receive(backMs, () => {
          if (!this.cutOff.has(process)) settle(what, isSuccess, end);
        });
      const fail = (error: unknown): void => answer('error', false, () => reject(error));
      // The call is on its way: it may have its effect nevertheless.
      const onAbort = (): void => settle('aborted', false, () => reject(signal.reason as Error));
      if (this.kind.heedsSignals) {
        if (signal.aborted) return onAbort();
        signal.addEventListener('abort', onAbort);
      }
      if (this.cutOff.has(process) || is.lostBefore) {
        const refuse = (): void =>
          settle('refused', false, () => reject(new Error('simulated: the connection was refused')));
        if (!isHanging) process.receive(backMs, refuse);
        return;
      }
      const reach = (): void => {
        if (!process.isAlive) return;
        if (is.refused) return fail(thrown);
        if (!this.#accepts(call)) return fail(new ProviderError('simulated: another process owns the node'));
        if (is.permanent) {
          this.refusedForGood.add(uid!);
          return fail(new ProviderError('simulated: no such size', { permanent: true, reason: 'NoSuchSize' }));
        }
        call.processedMs = world.nowMs;
        if (method === 'deletePod') this.onDelete(process, uid!, this.cloudPods.pods.get(uid!)?.reported);
        const result = run();
        if (is.duplicate) world.at(tickMs, run);
        if (!is.lostAfter) answer('ok', true, () => resolve(result));
        else if (!isHanging) fail(new Error('simulated: the connection was lost'));
      };
      world.at(latencyMs, () => {
        // Stopped between its last check and the call: it makes it when it continues.
        if (process.isPaused && isHanging) process.receive(0, reach);
        else reach();
      });
    });
  }

  #accepts(call: CloudCall): boolean {
    const { nodeName, epoch, process, method } = call;
    if (nodeName === undefined || method === 'getPod') return true;
    const last = this.#epochs.get(nodeName);
    if (last !== undefined && epoch < last.epoch) {
      call.isRefused = true;
      this.#world.count('cloud: old epoch refused');
      this.#world.note(process.name, 'old epoch', nodeName, epoch, last.epoch);
      return false;
    }
    if (last?.epoch === epoch && last.process !== process && epoch > 0)
      this.#world.violate('one owner for each epoch', `${nodeName} ${epoch}: ${last.process.name} and ${process.name}`);
    this.#epochs.set(nodeName, { epoch, process });
    return true;
  }

  #changed(pod: CloudPod): void {
    const { uid } = pod.reported;
    const exists = this.cloudPods.pods.get(uid) === pod;
    this.#history.push({ atMs: this.#world.nowMs, uid, pod: exists ? copyOf(pod) : undefined });
    for (const [process, listener] of this.#listeners) {
      const delayMs = 1 + this.#random.next() * 100;
      const isLost = this.faults.lostBefore > 0 && this.#random.chance(0.1);
      if (this.cutOff.has(process)) continue;
      if (isLost) {
        process.receive(delayMs, () => this.#gaps.get(process)?.());
        continue;
      }
      // In order: what it delivers is what it has by then.
      process.receive(delayMs, () => {
        const now = this.cloudPods.pods.get(uid);
        if (now !== undefined && this.#listeners.get(process) === listener) listener(now.reported);
      });
    }
  }

  #list(): ProviderPod[] {
    if (this.kind.lagMs === 0) return [...this.cloudPods.pods.values()].map((pod) => copyOf(pod));
    const untilMs = this.#world.nowMs - this.#random.next() * this.kind.lagMs;
    this.#laggingUntilMs = Math.max(this.#laggingUntilMs, untilMs);
    for (; this.#seen < this.#history.length && this.#history[this.#seen]!.atMs <= this.#laggingUntilMs; this.#seen++) {
      const { uid, pod } = this.#history[this.#seen]!;
      if (pod === undefined) this.#lagging.delete(uid);
      else this.#lagging.set(uid, pod);
    }
    return [...this.#lagging.values()];
  }
}

function copyOf(pod: CloudPod): ProviderPod;
function copyOf(pod: CloudPod | undefined): ProviderPod | undefined;
function copyOf(pod: CloudPod | undefined): ProviderPod | undefined {
  return pod && { ...pod.reported, ...(pod.reported.containers && { containers: [...pod.reported.containers] }) };
}
