import { checkForeignConditions, checkTerminalIsFinal } from '../../chaos/invariants.ts';
import type { Random } from '../../chaos/random.ts';
import { nodeName, podNames } from '../../chaos/users.ts';
import { checkDeletes, checkWrites } from '../manager/check-calls.ts';
import type { Call } from '../network.ts';
import { PodUsers } from '../pod-users.ts';
import type { Setting } from '../setting.ts';
import { SignalListeners } from '../signal-listeners.ts';
import { SimulatedCluster } from '../simulated-cluster.ts';
import { SimulatedDisk } from '../simulated-disk.ts';
import type { World } from '../world.ts';
import { makeAgentPod, makeDaemon, makeManifest } from './agent-pods.ts';
import { AgentGuarantees } from './agent-guarantees.ts';
import { AgentProcess } from './agent-process.ts';
import {
  checkStatuses,
  containerStatuses,
  differenceToRuns,
  isMirror,
  isResizing,
  isTerminal,
} from './check-statuses.ts';
import { type ContainerRun, ContainerRuns } from './container-runs.ts';
import { createMachine, type CreateNodeRuntime, type Machine, type NodeRuntime } from './node-runtime.ts';
import { ObjectOwners } from './object-owners.ts';
import { resize, resizedSpec } from './pod-resources.ts';
import { SimulatedRuntime } from './simulated-runtime.ts';
import { rootDirectory, SimulatedVolumes } from './simulated-volumes.ts';
import { StaticPods } from './static-pods.ts';
import { leaveStrangeRecords } from './strange-records.ts';

const settleMs = 400_000;
/** A sync that takes longer waits for a pull: all other calls have a shorter deadline. */
const longSyncMs = 200_000;
/** A stop that terminates the pods takes their grace periods. */
const stopMs = 90_000;
/** Garbage is collected every minute. */
const goneMs = 250_000;
/** How long everything works before the end of a container must be prompt, and for how long then. */
const recoveryMs = 60_000;
const healthyMs = 30_000;
const promptMs = 5_000;
/** Images are collected every five minutes. */
const imageGCMs = 310_000;
/** How long an iteration of the sync loop may take, and how often that is checked. */
const iterationMs = 30_000;
const iterationCheckMs = 5_000;
/** When all works, a new pod asks for its images within this time, and has them; after a failure, it tries again. */
const pullRequestMs = 100;
const pullMs = 5_000;
const pullAgainMs = 20_000;
/** In a minute. */
const maxQuietCalls = 120;
const maxListeners = 10;

/** A node agent with a runtime in memory. */
export const agentSetting: Setting = createAgentSetting('agent', (machine) => new SimulatedRuntime(machine));

/** A node agent, which is killed and restarted, and what it runs on. */
export function createAgentSetting(name: string, createRuntime: CreateNodeRuntime): Setting {
  return {
    name,
    run: async (world) => {
      const listeners = new SignalListeners();
      try {
        await new AgentSimulation(world, createRuntime, listeners).run();
      } finally {
        listeners.restore();
      }
    },
  };
}

