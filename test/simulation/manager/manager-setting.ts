import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import type { StatusOutcome } from '../../../src/status-manager/index.ts';
import { checkForeignConditions, checkTerminalIsFinal, checkVersions, differenceTo } from '../../chaos/invariants.ts';
import { type AgentOptions, type AgentReport, type PodRuntime, readMessage } from '../../chaos/protocol.ts';
import type { Random } from '../../chaos/random.ts';
import { nodeName, podNames } from '../../chaos/users.ts';
import type { Call } from '../network.ts';
import { PodUsers } from '../pod-users.ts';
import type { Setting } from '../setting.ts';
import { SimulatedCluster } from '../simulated-cluster.ts';
import { SimulatedDisk } from '../simulated-disk.ts';
import type { World } from '../world.ts';
import { checkConcurrency, checkDeletes, checkPauses, checkTerminalPhases, checkWrites } from './check-calls.ts';
import { ManagerProcess } from './manager-process.ts';

/** How long everything works before a status must be prompt, and for how long then. */
const recoveryMs = 45_000;
const healthyMs = 30_000;
/** For how long the API server may not have a pod's newest status while everything works. */
const promptMs = 2_000;
const backOffCheckMs = 700;
const hotLoopMessage = 'The API server does not keep what is written';
const maxJumpMs = 4_000_000;
const maxWallOffsetMs = maxJumpMs;
const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);

/** `StatusManager` with its real engine, informer and journal, which is killed and restarted. */
export const managerSetting: Setting = { name: 'manager', run: (world) => new ManagerSimulation(world).run() };

