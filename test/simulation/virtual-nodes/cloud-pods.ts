import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { ProviderContainer, ProviderPod } from '../../../src/virtual-nodes/index.ts';
import type { Random } from '../../chaos/random.ts';
import type { World } from '../world.ts';

/** How long the cloud remembers a pod that has ended. */
const rememberedMs = 240_000;

type Changeable<T> = { -readonly [Field in keyof T]: T[Field] };

/** A pod of the cloud, and what happens to it there. */
export class CloudPod {
  readonly spec: ValidPod['spec'];
  readonly reported: Changeable<ProviderPod>;
  /** When the cloud accepted its deletion. */
  deletedMs: number | undefined;
  version = 0;

  constructor(
    { metadata: { uid, namespace, name }, spec }: ValidPod,
    run: Pick<ProviderPod, 'podHash' | 'restartCount'>,
  ) {
    this.spec = spec;
    const nodeName = spec?.nodeName ?? '';
    this.reported = { uid, namespace, name, nodeName, state: 'creating', ...run };
  }
}

/** From when until when something of a pod ran in the cloud. */
export interface Run {
  readonly restartCount: number;
  readonly fromMs: number;
  toMs: number;
  /** Of its containers; undefined if the cloud has lost it. */
  exitCodes?: readonly (number | undefined)[];
}

/** The pods of the cloud: they start, their containers end and are restarted, and they end. */
export class CloudPods {
  /** Those that the cloud has, by UID. */
  readonly pods = new Map<string, CloudPod>();
  /** By UID, from when to when the cloud had a pod that had not ended. */
  readonly runs = new Map<string, Run[]>();
  /** By UID: those that the cloud has lost without a trace. */
  readonly lost = new Set<string>();
  /** Nothing happens to pods but what they are asked for. */
  isQuiet = false;
  onChange: (pod: CloudPod) => void = () => {};
  readonly #world: World;
  readonly #losesPods: boolean;
  /** True if a pod whose containers have ended is started again by `createPod`. */
  readonly #restartedByNode: boolean;
  readonly #created = new Map<string, number>();
  /** By UID, also of a pod that was lost and is created again. */
  readonly #versions = new Map<string, number>();

  constructor(
    world: World,
    { losesPods, restarts }: { readonly losesPods: boolean; readonly restarts: 'node' | undefined },
  ) {
    this.#world = world;
    this.#losesPods = losesPods;
    this.#restartedByNode = restarts === 'node';
  }

