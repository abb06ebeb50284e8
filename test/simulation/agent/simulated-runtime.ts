import {
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerRuntime,
  type ExecResult,
  ImageError,
  type PodSandboxConfig,
  type PulledImage,
  type RuntimeEvent,
  type RuntimePod,
} from '../../../src/node/runtime/container-runtime.ts';
import type { RuntimeContainerStatus, RuntimeSandboxStatus } from '../../../src/node/runtime/runtime-pod-status.ts';
import type { ImageFsStats, PodStats } from '../../../src/node/runtime/pod-stats.ts';
import type { RuntimeImage } from '../../../src/node/runtime/runtime-storage.ts';
import type { ResourceRequirementsInput, ValidPod } from '../../../src/kube/objects/types.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import { SimulatedContainer } from './container-runs.ts';
import { type Machine, type NodeRuntime, nowOf, type RuntimeConnection } from './node-runtime.ts';
import { isPrivate, pullSecretsFor } from './pull-secrets.ts';
import type { SimulatedHelper } from './simulated-volumes.ts';

/** When the disk is full. */
const unusedImages = 3;
const slowRemovalMs = 2_500;
/** Of each container, of its memory and its disk. */
const usageBytes = 10_000_000;
const badPullsFactor = 15;
const idPrefix = 'sim://';
const tickMs = 1 / 1024;
const podIP = '10.0.0.1';

interface Sandbox {
  readonly status: RuntimeSandboxStatus;
  ready: boolean;
}

interface Container {
  readonly process: SimulatedContainer;
  readonly config: ContainerConfig;
  readonly createdAtMs: number;
  resources: ResourceRequirementsInput;
  startedAtMs?: number;
  finishedAtMs?: number;
}

interface Pod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first, as the containers. */
  readonly sandboxes: Sandbox[];
  readonly containers: Container[];
}

/** Probabilities of what happens to a call. */
interface RuntimeFaults {
  readonly slow: number;
  /** The call fails without an effect. */
  readonly failed: number;
  /** The call never gets an answer, and has no effect. */
  readonly hangs: number;
  /** The call has its effect, and its answer is an error. */
  readonly failedAfter: number;
  /** The call has its effect, and its answer never comes. */
  readonly lostAnswer: number;
}

const noFaults: RuntimeFaults = { slow: 0, failed: 0, hangs: 0, failedAfter: 0, lostAnswer: 0 };
const badRuntime: RuntimeFaults = { slow: 0.02, failed: 0.03, hangs: 0.005, failedAfter: 0.02, lostAnswer: 0.005 };

/** What a runtime tells about changes. */
type Events = 'none' | 'some' | 'complete';

interface Subscription {
  readonly process: SimulatedProcess;
  readonly listener: (event: RuntimeEvent) => void;
  readonly onComplete: ((areComplete: boolean) => void) | undefined;
  isOpen: boolean;
  lastArrivalMs: number;
}