class AgentSimulation {
  readonly #world: World;
  readonly #random: Random;
  readonly #cluster: SimulatedCluster;
  readonly #guarantees: AgentGuarantees;
  readonly #machine: Machine;
  readonly #runtime: NodeRuntime;
  readonly #volumes: SimulatedVolumes;
  readonly #disk: SimulatedDisk;
  readonly #objects: ObjectOwners;
  readonly #listeners: SignalListeners;
  readonly #users: PodUsers;
  readonly #staticPods: StaticPods;
  #current: AgentProcess;
  readonly #agents: AgentProcess[] = [];
  #iteration: { readonly at: string | undefined; sinceMs: number; checkedMs: number } = {
    ...{ at: undefined, sinceMs: 0, checkedMs: 0 },
  };
  #isDisturbed = true;
  #isDown = false;
  #stopping: Promise<void> | undefined;

  constructor(world: World, createRuntime: CreateNodeRuntime, listeners: SignalListeners) {
    this.#listeners = listeners;
    this.#world = world;
    this.#random = world.random.fork('agent setting');
    this.#cluster = new SimulatedCluster(world, [nodeName]);
    const guarantees = new AgentGuarantees(world, this.#cluster);
    this.#guarantees = guarantees;
    this.#machine = createMachine(world, new ContainerRuns(world, guarantees));
    guarantees.runs = this.#machine.runs;
    this.#runtime = createRuntime(this.#machine);
    this.#volumes = new SimulatedVolumes(this.#machine);
    guarantees.volumes = this.#volumes;
    this.#disk = new SimulatedDisk(world, 'node');
    if (this.#random.fork('strange records').chance(0.15)) leaveStrangeRecords(this.#disk);
    this.#objects = new ObjectOwners(world, this.#cluster);
    this.#staticPods = new StaticPods(world, this.#volumes.files, makeManifest);
    this.#users = new PodUsers(world, this.#cluster, {
      names: podNames(world.size.pods),
      makePod: makeAgentPod,
      change: (name, random) => this.#change(name, random),
    });
    this.#current = this.#start();
    this.#guarantees.onCall = () => this.#checkSyncLoop();
  }

  async run(): Promise<void> {
    const world = this.#world;
    this.#users.start();
    this.#objects.start();
    if (this.#random.chance(0.5)) this.#staticPods.start(['static-0', 'static-1']);
    if (this.#random.fork('daemon').chance(0.5)) void this.#useDaemon(this.#random.fork('use of a daemon'));
    if (this.#random.chance(0.8))
      this.#cluster.disturb(this.#random.fork('cluster'), this.#random.pick([0.3, 1, 1, 2]));
    // Pods end while their Secrets are being read.
    if (this.#random.fork('slow objects').chance(0.2)) this.#cluster.network.slowPaths = /\/(secrets|configmaps)\//;
    if (this.#random.chance(0.8)) this.#runtime.disturb(this.#random.fork('runtime'));
    if (this.#random.chance(0.7)) this.#volumes.files.disturb(this.#random.pick([0.3, 1, 2]));
    for (const disturb of [this.#restarts, this.#clockJumps, this.#pauses, this.#fullDisks, this.#removedImages]) {
      if (this.#random.chance(0.7)) void disturb.call(this, this.#random.fork(disturb.name));
    }
    await world.sleep(world.size.forMs);

    await this.#heal();
    if (this.#random.chance(0.5)) await this.#checkHealthy();
    this.#users.stop();
    this.#staticPods.stop();
    this.#users.release(this.#random.fork('release'));
    await world.until('everything settles', settleMs, () => this.#difference());
    if (this.#random.fork('last crash').chance(0.3)) await this.#killAtStart();
    await this.#runtime.checkRunning?.();
    if (this.#random.fork('private image').chance(0.5)) await this.#usePrivateImage(this.#random.fork('short'));
    await this.#deleteAll();
    await world.until('nothing is left of pods that are gone', goneMs, () => this.#leftover());
    if (this.#random.fork('images').chance(0.3)) await this.#collectImages();
    // No process can end a file call that hangs, nor close what it has open.
    await world.sleep(this.#volumes.files.hangsForMs);
    await this.#checkQuiet();
    await this.#runtime.checkQuiet?.();
    await this.#stop(this.#current, true);
    this.#checkHistory();
  }

  async #heal(): Promise<void> {
    this.#isDisturbed = false;
    this.#world.note('world', 'all faults end');
    this.#cluster.heal();
    this.#runtime.heal();
    this.#volumes.files.heal();
    this.#disk.isFull = false;
    this.#disk.isBroken = false;
    this.#objects.stop();
    this.#current.process.resume();
    await this.#stopping;
    if (!this.#isDown) return;
    this.#kill();
    this.#isDown = false;
    this.#current = this.#start();
  }

  #start(): AgentProcess {
    const number = this.#agents.length + 1;
    const random = this.#random.fork(`options ${number}`);
    const agent = {
      runtimeRequestTimeoutMs: random.integer(5_000, 20_000),
      imagePulls: random.pick([
        {},
        random.fork('parallel').chance(0.5) ? { serializeImagePulls: false } : { maxParallelImagePulls: 2 },
        { imagePullCredentialsVerificationPolicy: 'AlwaysVerify' as const },
        {
          imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages' as const,
          preloadedImagesVerificationAllowlist: ['a', 'registry.example/*'],
        },
      ]),
      imageGC: { minimumAgeMs: 0 },
      statusManager: {
        concurrency: random.pick([1, 4, 16]),
        readBeforePatch: random.pick(['always', 'when-stale'] as const),
        patchStrategy: random.pick(['strategic-merge', 'json-patch'] as const),
        requestTimeoutMs: random.pick([3_000, 10_000]),
      },
    };
    const token = this.#cluster.server.nodeToken(nodeName);
    const surroundings = {
      ...{
        network: this.#cluster.network,
        disk: this.#disk,
        runtime: this.#runtime,
        staticPods: this.#staticPods,
        volumes: this.#volumes,
      },
      watcher: this.#guarantees,
    };
    const started = new AgentProcess(this.#world, surroundings, {
      ...{ number, nodeName, token, agent },
      onLog: (level, message, fields) => this.#onLog(level, message, fields),
      onPreemption: (fields) => this.#guarantees.preempting(fields),
    });
    this.#agents.push(started);
    this.#guarantees.agentStarts();
    started.process.wallOffsetMs = this.#machine.wallOffsetMs;
    this.#world.count('start');
    this.#world.note(started.process.name, 'start', agent);
    started.start().catch((error: unknown) => {
      this.#world.violate('the agent starts', (error as Error).stack ?? String(error));
    });
    return started;
  }

  #kill({ process } = this.#current): void {
    if (!process.isAlive) return;
    this.#world.count('kill');
    this.#world.note(process.name, 'killed');
    process.kill();
    this.#listeners.forget();
    this.#cluster.network.killed(process);
    this.#runtime.killed(process);
    this.#volumes.files.killed(process);
  }

  async #stop(stopped: AgentProcess, drain: boolean, terminatePods = false): Promise<void> {
    this.#world.note(stopped.process.name, 'stop', { drain, terminatePods });
    this.#guarantees.isShuttingDown = terminatePods;
    const isStopped = stopped.stop({ drain, terminatePods }).then(
      () => true,
      (error: unknown) => this.#world.violate('the agent stops', (error as Error).stack ?? String(error)),
    );
    const inTime = await Promise.race([isStopped, this.#world.sleep(stopMs).then(() => false)]);
    if (inTime === false && stopped.process.isAlive)
      this.#world.violate('the agent stops', `not within ${stopMs / 1_000} s`);
    if (stopped.process.isAlive) this.#kill(stopped);
    this.#guarantees.isShuttingDown = false;
  }

  // What happens to it

  async #restarts(random: Random): Promise<void> {
    const world = this.#world;
    for (;;) {
      await world.sleep(random.integer(4_000, 30_000));
      const how = random.weighted({ kill: 4, stop: 2, shutdown: 1 });
      const drain = random.chance(0.5);
      const downMs = random.integer(10, random.chance(0.2) ? 20_000 : 1_500);
      if (!this.#isDisturbed) return;
      if (!world.happens(how)) continue;
      this.#isDown = true;
      if (how !== 'kill') {
        world.count(how);
        this.#current.process.resume();
        this.#evictOne(random.fork(`eviction ${this.#agents.length}`));
        this.#stopping = this.#stop(this.#current, drain, how === 'shutdown');
        await this.#stopping;
        this.#stopping = undefined;
      } else this.#kill();
      await world.sleep(downMs);
      if (!this.#isDown || !this.#isDisturbed) return;
      this.#isDown = false;
      this.#damageRecord(random.fork(`damage ${this.#agents.length}`));
      this.#current = this.#start();
    }
  }

  /** Somebody evicts a pod, and does not wait for its end. */
  #evictOne(random: Random): void {
    const { agent } = this.#current;
    const pods = [...this.#cluster.pods.values()].filter(
      (pod) => this.#machine.runs.running(pod.metadata.uid).length > 0,
    );
    const pod = pods[random.integer(0, pods.length - 1)];
    if (!random.chance(0.3) || pod === undefined || !this.#world.happens('an eviction before a stop')) return;
    this.#world.count('eviction before a stop');
    this.#guarantees.changed.add(pod.metadata.uid);
    void agent?.evict(pod, { reason: 'Evicted', message: 'simulated' }).catch(() => {});
  }

  /** A byte of the record of a pulled image is wrong when the next agent reads it: its pods need credentials again. */
  #damageRecord(random: Random): void {
    const records = this.#disk.filesBelow(`${rootDirectory}/image_manager`);
    const chosen = records[random.integer(0, records.length - 1)];
    if (!random.chance(0.3) || chosen === undefined || !this.#world.happens('a record is damaged')) return;
    this.#world.count('record damaged');
    this.#disk.damage(chosen, random.integer(0, 60), 0x23);
  }

  async #clockJumps(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 30_000));
      const offsetMs = random.integer(-4_000_000, 4_000_000);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('clock jump')) continue;
      this.#world.count('clock jump');
      this.#machine.wallOffsetMs = offsetMs;
      this.#current.process.wallOffsetMs = offsetMs;
    }
  }

  async #pauses(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(8_000, 30_000));
      const lastsMs = random.integer(100, random.chance(0.2) ? 60_000 : 4_000);
      const { process } = this.#current;
      if (!this.#isDisturbed) return;
      if (this.#stopping !== undefined || !this.#world.happens('pause')) continue;
      this.#world.count('pause');
      this.#world.note(process.name, 'paused');
      process.pause();
      await this.#world.sleep(lastsMs);
      process.resume();
    }
  }

  async #fullDisks(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(8_000, 30_000));
      const lastsMs = random.integer(200, 5_000);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('full disk')) continue;
      this.#world.count('full disk');
      this.#disk.isFull = true;
      this.#volumes.files.isFull = true;
      this.#disk.isBroken = random.fork(String(this.#world.nowMs)).chance(0.3);
      await this.#world.sleep(lastsMs);
      this.#disk.isFull = false;
      this.#disk.isBroken = false;
      this.#volumes.files.isFull = false;
    }
  }

  /** Somebody removes images, so that they are pulled again. */
  async #removedImages(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(1_000, 8_000));
      const image = random.pick(['private:1', 'private:1', 'a:1', 'b:1']);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('an image is removed')) continue;
      this.#world.count('image removed');
      this.#runtime.removeImage(image);
    }
  }

  /** The containers of a pod that stays end now and then, and are resized. */
  async #useDaemon(random: Random): Promise<void> {
    const name = 'pod-daemon';
    const pod = makeDaemon(name, random);
    this.#cluster.attempt(() => void this.#cluster.server.pods.create(pod));
    for (;;) {
      await this.#world.sleep(random.pick([random.integer(20, 400), random.integer(300, 3_000)]));
      const isExit = random.chance(0.1);
      const limit = `${random.integer(2, 9)}00m`;
      if (!this.#isDisturbed) return;
      if (!this.#world.happens(`${name}: ${isExit ? 'exit' : 'resize'}`)) continue;
      if (isExit) this.#machine.runs.running(this.#cluster.pods.get(name)!.metadata.uid)[0]?.exit(1, 'own');
      else this.#cluster.resize(name, 'c0', { requests: { cpu: '100m' }, limits: { cpu: limit } });
    }
  }

  /** What happens to a pod beside its creation and deletion. */
  #change(name: string, random: Random): void {
    const pod = this.#cluster.pods.get(name);
    const what = random.weighted({ exit: 5, sandbox: 1, image: 1, evict: 1, resize: 3 });
    const exitCode = random.integer(0, 2);
    const chosen = random.next();
    const image = random.pick(['a:1', 'b:1', 'b:2']);
    if (pod === undefined) return;
    const { uid } = pod.metadata;
    const running = this.#machine.runs.running(uid);
    const resized = what === 'resize' ? resizedSpec(pod, random.fork('resize')) : undefined;
    if (what === 'resize' ? resized === undefined : what !== 'image' && running.length === 0) return;
    if (!this.#world.happens(`${name}: ${what}`)) return;
    this.#world.count(`change: ${what}`);
    if (what === 'exit') running[Math.floor(chosen * running.length)]!.exit(exitCode, 'own');
    else if (what === 'evict') {
      this.#guarantees.changed.add(uid);
      void this.#current.agent?.evict(pod, { reason: 'Evicted', message: 'simulated' }).catch(() => {});
    } else if (resized !== undefined) {
      this.#guarantees.changed.add(uid);
      resize(this.#cluster.server, name, resized);
    } else if (what === 'sandbox') {
      this.#guarantees.lost.add(uid);
      this.#runtime.loseSandbox(uid);
    } else {
      this.#guarantees.changed.add(uid);
      const { name: container } = pod.spec.containers[0];
      const patch = { spec: { containers: [{ name: container, image }] } };
      this.#cluster.attempt(() => this.#cluster.server.pods.patch('default', name, patch));
    }
  }

  // Invariants

  #onLog(level: 'warn' | 'error', message: string, fields: object): void {
    this.#world.count(`${level}: ${message}`);
    if (/unexpected|callback threw|bug/i.test(message))
      this.#world.violate('no unexpected error is logged', `${message} ${JSON.stringify(fields)}`);
  }

  /** When all has worked for a while, the end of a container is soon on the API server. */
  async #checkHealthy(): Promise<void> {
    await this.#world.sleep(recoveryMs);
    this.#world.note('world', 'healthy');
    this.#guarantees.onEnded = (run) => {
      const { process } = this.#current;
      // An agent that is killed in the meantime does not report it.
      this.#world.at(promptMs, () => process.isAlive && this.#checkShown(run));
    };
    this.#guarantees.onStarted = (run) => this.#runtime.checkStarted?.(run);
    await this.#world.sleep(healthyMs);
    this.#guarantees.onEnded = undefined;
    this.#guarantees.onStarted = undefined;
  }

  /** Nothing that takes long is awaited by the sync loop. Called often: an event of its own would change all worlds. */
  #checkSyncLoop(): void {
    const { nowMs } = this.#world;
    const { agent, process, isStopped } = this.#current;
    if (nowMs < this.#iteration.checkedMs + iterationCheckMs) return;
    const { lastIterationAt: at, runtimeErrors, isRunning } = agent?.inspect().syncLoop ?? {};
    const isBusy = isRunning === true && !isStopped && !process.isPaused && runtimeErrors?.length === 0;
    // It may have been paused since the last check.
    const isLate = nowMs > this.#iteration.checkedMs + 2 * iterationCheckMs;
    if (!isBusy || isLate || at !== this.#iteration.at) this.#iteration = { at, sinceMs: nowMs, checkedMs: nowMs };
    else this.#iteration.checkedMs = nowMs;
    if (nowMs - this.#iteration.sinceMs < iterationMs) return;
    this.#iteration.sinceMs = nowMs;
    this.#world.violate('the sync loop waits for nothing', `${process.name}: its last iteration began at ${at}`);
  }

  #checkShown({ podUID, podName, container, id, attempt }: ContainerRun): void {
    const pod = this.#cluster.pods.get(podName);
    if (pod?.metadata.uid !== podUID || isMirror(pod)) return;
    const worker = this.#current.agent?.inspect().podWorkers.find(({ uid }) => uid === podUID);
    // A sync that waits for the end of another container, or for a pull.
    if (worker?.syncStartedAt !== undefined || worker?.failingSince !== undefined) return;
    const status = containerStatuses(pod).find(({ name }) => name === container);
    const shown = [status?.state?.terminated, status?.lastState?.terminated].map((state) => state?.containerID);
    if (shown.includes(id) || status?.restartCount > attempt) return;
    const details = `${podName} ${podUID} ${container} ${id}: ${JSON.stringify(status?.state)}`;
    this.#world.violate('the end of a container is prompt while everything works', details);
  }

  /** What is not as it should be when all has settled. */
  #difference(): string | undefined {
    const { agent } = this.#current;
    if (agent?.state !== 'running') return `the agent is ${agent?.state ?? 'not created'}`;
    const { podWorkers, statusManager } = agent.inspect();
    // As with the kubelet, a pull without a response has no end, and a sync does not replace the mirror pod before it ends.
    const longAgoMs = this.#current.process.clock.now() - longSyncMs;
    const isPulling = (podName: string): boolean =>
      podWorkers.some(
        ({ fullName, syncStartedAt }) =>
          fullName === `${podName}_default` && Date.parse(syncStartedAt ?? '') < longAgoMs,
      );
    for (const pod of this.#cluster.pods.values()) {
      const { name, uid, deletionTimestamp, finalizers } = pod.metadata;
      if (deletionTimestamp != null && !(finalizers?.length > 0)) return `${name} ${uid} still exists`;
      // As with the kubelet, a static pod that has ended before its mirror pod was replaced keeps that of its last version.
      if (isMirror(pod) && (isTerminal(pod) || isPulling(name))) continue;
      if (isResizing(pod)) return `${name} ${uid} is still resized: ${JSON.stringify(pod.status.conditions)}`;
      const difference = differenceToRuns(pod, this.#machine.runs);
      if (difference !== undefined) return `${name} ${uid}: ${difference}`;
    }
    // As with the kubelet, a static pod that has ended before it had a mirror pod gets none any more.
    const hasEnded = (podUID: string): boolean =>
      podWorkers.some(({ uid, isFinished }) => uid === podUID && isFinished);
    const unsent = statusManager.pods.find(
      ({ unsentSince, podIsFinished, podUID, waitingFor }) =>
        unsentSince !== undefined && !(waitingFor?.kind === 'mirror-pod' && (podIsFinished || hasEnded(podUID))),
    );
    if (unsent !== undefined) return `unsent: ${JSON.stringify(unsent)}`;
    return undefined;
  }

  async #deleteAll(): Promise<void> {
    this.#world.note('world', 'all pods are deleted');
    this.#staticPods.clear();
    const { pods } = this.#cluster.server;
    for (const [name, pod] of this.#cluster.pods) {
      if (isMirror(pod)) continue;
      this.#cluster.attempt(() => pods.delete('default', name, {}));
      this.#cluster.attempt(() => pods.patch('default', name, { metadata: { finalizers: null } }));
    }
  }

  /** The agent is killed when a container has been started, before it knows that. */
  async #killAtStart(): Promise<void> {
    const started = new Promise<ContainerRun>((resolve) => (this.#guarantees.onStarted = resolve));
    this.#create('pod-last', 'a:1');
    const run = await Promise.race([started, this.#world.sleep(settleMs)]);
    this.#guarantees.onStarted = undefined;
    if (run === undefined || !this.#world.happens('kill at a start')) return;
    this.#kill();
    await this.#world.sleep(100);
    this.#current = this.#start();
    await this.#world.until('everything settles', settleMs, () => this.#difference());
  }

  /**
   * A pod ends while its private image is pulled, or the answer of the pull is lost; one without the Secret tries to use the
   * image, then or in the meantime.
   */
  async #usePrivateImage(random: Random): Promise<void> {
    const [beforeMs, isWaiting] = [random.integer(100, 2_000), random.chance(0.5)];
    const isLost = random.fork('answers').chance(0.4) && this.#world.happens('the answer of a pull is lost');
    if (isLost) this.#runtime.loseAnswerOfPull?.('private:2');
    this.#create('pod-short', 'private:2', [{ name: 'pull-secret' }]);
    await this.#world.sleep(beforeMs);
    if (isWaiting) this.#create('pod-stranger', 'private:2');
    await this.#world.sleep(pullRequestMs);
    const { pods } = this.#cluster.server;
    if (!isLost) this.#cluster.attempt(() => pods.delete('default', 'pod-short', { gracePeriodSeconds: 0 }));
    await this.#world.sleep(pullMs);
    if (!isWaiting) this.#create('pod-stranger', 'private:2');
    await this.#world.sleep(pullAgainMs);
  }

  /** A private image that is pulled while others are removed stays one. */
  async #collectImages(): Promise<void> {
    const removal = this.#runtime.fillDisk?.('private:1');
    if (removal === undefined) return;
    this.#world.note('world', 'the disk is full of images');
    await Promise.race([removal, this.#world.sleep(imageGCMs)]);
    this.#create('pod-with-secret', 'private:1', [{ name: 'pull-secret' }]);
    await this.#world.sleep(20_000);
    this.#create('pod-without-secret', 'private:1');
    await this.#world.sleep(20_000);
    await this.#deleteAll();
    await this.#world.until('nothing is left of pods that are gone', goneMs, () => this.#leftover());
  }

  #create(name: string, image: string, imagePullSecrets?: readonly object[]): void {
    const containers = [{ name: 'c0', image, args: ['forever'] }];
    const spec = { nodeName, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers };
    const pod = {
      metadata: { name, namespace: 'default' },
      spec: { ...spec, ...(imagePullSecrets && { imagePullSecrets }) },
    };
    this.#cluster.attempt(() => void this.#cluster.server.pods.create(pod));
  }

  /** What is left although no pod exists any more. */
  #leftover(): string | undefined {
    const [name] = this.#cluster.pods.keys();
    if (name !== undefined) return `the pod ${name}`;
    if (this.#machine.runs.runningCount > 0) return `${this.#machine.runs.runningCount} containers run`;
    const [uid] = this.#runtime.podsLeft();
    if (uid !== undefined) return `the runtime has the pod ${uid}`;
    const [folder] = this.#volumes.folders;
    if (folder !== undefined) return `the folder of the pod ${folder}`;
    const { podWorkers, probes, statusManager, events } = this.#current.agent!.inspect();
    if (events !== undefined && events.queued > 0) return `${events.queued} events are unsent`;
    if (podWorkers.length > 0) return `a worker: ${JSON.stringify(podWorkers[0])}`;
    if (statusManager.pods.length > 0) return `a status: ${JSON.stringify(statusManager.pods[0])}`;
    return probes > 0 ? `${probes} probe workers` : undefined;
  }

  /** Without pods, only the node is reported and the runtime is asked for its state. */
  async #checkQuiet(): Promise<void> {
    const { calls } = this.#cluster.network;
    await this.#world.sleep(10_000);
    const before = calls.length;
    const runtimeCalls = this.#guarantees.calls;
    await this.#world.sleep(60_000);
    const noise = calls
      .slice(before)
      .filter(({ path }) => !/\/(leases|nodes)\/|^\/api\/v1\/(pods|services)$/.test(path));
    if (noise.length > 0) {
      const details = noise
        .slice(0, 3)
        .map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(body ?? '')}`);
      this.#world.violate('nothing is sent when all is quiet', details.join('; '));
    }
    const { most, mostOfLight } = this.#listeners;
    if (Math.max(most, mostOfLight) > maxListeners)
      this.#world.violate('nothing is left when all is quiet', `${most} and ${mostOfLight} listeners of one signal`);
    const asked = this.#guarantees.calls - runtimeCalls;
    if (asked > maxQuietCalls) this.#world.violate('work is bounded', `${asked} calls of the runtime without pods`);
  }

  #checkHistory(): void {
    const { history, network, server } = this.#cluster;
    // As with the kubelet, a patch that removes the last condition also removes those that were added since the pod was read.
    const removed = new Set(network.calls.map(({ body }) => body as StatusPatch | undefined).map(uidWithoutConditions));
    const violations = [
      // A static pod may run again after the node was shut down.
      ...checkTerminalIsFinal(history.filter(({ pod }) => !isMirror(pod))),
      ...checkForeignConditions(history.filter(({ pod }) => !removed.has(pod.metadata.uid))),
      // Mirror pods are deleted by another part than the one that writes their statuses.
      ...checkWrites(network.calls.filter((call) => call.path.includes('/pods/pod-') && !isDryRun(call))),
      ...checkDeletes(
        network.calls.filter(({ path }) => path.includes('/pods/pod-')),
        new Map([...history.map(({ pod }) => [pod.metadata.uid, 0] as const), ...this.#machine.runs.endedMs]),
        ({ process }, uid) => this.#agents.some((agent) => agent.process === process && agent.recovered.has(uid)),
      ),
      ...checkStatuses(history, this.#machine.runs),
    ];
    violations.push(...this.#volumes.checkTokens(network.calls), ...this.#volumes.checkDeletions(network.calls));
    for (const { invariant, details } of violations) this.#world.violate(invariant, details);
    const { requests, watches } = server.faults.inFlight.counts;
    if (requests + watches + network.streams.size > 0)
      this.#world.violate('stop() leaves nothing', `${requests} requests, ${watches} watches`);
    const { files } = this.#volumes;
    // No process can end a file call, so stop() does not wait for one that is in progress.
    const openFiles = files.isBusy(this.#current.process) ? [] : files.openFiles(this.#current.process);
    if (openFiles.length + files.watches > 0)
      this.#world.violate('stop() leaves nothing', `open ${openFiles.join(' ')}, ${files.watches} watched folders`);
    if (this.#runtime.openConnections > 0)
      this.#world.violate('stop() leaves nothing', `${this.#runtime.openConnections} connections of the runtime`);
  }
}

interface StatusPatch {
  readonly metadata?: { readonly uid?: string };
  readonly status?: { readonly conditions?: readonly unknown[] | null };
}

function uidWithoutConditions(patch: StatusPatch | undefined): string | undefined {
  return patch?.status?.conditions === null ? patch.metadata?.uid : undefined;
}

/** A permission is checked with a PATCH that changes nothing. */
function isDryRun({ method, body }: Call): boolean {
  return method === 'PATCH' && !Array.isArray(body) && Object.keys(body as object).join() === 'metadata';
}