  create(pod: ValidPod, podHash: string | undefined, restartCount: number): void {
    const { uid, name } = pod.metadata;
    const before = this.pods.get(uid);
    if (before !== undefined && (before.reported.restartCount ?? 0) >= restartCount) return;
    if (before !== undefined && before.reported.state !== 'stopped')
      this.#world.violate('no restart while a container runs', `${name} ${uid} ${restartCount}`);
    const created = new CloudPod(pod, {
      ...(podHash !== undefined && { podHash }),
      ...(restartCount > 0 && { restartCount }),
    });
    this.pods.set(uid, created);
    const number = (this.#created.get(name) ?? 0) + 1;
    this.#created.set(name, number);
    const run: Run = { restartCount, fromMs: this.#world.nowMs, toMs: Number.POSITIVE_INFINITY };
    this.runs.set(uid, [...(this.runs.get(uid) ?? []), run]);
    if (restartCount > 0) this.#world.count('cloud: restart by the node');
    this.#change(created, 'created', {});
    void this.#live(created, this.#world.random.fork(`cloud pod ${name} ${number}`));
  }

  update(uid: string, podHash: string): void {
    const pod = this.pods.get(uid);
    if (pod !== undefined) this.#change(pod, 'updated', { podHash });
  }

  delete(uid: string, gracePeriodMs: number, stopMs: number): void {
    const pod = this.pods.get(uid);
    if (pod === undefined || pod.deletedMs !== undefined) return;
    pod.deletedMs = this.#world.nowMs;
    const stops = (): void => {
      if (pod.reported.state !== 'stopped') this.#end(pod, 'stopped', 137);
      // Some clouds forget it at once, some keep it for a while.
      this.#world.at(stopMs % 2 === 0 ? 0 : stopMs * 5, () => this.#remove(pod, 'removed'));
    };
    this.#world.at(pod.reported.state === 'stopped' ? 0 : Math.min(stopMs, gracePeriodMs), stops);
  }

  /** The run of a container that runs; undefined if it does not. */
  runOf(uid: string, name: string): string | undefined {
    const restartCount = this.#restartCountOf(uid, name);
    return restartCount === undefined ? undefined : `${uid} ${name} ${restartCount}`;
  }

  #restartCountOf(uid: string, name: string): number | undefined {
    const pod = this.pods.get(uid);
    if (pod?.reported.state !== 'running') return undefined;
    const { containers = this.#running(pod), restartCount = 0 } = pod.reported;
    const run = containers.find((container) => container.name === name);
    if (run === undefined || run.exit !== undefined) return undefined;
    return this.#restartedByNode ? restartCount : (run.restartCount ?? 0);
  }

  /** Ends this run of a container; if the node restarts pods, the whole pod. */
  kill(uid: string, name: string, restartCount: number): void {
    const pod = this.pods.get(uid);
    if (pod === undefined || this.#restartCountOf(uid, name) !== restartCount) return;
    this.#world.count('cloud: container killed');
    if (this.#restartedByNode) return this.#end(pod, 'container killed', 137);
    const index = pod.spec?.containers?.findIndex((container) => container.name === name) ?? -1;
    const what = pod.spec?.restartPolicy === 'Never' ? 'exit' : 'restart';
    if (index >= 0) this.#change(pod, 'container killed', this.#happening(pod, what, { index, exitCode: 137 }));
  }

  async #live(pod: CloudPod, random: Random): Promise<void> {
    const world = this.#world;
    const { name, uid } = pod.reported;
    const hasIPsEarly = random.chance(0.5);
    await world.sleep(random.integer(50, 3_000));
    if (hasIPsEarly && this.#isLive(pod)) this.#change(pod, 'has its addresses', { ips: ['10.0.0.1'] });
    await world.sleep(random.integer(50, 3_000));
    if (!this.#isLive(pod)) return;
    const startedAt = new Date(this.#nowMs());
    this.#change(pod, 'runs', { state: 'running', ips: ['10.0.0.1', 'fd00::1'], startedAt });
    const endsAfter = random.integer(2, this.#restartedByNode ? 5 : 14);
    for (let n = 1; ; n++) {
      await world.sleep(random.integer(500, 6_000) * (this.#restartedByNode ? 0.5 : world.size.pace));
      const what = random.weighted({ ready: 4, exit: 3, restart: 3, text: 2, lost: 0.4 });
      const exitCode = random.pick([0, 1, 137]);
      const index = random.integer(0, 3);
      if (!this.#isLive(pod) || this.isQuiet) return;
      if (!world.happens(`cloud: ${name} ${what}`)) continue;
      world.count(`cloud: ${what}`);
      const mayEnd = this.#restartedByNode || pod.spec?.restartPolicy !== 'Always';
      if (n === endsAfter && mayEnd) return this.#end(pod, 'ended', exitCode);
      if (what === 'lost') {
        if (!this.#losesPods) continue;
        this.lost.add(uid);
        return this.#remove(pod, 'lost');
      }
      this.#change(pod, what, this.#happening(pod, what, { index, exitCode }));
      const { containers = this.#running(pod) } = pod.reported;
      if (this.#restartedByNode && containers.every(({ exit }) => exit !== undefined))
        return this.#end(pod, 'ended', exitCode);
    }
  }

  #happening(
    pod: CloudPod,
    what: 'ready' | 'exit' | 'restart' | 'text',
    { index, exitCode }: { readonly index: number; readonly exitCode: number },
  ): Partial<ProviderPod> {
    const names = (pod.spec?.containers ?? []).map(({ name }) => name);
    const name = names[index % names.length]!;
    const { containers = this.#running(pod) } = pod.reported;
    const before = containers.find((container) => container.name === name) ?? { name };
    const others = containers.filter((container) => container.name !== name);
    const restartCount = before.restartCount ?? 0;
    const exit = { exitCode, finishedAt: new Date(this.#nowMs()) };
    const policy = pod.spec?.restartPolicy ?? 'Always';
    // One that has ended for good stays so.
    if (before.exit !== undefined && before.waiting === undefined) return {};
    let now: ProviderContainer;
    switch (what) {
      case 'ready':
        now = { name, restartCount, ready: before.ready === false };
        break;
      case 'exit':
        if (policy === 'Never' || (policy === 'OnFailure' && exitCode === 0) || this.#restartedByNode)
          now = { name, restartCount, exit };
        else now = { name, restartCount, exit, waiting: { reason: 'CrashLoopBackOff' } };
        break;
      case 'restart':
        if (policy === 'Never' || this.#restartedByNode) return {};
        now = { name, restartCount: restartCount + 1, startedAt: new Date(this.#nowMs()), imageID: 'sha256:1' };
        break;
      default:
        return {};
    }
    return { containers: [...others, now] };
  }

  /** The containers of a pod that runs; its init containers have completed. */
  #running({ spec }: CloudPod): readonly ProviderContainer[] {
    const init = (spec?.initContainers ?? []).map(({ name }) => ({ name, exit: { exitCode: 0 } }));
    return [...init, ...(spec?.containers ?? []).map(({ name }) => ({ name }))];
  }

  #end(pod: CloudPod, what: string, exitCode: number): void {
    const { uid } = pod.reported;
    const finishedAt = new Date(this.#nowMs());
    const { containers: known = this.#running(pod) } = pod.reported;
    const containers = known.map((before): ProviderContainer => {
      const { name } = before;
      const restartCount = before.restartCount ?? 0;
      if (before.exit !== undefined && before.waiting === undefined) return before;
      return { name, restartCount, exit: { exitCode, finishedAt } };
    });
    this.#change(pod, what, { state: 'stopped', containers });
    const last = this.runs.get(uid)?.at(-1);
    const names = new Set(pod.spec?.containers?.map(({ name }) => name));
    if (last !== undefined)
      last.exitCodes = containers.filter(({ name }) => names.has(name)).map(({ exit }) => exit?.exitCode);
    this.#ended(uid);
    if (!this.#restartedByNode) this.#world.at(rememberedMs, () => this.#remove(pod, 'forgotten'));
  }

  #remove(pod: CloudPod, what: string): void {
    const { uid } = pod.reported;
    if (this.pods.get(uid) !== pod) return;
    this.pods.delete(uid);
    this.#ended(uid);
    this.#change(pod, what, {});
  }

  #ended(uid: string): void {
    for (const run of this.runs.get(uid) ?? []) run.toMs = Math.min(run.toMs, this.#world.nowMs);
  }

  #change(pod: CloudPod, what: string, change: Partial<ProviderPod>): void {
    const { name, uid } = pod.reported;
    pod.version = (this.#versions.get(uid) ?? 0) + 1;
    this.#versions.set(uid, pod.version);
    Object.assign(pod.reported, change, { message: `v${pod.version}` });
    this.#world.note('cloud', what, name, uid, `v${pod.version}`);
    this.onChange(pod);
  }

  #isLive(pod: CloudPod): boolean {
    const { uid, state } = pod.reported;
    return this.pods.get(uid) === pod && state !== 'stopped';
  }

  #nowMs(): number {
    return Math.floor(this.#world.startEpochMs + this.#world.nowMs);
  }
}