class ManagerSimulation {
  readonly #world: World;
  readonly #random: Random;
  readonly #cluster: SimulatedCluster;
  readonly #disk: SimulatedDisk;
  readonly #users: PodUsers;
  readonly #fsync: FsyncPolicy | undefined;
  readonly #runtime = new Map<string, PodRuntime>();
  /** By pod UID: when its containers had ended. */
  readonly #endedMs = new Map<string, number>();
  /** Process and pod UID → what `podCouldHaveRunningContainers` returned, when that changed. */
  readonly #answers = new Map<string, readonly { readonly atMs: number; readonly could: boolean }[]>();
  /** By pod UID: the newest version that was accepted and must survive. */
  readonly #accepted = new Map<string, number>();
  /**
   * Pods whose newest version may be lost by a crash: the disk was full, or the wall clock was behind that of an earlier
   * process, so that the recorded status may look older than one that the API server got before.
   */
  readonly #mayBeLost = new Set<string>();
  /** By the name of the process. */
  readonly #concurrency = new Map<string, number>();
  #current: ManagerProcess;
  #started = 0;
  #wallOffsetMs = 0;
  /** The latest time of the wall clock in an earlier process. */
  #earlierWallMs = 0;
  #latestWallMs = 0;
  #hasBeenFull = false;
  #hasLostPower = false;
  #isOver = false;
  #isDisturbed = true;
  #isDown = false;
  #stopping: Promise<void> | undefined;
  /** Since when everything works and has recovered. */
  #healthySinceMs: number | undefined;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork('manager setting');
    this.#cluster = new SimulatedCluster(world, [nodeName]);
    this.#disk = new SimulatedDisk(world, 'node');
    this.#users = new PodUsers(world, this.#cluster, { names: podNames(world.size.pods) });
    this.#fsync = this.#random.pick(['always', 'always', 'interval', undefined]);
    this.#current = this.#start(false);
  }

  async run(): Promise<void> {
    const world = this.#world;
    this.#users.start();
    void this.#watchBackOffs();
    if (this.#random.chance(0.9))
      this.#cluster.disturb(this.#random.fork('cluster'), this.#random.pick([0.5, 1, 1, 3]));
    for (const disturb of [this.#restarts, this.#clockJumps, this.#fullDisks, this.#pauses]) {
      if (this.#random.chance(0.8)) void disturb.call(this, this.#random.fork(disturb.name));
    }
    await world.sleep(world.size.forMs);

    await this.#heal();
    if (this.#random.chance(0.5)) await this.#checkHealthy();
    this.#users.stop();

    await this.#checkJournalAlone();
    this.#current.startReporting();
    this.#current.settle();
    this.#users.release(this.#random.fork('release'));
    await world.until('every last status arrives', 75_000, () => this.#difference());

    await this.#checkQuiet();
    this.#isOver = true;
    await this.#stop(this.#current, true);
    this.#checkHistory();
  }

  /** All faults end. */
  async #heal(): Promise<void> {
    this.#isDisturbed = false;
    this.#world.note('world', 'all faults end');
    this.#cluster.heal();
    this.#disk.isFull = false;
    this.#disk.powerOn();
    this.#current.process.resume();
    await this.#stopping;
    if (this.#isDown) {
      this.#kill(false);
      this.#restart(false);
    }
    this.#current.startReporting();
  }

  get #wallMs(): number {
    return this.#world.nowMs + this.#wallOffsetMs;
  }

  #start(isSilent: boolean): ManagerProcess {
    this.#latestWallMs = Math.max(this.#latestWallMs, this.#wallMs);
    this.#earlierWallMs = this.#latestWallMs;
    const number = ++this.#started;
    const random = this.#random.fork(`options ${number}`);
    const qps = random.chance(0.15) ? random.integer(5, 40) : undefined;
    const manager: AgentOptions = {
      concurrency: random.pick([1, 2, 4, 8, 16]),
      readBeforePatch: random.pick(['always', 'when-stale']),
      patchStrategy: random.pick(['strategic-merge', 'strategic-merge', 'json-patch']),
      syncPeriodMs: random.pick([1_000, 3_000, 10_000]),
      requestTimeoutMs: random.pick([3_000, 10_000, 30_000]),
      ...(qps !== undefined && { qps, burst: random.integer(5, 30) }),
    };
    const token = this.#cluster.server.nodeToken(nodeName);
    const started: ManagerProcess = new ManagerProcess(this.#world, this.#cluster.network, this.#disk, {
      ...{ number, nodeName, token, fsync: this.#fsync, manager, isSilent, runtime: this.#runtime },
      onReport: (report) => this.#onReport(started, report),
      onAsked: (podUID, could) => {
        const key = `${started.process.name} ${podUID}`;
        const answers = this.#answers.get(key) ?? [];
        if (answers.at(-1)?.could !== could) this.#answers.set(key, [...answers, { atMs: this.#world.nowMs, could }]);
      },
      onOutcome: (outcome, acceptedMs) => this.#onOutcome(started, outcome, acceptedMs),
      onLog: (level, message, fields) => this.#onLog(level, message, fields),
    });
    started.process.wallOffsetMs = this.#wallOffsetMs;
    this.#concurrency.set(started.process.name, manager.concurrency);
    this.#world.count('start');
    this.#world.note(started.process.name, 'start', { isSilent, fsync: this.#fsync ?? 'no journal', ...manager });
    started.start().then(
      () => this.#checkRecovered(started),
      (error: unknown) => this.#world.violate('the manager starts', (error as Error).stack ?? String(error)),
    );
    return started;
  }

  #restart(isSilent: boolean): void {
    this.#isDown = false;
    if (this.#fsync === undefined) this.#accepted.clear();
    this.#current = this.#start(isSilent);
  }

  #kill(losesPower: boolean, { process } = this.#current): void {
    if (!process.isAlive) return;
    this.#world.count(losesPower ? 'power loss' : 'kill');
    this.#world.note(process.name, losesPower ? 'killed by a power loss' : 'killed');
    process.kill();
    this.#cluster.network.killed(process);
    for (const uid of this.#mayBeLost) this.#accepted.delete(uid);
    if (!losesPower) return;
    this.#hasLostPower = true;
    this.#disk.losePower();
  }

  async #stop(stopped: ManagerProcess, drain: boolean): Promise<void> {
    this.#world.note(stopped.process.name, 'stop', { drain });
    const isStopped = stopped.stop(drain).then(
      () => true,
      (error: unknown) => this.#world.violate('the manager stops', (error as Error).stack ?? String(error)),
    );
    const inTime = await Promise.race([isStopped, this.#world.sleep(30_000).then(() => false)]);
    if (inTime === false && stopped.process.isAlive) this.#world.violate('the manager stops', 'not within 30 s');
  }

  // What happens to it

  async #restarts(random: Random): Promise<void> {
    const world = this.#world;
    for (;;) {
      await world.sleep(random.integer(2_000, 15_000));
      const how = random.weighted({ kill: 5, stop: 3, 'power loss': 2, 'power loss at a write': 2 });
      const drain = random.chance(0.5);
      const operations = random.integer(1, 6);
      const downMs = random.integer(10, 1_500);
      const silentMs = random.chance(0.3) ? random.integer(300, 3_000) : 0;
      if (!this.#isDisturbed) return;
      if (!world.happens(how)) continue;
      this.#isDown = true;
      if (how === 'stop') {
        world.count('stop');
        this.#current.process.resume();
        this.#stopping = this.#stop(this.#current, drain);
        await this.#stopping;
        this.#stopping = undefined;
      } else if (how === 'power loss at a write' && this.#fsync === 'always') {
        await this.#losePowerAtWrite(operations);
      } else this.#kill(how !== 'kill' && this.#fsync === 'always');
      await world.sleep(downMs);
      if (!this.#isDown || !this.#isDisturbed) return;
      const isSilent = silentMs > 0 && this.#fsync !== undefined;
      this.#restart(isSilent);
      if (!isSilent) continue;
      await world.sleep(silentMs);
      if (!this.#isDisturbed) return;
      this.#current.startReporting();
    }
  }

  /** Nothing after this operation reaches the disk, and the process is dead at once. */
  #losePowerAtWrite(operations: number): Promise<void> {
    const killed = this.#current;
    return new Promise<void>((resolve) => {
      this.#disk.losePowerAfter(operations);
      this.#disk.onPowerLoss = () => {
        this.#world.count('power loss at a write');
        this.#hasLostPower = true;
        this.#kill(false, killed);
        this.#world.at(0, resolve);
      };
      this.#world.at(3_000, resolve);
    }).then(() => {
      this.#disk.onPowerLoss = () => {};
      this.#disk.powerOn();
      this.#kill(false, killed);
    });
  }

  async #clockJumps(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(4_000, 20_000));
      const offsetMs = random.integer(-maxWallOffsetMs, maxWallOffsetMs);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('clock jump')) continue;
      this.#world.count('clock jump');
      this.#latestWallMs = Math.max(this.#latestWallMs, this.#wallMs);
      this.#wallOffsetMs = offsetMs;
      this.#current.process.wallOffsetMs = offsetMs;
    }
  }

  async #fullDisks(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(8_000, 30_000));
      const lastsMs = random.integer(200, 3_000);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('full disk')) continue;
      this.#world.count('full disk');
      this.#disk.isFull = true;
      this.#hasBeenFull = true;
      await this.#world.sleep(lastsMs);
      this.#disk.isFull = false;
    }
  }

  async #pauses(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(8_000, 30_000));
      const lastsMs = random.integer(100, random.chance(0.2) ? 40_000 : 4_000);
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

  // What it reports

  #onReport(from: ManagerProcess, report: AgentReport): void {
    if (!from.process.isAlive) return;
    switch (report.kind) {
      case 'accepted': {
        this.#world.count('accepted');
        this.#accepted.set(report.uid, report.version);
        if (this.#disk.isFull || this.#wallMs < this.#earlierWallMs) this.#mayBeLost.add(report.uid);
        else this.#mayBeLost.delete(report.uid);
        this.#world.note(from.process.name, 'accepted', report.uid, report.version);
        break;
      }
      case 'rejected':
        this.#world.violate('legal updates are accepted', `${report.uid}: ${report.reason}`);
        break;
      case 'runtime':
        this.#runtime.set(report.uid, report.runtime);
        break;
      case 'ended':
        if (!this.#endedMs.has(report.uid)) this.#endedMs.set(report.uid, report.atMs);
        break;
      default:
    }
  }

  #onOutcome(from: ManagerProcess, { outcome, podUID }: StatusOutcome, behindSinceMs: number | undefined): void {
    this.#world.count(`outcome ${outcome}`);
    if (outcome === 'written' && from === this.#current && behindSinceMs !== undefined)
      this.#checkPrompt(podUID, behindSinceMs);
  }

  #checkPrompt(podUID: string, behindSinceMs: number): void {
    if (this.#healthySinceMs === undefined || this.#current.options.manager.qps !== undefined) return;
    const tookMs = this.#world.nowMs - Math.max(behindSinceMs, this.#healthySinceMs);
    if (tookMs > promptMs)
      this.#world.violate('a status is prompt while everything works', `${podUID} is behind for ${tookMs} ms`);
  }

  #onLog(level: 'warn' | 'error', message: string, fields: object): void {
    if (level !== 'error') return;
    if (this.#hasBeenFull && /journal/i.test(message)) return;
    // Lines that were not synced yet: a later one may be on the disk, and an earlier one not.
    if (this.#hasLostPower && message.startsWith('The journal is damaged')) return;
    const { err, reason } = fields as { readonly err?: unknown; readonly reason?: unknown };
    const why = err instanceof Error ? err.stack : JSON.stringify(reason ?? fields);
    this.#world.violate('no error is logged', `${message} ${why ?? ''}`);
  }

  // Invariants

  /** After a crash, what was accepted is in the journal or on the API server. */
  #checkRecovered({ recovered, process }: ManagerProcess): void {
    if (!process.isAlive || this.#fsync === undefined) return;
    const inJournal = new Map(recovered.map(({ podUID, status }) => [podUID, versionOf(status.message)]));
    for (const { metadata, status } of this.#cluster.pods.values()) {
      const { uid, name } = metadata;
      const accepted = this.#accepted.get(uid) ?? 0;
      if (this.#mayBeLost.has(uid) || Math.floor(accepted / 1_000_000) >= this.#started) continue;
      const kept = Math.max(inJournal.get(uid) ?? 0, versionOf(status?.message));
      if (kept < accepted) {
        const details = `${name} ${uid}: ${accepted} was accepted, ${kept} is in the journal or on the API server`;
        this.#world.violate('what was accepted survives a crash', details);
      }
    }
  }

  /** When all has worked for a while, statuses are prompt, and soon no pod is backing off. */
  async #checkHealthy(): Promise<void> {
    await this.#world.sleep(recoveryMs);
    this.#healthySinceMs = this.#world.nowMs;
    this.#world.note('world', 'healthy');
    await this.#world.sleep(healthyMs);
    for (const [podUID, sinceMs] of this.#current.behind.entries) this.#checkPrompt(podUID, sinceMs);
    this.#healthySinceMs = undefined;
    this.#checkNoBackOff();
  }

  /** A manager that only has its journal writes what an earlier one has accepted. */
  async #checkJournalAlone(): Promise<void> {
    if (this.#fsync === undefined || !this.#random.chance(0.5)) return;
    this.#kill(false);
    this.#restart(true);
    const expected = new Map(this.#accepted);
    for (const uid of this.#mayBeLost) expected.delete(uid);
    await this.#world.until('a status in the journal arrives', 120_000, () => {
      for (const { metadata, status } of this.#cluster.pods.values()) {
        const accepted = expected.get(metadata.uid) ?? 0;
        const shown = versionOf(status?.message);
        if (shown < accepted)
          return `${metadata.name} ${metadata.uid}: ${accepted} was accepted, ${shown} is on the API server`;
      }
      return undefined;
    });
  }

  /** A pod whose status has been sent does not wait, unless its DELETE fails or others undo what is written. */
  async #watchBackOffs(): Promise<void> {
    for (; !this.#isOver; await this.#world.sleep(backOffCheckMs)) {
      const { manager, isRunning, isStopped } = this.#current;
      if (manager === undefined || !isRunning || isStopped) continue;
      for (const { podUID, podName, unsentSince, isInFlight, lastError } of manager.inspect().pods) {
        if (unsentSince !== undefined || isInFlight || lastError === undefined) continue;
        const { metadata } = this.#cluster.pods.get(podName) ?? {};
        if (metadata?.uid !== podUID || metadata.deletionTimestamp != null || lastError === hotLoopMessage) continue;
        const isOfPod = ({ process, path }: Call): boolean =>
          process === this.#current.process && path.split('/').includes(podName);
        const { status = 0 } = this.#cluster.network.calls.findLast(isOfPod) ?? {};
        if (status < 200 || status >= 300) continue;
        this.#world.violate('a success ends the back-off', `${podName} ${podUID}: ${lastError}`);
      }
    }
  }

  #checkNoBackOff(): void {
    const { manager, isRunning, options } = this.#current;
    if (manager === undefined || !isRunning) {
      this.#world.violate('the manager starts', 'not in a healthy time');
      return;
    }
    if (options.manager.qps !== undefined) return;
    for (const pod of manager.inspect().pods) {
      const exists = this.#cluster.pods.get(pod.podName)?.metadata.uid === pod.podUID;
      if (pod.lastError !== undefined && exists) {
        this.#world.violate('no back-off is left after a healthy time', JSON.stringify(pod));
      }
    }
    for (const { metadata } of this.#current.pods.getPods()) {
      const removedMs = this.#cluster.removedMs.get(metadata!.uid!) ?? Number.POSITIVE_INFINITY;
      if (removedMs < this.#world.nowMs - 5_000) {
        this.#world.violate('the informer forgets removed pods', `${metadata!.name} ${metadata!.uid}`);
      }
    }
  }

  /** What the cache and the API server disagree on. */
  #difference(): string | undefined {
    const { manager, isRunning, pods } = this.#current;
    if (manager === undefined || !isRunning) return 'the manager does not run';
    const inspected = manager.inspect().pods;
    const known = new Set(pods.getPods().map(({ metadata }) => metadata!.uid));
    for (const { metadata, status = {} } of this.#cluster.pods.values()) {
      const { uid, name, deletionTimestamp, finalizers = [] } = metadata;
      if (!known.has(uid)) return `${name} ${uid} is not known to the informer`;
      const cached = manager.getPodStatus(uid);
      if (cached === undefined) {
        const isHeld = metadata.deletionGracePeriodSeconds === 0 && (finalizers?.length ?? 0) > 0;
        if (isHeld && terminalPhases.has(status.phase)) continue;
        return `${name} ${uid} has no cached status`;
      }
      const accepted = this.#accepted.get(uid) ?? 0;
      const version = versionOf(cached.message);
      if (accepted > version) return `${name} ${uid}: ${accepted} was accepted, and ${version} is cached`;
      const isLeft = deletionTimestamp != null && (finalizers?.length ?? 0) === 0;
      const difference = differenceTo(cached, status) ?? (isLeft ? 'its object still exists' : undefined);
      if (difference !== undefined) {
        return `${name} ${uid}: ${difference}; ${JSON.stringify(inspected.find((pod) => pod.podUID === uid))}`;
      }
    }
    const unsent = inspected.filter(({ unsentSince, isInFlight }) => unsentSince !== undefined || isInFlight).length;
    return unsent > 0 ? `${unsent} pods are unsent` : undefined;
  }

  async #checkQuiet(): Promise<void> {
    const { calls } = this.#cluster.network;
    await this.#world.sleep(60_000);
    const before = calls.length;
    await this.#world.sleep(60_000);
    const noise = calls.slice(before).filter(({ method, path }) => method !== 'GET' || path !== '/api/v1/pods');
    if (noise.length === 0) return;
    const details = noise
      .slice(0, 3)
      .map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(body ?? '')}`);
    this.#world.violate('nothing is sent when all is quiet', details.join('; '));
  }

  #checkHistory(): void {
    const { history, network, server } = this.#cluster;
    const violations = [
      ...checkVersions(history),
      ...checkTerminalIsFinal(history),
      ...checkForeignConditions(history),
      ...checkDeletes(network.calls, this.#endedMs),
      ...checkWrites(network.calls),
      ...checkConcurrency(network.calls, this.#concurrency),
      ...checkPauses(network.calls, history),
      ...checkTerminalPhases(
        network.calls,
        ({ name }, uid, atMs) => this.#answers.get(`${name} ${uid}`)?.findLast((answer) => answer.atMs <= atMs)?.could,
      ),
    ];
    for (const { invariant, details } of violations) this.#world.violate(invariant, details);
    const { requests, watches } = server.faults.inFlight.counts;
    if (requests + watches + network.streams.size > 0) {
      this.#world.violate('stop() leaves nothing', `${requests} requests, ${watches} watches`);
    }
  }
}

function versionOf(message: unknown): number {
  return readMessage(message)?.version ?? 0;
}