/** A `ContainerRuntime` in memory, with the faults of a real one. */
export class SimulatedRuntime implements NodeRuntime {
  readonly #machine: Machine;
  readonly #world: World;
  readonly #random: Random;
  /** How long the answers of a busy runtime with what it has are on their way: what is read may be out of date. */
  readonly #readMs: number;
  readonly #events: Events;
  readonly #pods = new Map<string, Pod>();
  /** By name. */
  readonly #images = new Map<string, { readonly sizeBytes: number }>();
  /** Pods with cgroups. */
  readonly #prepared = new Set<string>();
  /** Pods with logs. */
  readonly #logs = new Set<string>();
  readonly #subscriptions = new Set<Subscription>();
  /** Ends the calls in progress. */
  readonly #calls = new Set<() => void>();
  #faults = noFaults;
  #isDisturbed = false;
  #isUp = true;
  #hasNetwork = true;
  #lastID = 0;
  /** Pulls have many more faults. */
  readonly #hasBadPulls: boolean;
  /** Whether it is told of the resources of pods. */
  readonly #hasPodResources: boolean;
  /** The image of which the answer of the next pull is lost. */
  #lostPull: string | undefined;
  /** Set while the disk is full. */
  #onRemoval: (() => void) | undefined;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#world = machine.world;
    this.#random = machine.world.random.fork('runtime');
    this.#readMs = this.#random.fork('reads').pick([2, 2, 500]);
    this.#events = this.#random.pick<Events>(['none', 'some', 'complete']);
    this.#hasBadPulls = this.#random.fork('pulls').chance(0.5);
    this.#hasPodResources = this.#random.fork('resources').chance(0.7);
  }

  connect(process: SimulatedProcess, _: Logger, helper: SimulatedHelper): RuntimeConnection {
    return { runtime: this.#portOf(process, helper), close: () => {} };
  }

  get openConnections(): number {
    return this.#subscriptions.size;
  }

  podsLeft(): ReadonlySet<string> {
    return new Set([...this.#pods.keys(), ...this.#prepared, ...this.#logs]);
  }

  removeImage(image: string): void {
    this.#images.delete(image);
  }

  loseAnswerOfPull(image: string): void {
    this.#lostPull = image;
  }

  fillDisk(missingImage: string): Promise<void> {
    this.#images.delete(missingImage);
    for (let i = 0; i < unusedImages; i++) this.#images.set(`old:${i}`, { sizeBytes: 1_000_000 });
    return new Promise((resolve) => (this.#onRemoval = resolve));
  }

  loseSandbox(podUID: string): void {
    const pod = this.#pods.get(podUID);
    const sandbox = pod?.sandboxes.find(({ ready }) => ready);
    if (pod !== undefined && sandbox !== undefined) this.#stopSandbox(pod, sandbox);
  }

  disturb(random: Random): void {
    this.#isDisturbed = true;
    const share = random.pick([0.3, 1, 1, 2]);
    this.#faults = Object.fromEntries(
      Object.entries(badRuntime).map(([fault, probability]) => [fault, probability * share]),
    ) as unknown as RuntimeFaults;
    void this.#restarts(random.fork('restarts'));
    void this.#brokenStreams(random.fork('streams'));
    void this.#networkOutages(random.fork('network'));
  }

  heal(): void {
    this.#isDisturbed = false;
    this.#hasNetwork = true;
    this.#faults = noFaults;
    this.#start();
  }

  async #restarts(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(10_000, 40_000));
      const lastsMs = random.integer(100, random.chance(0.2) ? 30_000 : 3_000);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('the runtime restarts')) continue;
      this.#world.count('restart of the runtime');
      this.#world.note('runtime', 'stops', lastsMs);
      this.#isUp = false;
      for (const end of this.#calls) end();
      this.#breakStreams();
      await this.#world.sleep(lastsMs);
      this.#start();
    }
  }

  async #networkOutages(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(15_000, 60_000));
      const lastsMs = random.integer(1_000, 20_000);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('pods have no network')) continue;
      this.#world.count('no network for pods');
      this.#hasNetwork = false;
      await this.#world.sleep(lastsMs);
      this.#hasNetwork = true;
    }
  }

  async #brokenStreams(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 20_000));
      const lastsMs = random.integer(50, 5_000);
      if (!this.#isDisturbed) return;
      if (this.#events === 'none' || !this.#world.happens('the stream of events breaks')) continue;
      this.#world.count('stream of events broken');
      this.#breakStreams();
      await this.#world.sleep(lastsMs);
      this.#openStreams();
    }
  }

  #start(): void {
    if (!this.#isUp) this.#world.note('runtime', 'starts');
    this.#isUp = true;
    this.#openStreams();
  }

  // Events

  #breakStreams(): void {
    for (const subscription of this.#subscriptions) {
      if (!subscription.isOpen) continue;
      subscription.isOpen = false;
      this.#deliver(subscription, () => subscription.onComplete?.(false));
    }
  }

  #openStreams(): void {
    if (!this.#isUp) return;
    for (const subscription of this.#subscriptions) {
      if (subscription.isOpen) continue;
      subscription.isOpen = true;
      if (this.#events === 'complete') this.#deliver(subscription, () => subscription.onComplete?.(true));
    }
  }

  #tell(event: RuntimeEvent): void {
    this.#world.note('runtime', event.type, event.podUID, event.containerID ?? 'sandbox');
    for (const subscription of this.#subscriptions) {
      const isMissed = this.#events === 'some' && this.#random.chance(0.2);
      if (subscription.isOpen && !isMissed) this.#deliver(subscription, () => subscription.listener(event));
    }
  }

  /** In order. */
  #deliver(subscription: Subscription, run: () => void): void {
    const { nowMs } = this.#world;
    subscription.lastArrivalMs = Math.max(subscription.lastArrivalMs + tickMs, nowMs + this.#random.next() * 10);
    subscription.process.receive(subscription.lastArrivalMs - nowMs, () => {
      if (this.#subscriptions.has(subscription)) run();
    });
  }

  // Calls

  #strikes(kind: keyof RuntimeFaults, factor = 1): boolean {
    if (this.#faults[kind] === 0 || !this.#random.chance(this.#faults[kind] * factor)) return false;
    if (!this.#world.happens(`runtime: ${kind}`)) return false;
    this.#world.count(`runtime: ${kind}`);
    return true;
  }

  /** A call over a connection: its effect comes later than the call, and its answer later than the effect. */
  #call<T>(
    process: SimulatedProcess,
    what: readonly (number | string)[],
    signal: AbortSignal | undefined,
    effect: (isCancelled: () => boolean) => Promise<T> | T,
  ): Promise<T> {
    if (!process.isAlive) return new Promise(() => {});
    const [method = ''] = what;
    this.#world.note(process.name, `→ ${method}`, ...what.slice(1).map(String));
    const isSlow = this.#strikes('slow');
    const latencyMs = isSlow ? 1_000 + this.#random.next() * 15_000 : 0.3 + this.#random.next() * 10;
    const isRead = method === 'getPod' || method === 'listPods';
    const backMs = 0.1 + this.#random.next() * (isRead ? this.#readMs : 2);
    const is = {
      failed: this.#strikes('failed'),
      hangs: this.#strikes('hangs'),
      failedAfter: this.#strikes('failedAfter', method === 'pullImage' && this.#hasBadPulls ? badPullsFactor : 1),
      lostAnswer: this.#strikes('lostAnswer'),
    };
    if (method === 'pullImage' && what[1] === this.#lostPull) {
      is.failedAfter = true;
      this.#lostPull = undefined;
    }
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (run: () => void): void => {
        if (isOver) return;
        isOver = true;
        signal?.removeEventListener('abort', onAbort);
        this.#calls.delete(disconnect);
        run();
      };
      const fail = (message: string, delayMs: number, mayHavePulled = true): void =>
        void process.receive(delayMs, () =>
          settle(() => reject(Object.assign(new Error(`${method}: ${message} (simulated)`), { mayHavePulled }))),
        );
      const onAbort = (): void => settle(() => reject(signal?.reason as Error));
      let isCut = false;
      const disconnect = (): void => {
        isCut = true;
        fail('the connection was lost', backMs);
      };
      const isCancelled = (): boolean => isOver || isCut || !process.isAlive;
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
      if (!this.#isUp) return fail('connection refused', backMs);
      this.#calls.add(disconnect);
      if (is.hangs) return;
      this.#world.at(latencyMs, () => {
        if (isCancelled()) return;
        if (is.failed) return fail('failed', backMs, false);
        const answer = (run: () => void): void => {
          if (is.lostAnswer) return;
          if (is.failedAfter) fail('failed after its effect', backMs);
          else if (!isCut) process.receive(backMs, () => settle(run));
        };
        // An effect that throws at once, or later.
        const effected = (async () => effect(isCancelled))();
        effected.then(
          (result) => answer(() => resolve(result)),
          (error: Error) => answer(() => reject(error)),
        );
      });
    });
  }

  #portOf(process: SimulatedProcess, helper: SimulatedHelper): ContainerRuntime {
    const call = <T>(
      what: readonly (number | string)[],
      { signal }: CallOptions = {},
      effect: (isCancelled: () => boolean) => Promise<T> | T,
    ): Promise<T> => this.#call(process, what, signal, effect);
    return {
      status: (options) =>
        call(['status'], options, () => ({
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', status: this.#hasNetwork },
          ],
        })),
      listPods: (options) => call(['listPods'], options, () => [...this.#pods.values()].map((pod) => podOf(pod))),
      getPod: (uid, options) =>
        call(['getPod', uid], options, () => {
          const pod = this.#pods.get(uid);
          return pod && podOf(pod);
        }),
      updateQOSCgroups: (_, options) => call(['updateQOSCgroups'], options, () => {}),
      preparePod: (pod, options) =>
        call(['preparePod', pod.metadata.uid], options, () => {
          this.#prepared.add(pod.metadata.uid);
        }),
      releasePod: ({ metadata: { uid } }, options) =>
        call(['releasePod', uid], options, () => void this.#prepared.delete(uid)),
      runPodSandbox: (config, options) =>
        call(['runPodSandbox', config.pod.metadata.uid], options, (isCancelled) =>
          this.#runPodSandbox(config, isCancelled),
        ),
      stopPodSandbox: (id, options) =>
        call(['stopPodSandbox', id], options, () => {
          const [pod, sandbox] = this.#sandbox(id);
          if (pod !== undefined) this.#stopSandbox(pod, sandbox);
        }),
      removePodSandbox: (id, options) => call(['removePodSandbox', id], options, () => this.#removeSandbox(id)),
      createContainer: async (config, options) => {
        await helper.generateRunContainerOptions(config.pod, config.container, [podIP], options);
        return call(['createContainer', config.pod.metadata.uid, config.container.name, config.attempt], options, () =>
          this.#createContainer(config),
        );
      },
      startContainer: (id, options) =>
        call(['startContainer', id], options, () => {
          const [pod, container] = this.#requireContainer(id);
          if (container.process.run !== undefined) throw new Error(`container ${id} is not in created state`);
          container.startedAtMs = nowOf(this.#machine);
          container.process.start();
          this.#tell({ type: 'started', podUID: pod.uid, containerID: id });
        }),
      stopContainer: (id, gracePeriodSeconds, options) =>
        call(['stopContainer', id, gracePeriodSeconds], options, async () => {
          const [, container] = this.#container(id);
          await container?.process.stop(gracePeriodSeconds);
        }),
      updateContainerResources: (id, resources, options) =>
        call(['updateContainerResources', id], options, () => {
          const [, container] = this.#requireContainer(id);
          if (!container.process.isRunning) throw new Error(`container ${id} is not running`);
          container.resources = resources;
        }),
      ...(this.#hasPodResources && {
        updatePodResources: ({ metadata: { uid } }, step, options) =>
          call(['updatePodResources', uid, step], options, () => {}),
      }),
      listPodStats: (options) => call(['listPodStats'], options, () => [...this.#pods.values()].map(statsOf)),
      removeContainer: (id, options) =>
        call(['removeContainer', id], options, () => {
          const [pod, container] = this.#container(id);
          if (pod === undefined) return;
          const sandbox = pod.sandboxes.find(({ status }) => status.id === container.config.sandboxID);
          container.process.removed(sandbox?.ready === true);
          this.#removeContainer(pod, container);
        }),
      execSync: (id, command, timeoutMs, options) =>
        call(['execSync', id, command.join(' ')], options, () => this.#exec(id, command, timeoutMs)),
      pullImage: (image, pod, options) =>
        call(['pullImage', image, pod.metadata.uid], options, () => this.#pullImage(image, pod)),
      imageRef: (image, options) =>
        call(['imageRef', image], options, () => (this.#images.has(image) ? refOf(image) : undefined)),
      imagePullSecrets: async (image, pod) => pullSecretsFor(image, pod),
      listImages: (options) =>
        call(['listImages'], options, () =>
          [...this.#images].map(([name, { sizeBytes }]): RuntimeImage => ({
            id: refOf(name),
            names: [name],
            sizeBytes,
          })),
        ),
      removeImage: (id, options) =>
        call(['removeImage', id], options, async () => {
          const isFull = this.#onRemoval !== undefined;
          this.#onRemoval?.();
          if (isFull) await this.#world.sleep(slowRemovalMs);
          this.#images.delete(id.slice('sha256:'.length));
        }),
      imageFsStats: (options) =>
        call(['imageFsStats'], options, (): ImageFsStats => {
          const availableBytes = this.#onRemoval === undefined ? 1e11 : 1e9;
          return {
            imageFs: { time: new Date(nowOf(this.#machine)).toISOString(), capacityBytes: 1e11, availableBytes },
          };
        }),
      removePodContent: (shouldPodContentBeRemoved, options) =>
        call(['removePodContent'], options, () => {
          for (const uid of [...this.#logs, ...this.#prepared]) {
            if (!shouldPodContentBeRemoved(uid) || this.#pods.has(uid)) continue;
            this.#logs.delete(uid);
            this.#prepared.delete(uid);
          }
        }),
      ...(this.#events !== 'none' && {
        subscribe: (listener, onComplete) => {
          const subscription: Subscription = { process, listener, onComplete, isOpen: false, lastArrivalMs: 0 };
          this.#subscriptions.add(subscription);
          this.#openStreams();
          return () => void this.#subscriptions.delete(subscription);
        },
      }),
    };
  }

  /** The streams of a process end with it. */
  killed(process: SimulatedProcess): void {
    for (const subscription of this.#subscriptions)
      if (subscription.process === process) this.#subscriptions.delete(subscription);
  }

  // Effects

  async #runPodSandbox({ pod, attempt }: PodSandboxConfig, isCancelled: () => boolean): Promise<string> {
    const { uid } = pod.metadata;
    const takesMs = 20 + this.#random.next() * 300;
    const id = this.#nextID('sandbox');
    this.#logs.add(uid);
    if (!this.#prepared.has(uid))
      this.#world.violate('a pod is prepared before its sandbox', `${pod.metadata.name} ${uid}`);
    await this.#world.sleep(takesMs);
    if (isCancelled()) throw new Error('cancelled (simulated)');
    const known = this.#podOf(pod);
    const ready = known.sandboxes.filter((sandbox) => sandbox.ready);
    if (ready.length > 0)
      this.#world.violate('one sandbox at a time', `${known.name} ${uid}: ${id} and ${ready[0]!.status.id}`);
    const hostNetwork = pod.spec?.hostNetwork ?? false;
    const network = { ip: `10.0.${(this.#lastID >> 8) & 255}.${this.#lastID & 255}` };
    known.sandboxes.unshift({
      status: {
        ...{ id, attempt, ready: true, hostNetwork, createdAtMs: nowOf(this.#machine) },
        ...(!hostNetwork && { network }),
      },
      ready: true,
    });
    this.#tell({ type: 'started', podUID: uid });
    return id;
  }

  #createContainer(config: ContainerConfig): string {
    const { pod, container, attempt, sandboxID = '' } = config;
    const { uid, name } = pod.metadata;
    const [found, sandbox] = this.#sandbox(sandboxID);
    if (found?.uid !== uid || !sandbox?.ready) throw new Error(`sandbox ${sandboxID} is not ready`);
    if (container.command?.[0] === 'invalid') throw new ContainerConfigError('the command is invalid (simulated)');
    const image = container.image ?? '';
    if (!this.#images.has(image)) throw new Error(`image ${image} not found`);
    const id = `${idPrefix}${this.#nextID('container')}`;
    const identity = {
      ...{ podUID: uid, podName: name, container: container.name, id, attempt },
      args: container.args ?? [],
    };
    const process = new SimulatedContainer(this.#world, this.#machine.runs, identity, () => {
      created.finishedAtMs = nowOf(this.#machine);
      this.#tell({ type: 'stopped', podUID: uid, containerID: id });
    });
    const { resources = {} } = container;
    const created: Container = { process, config, resources, createdAtMs: nowOf(this.#machine) };
    found.containers.unshift(created);
    this.#tell({ type: 'created', podUID: uid, containerID: id });
    return id;
  }

  async #exec(id: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    const [, { process }] = this.#requireContainer(id);
    if (!process.isRunning) throw new Error(`container ${id} is not running`);
    const [, failures = '0', takesMs = '5'] = command;
    const isFailed = this.#random.chance(Number(failures));
    await this.#world.sleep(Math.min(Number(takesMs), timeoutMs));
    if (Number(takesMs) >= timeoutMs) throw new Error(`command timed out after ${timeoutMs} ms (simulated)`);
    return { exitCode: isFailed ? 1 : 0, stdout: '', stderr: '' };
  }

  async #pullImage(image: string, pod: ValidPod): Promise<PulledImage> {
    await this.#world.sleep(this.#random.integer(50, 3_000));
    if (image.startsWith('missing')) throw new Error('not found (simulated)');
    if (image.startsWith('unreachable')) throw new ImageError('RegistryUnavailable', 'unreachable (simulated)');
    const [pullSecret] = pullSecretsFor(image, pod);
    if (isPrivate(image) && pullSecret === undefined) throw new Error('authorization failed (simulated)');
    this.#images.set(image, { sizeBytes: 1_000_000 });
    return { imageRef: refOf(image), sizeBytes: 1_000_000, pullSecret: isPrivate(image) ? pullSecret : undefined };
  }

  #stopSandbox(pod: Pod, sandbox: Sandbox): void {
    for (const { process, config } of pod.containers) if (config.sandboxID === sandbox.status.id) process.kill();
    if (!sandbox.ready) return;
    sandbox.ready = false;
    this.#tell({ type: 'stopped', podUID: pod.uid });
  }

  #removeSandbox(id: string): void {
    const [pod, sandbox] = this.#sandbox(id);
    if (pod === undefined) return;
    this.#stopSandbox(pod, sandbox);
    for (const container of pod.containers.filter(({ config }) => config.sandboxID === id))
      this.#removeContainer(pod, container);
    pod.sandboxes.splice(pod.sandboxes.indexOf(sandbox), 1);
    this.#forgetIfEmpty(pod);
    this.#tell({ type: 'deleted', podUID: pod.uid });
  }

  #removeContainer(pod: Pod, container: Container): void {
    container.process.kill();
    pod.containers.splice(pod.containers.indexOf(container), 1);
    this.#forgetIfEmpty(pod);
    this.#tell({ type: 'deleted', podUID: pod.uid, containerID: container.process.identity.id });
  }

  #forgetIfEmpty(pod: Pod): void {
    if (pod.sandboxes.length + pod.containers.length === 0) this.#pods.delete(pod.uid);
  }

  #podOf({ metadata: { uid, name, namespace } }: ValidPod): Pod {
    const pod = this.#pods.get(uid) ?? { uid, name, namespace, sandboxes: [], containers: [] };
    this.#pods.set(uid, pod);
    return pod;
  }

  #sandbox(id: string): [Pod, Sandbox] | [undefined, undefined] {
    for (const pod of this.#pods.values()) {
      const sandbox = pod.sandboxes.find(({ status }) => status.id === id);
      if (sandbox !== undefined) return [pod, sandbox];
    }
    return [undefined, undefined];
  }

  #container(id: string): [Pod, Container] | [undefined, undefined] {
    for (const pod of this.#pods.values()) {
      const container = pod.containers.find(({ process }) => process.identity.id === id);
      if (container !== undefined) return [pod, container];
    }
    return [undefined, undefined];
  }

  #requireContainer(id: string): [Pod, Container] {
    const [pod, container] = this.#container(id);
    if (pod === undefined) throw new Error(`container ${id} not found`);
    return [pod, container];
  }

  #nextID(prefix: string): string {
    return `${prefix}-${++this.#lastID}`;
  }
}

function podOf({ uid, name, namespace, sandboxes, containers }: Pod): RuntimePod {
  return {
    ...{ uid, name, namespace },
    sandboxes: sandboxes.map(({ status, ready }) => ({ ...status, ready })),
    containers: containers.map((container) => statusOf(container)),
  };
}

/** Each container uses the same, some of which is on disk. */
function statsOf({ uid, name, namespace, containers }: Pod): PodStats {
  const running = containers.filter(({ process }) => process.isRunning);
  const statsOfContainer = ({ process, createdAtMs }: Container): PodStats['containers'][number] => {
    const time = new Date(createdAtMs).toISOString();
    return {
      ...{ name: process.identity.container, startTime: time, memory: { time, usageBytes } },
      rootfs: { time, usedBytes: usageBytes },
    };
  };
  const startTime = new Date(0).toISOString();
  return { podRef: { uid, name, namespace }, startTime, containers: running.map(statsOfContainer) };
}

function statusOf({
  process,
  config,
  createdAtMs,
  resources,
  startedAtMs,
  finishedAtMs,
}: Container): RuntimeContainerStatus {
  const { id, container, attempt } = process.identity;
  const { exitCode } = process.run ?? {};
  const { sandboxID, hash, imageRef } = config;
  return {
    ...{ id, attempt, createdAtMs, sandboxID, hash, resources, name: container },
    state: process.isRunning ? 'running' : process.run === undefined ? 'created' : 'exited',
    image: config.container.image,
    imageID: imageRef,
    ...(startedAtMs !== undefined && { startedAtMs }),
    ...(exitCode !== undefined && { finishedAtMs, exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' }),
  };
}

function refOf(image: string): string {
  return `sha256:${image}`;
}
