import { decodeJournal, type JournalContent } from '../../../src/status-manager/journal/journal-lines.ts';
import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import type { PodInspection, StatusOutcome } from '../../../src/status-manager/index.ts';
import { checkForeignConditions, differenceTo } from '../../chaos/invariants.ts';
import { type AgentOptions, type AgentReport, messageOf, type PodRuntime, readMessage } from '../../chaos/protocol.ts';
import type { Random } from '../../chaos/random.ts';
import { makePod, nodeName, podNames } from '../../chaos/users.ts';
import type { PodWrite } from '../lagging-pods.ts';
import { type Call, noFaults } from '../network.ts';
import { PodUsers } from '../pod-users.ts';
import type { Setting } from '../setting.ts';
import { SignalListeners } from '../signal-listeners.ts';
import { SimulatedCluster } from '../simulated-cluster.ts';
import { SimulatedDisk } from '../simulated-disk.ts';
import type { World } from '../world.ts';
import {
  type AcceptedVersion,
  checkConcurrency,
  checkDeletes,
  checkNewest,
  checkPartitions,
  checkPauses,
  checkRates,
  checkReads,
  checkTerminalPhases,
  checkVersionsOf,
  checkWrites,
} from './check-calls.ts';
import { damageLine } from './journal-faults.ts';
import type { KnownPods } from './known-pods.ts';
import { journalFile, ManagerProcess, versionsPerProcess } from './manager-process.ts';
import { isMirror, podUIDOf, StaticPods } from './static-pods.ts';

/** How long everything works before a status must be prompt, and for how long then. */
const recoveryMs = 45_000;
/** The same for a status whose request was sent before: it may hang until its deadline, and the back-off of the outage follows. */
const lostRequestMs = 60_000;
const healthyMs = 30_000;
/** For how long the API server may not have a pod's newest status while everything works. */
const promptMs = 2_000;
/** How soon what was recovered is sent while everything works. */
const recoveredMs = 6_000;
/** The same for many pods, or with few requests a second. */
const slowMs = 120_000;
/** How soon a mirror pod gets its status; the watch may lag. */
const mirrorMs = promptMs + 4_000;
/** Until the informer has listed that a removed pod is gone, and then until the next read: they are forbidden, up to a minute apart. */
const givenUpMs = 90_000;
/** At rest: tick, watch, journal. */
const maxTimers = 8;
/** Processes that were killed leave those of their requests in flight. */
const maxListeners = 64;
const rejectedMessage = 'Status update on pod aborted';
const mirrorCheckMs = 1_000;
const journalCheckMs = 2_300;
const backOffCheckMs = 700;
/** For how long a status may be unsent without anything that it waits for. */
const dueMs = 2_100;
/** How many worlds have many pods with long statuses for a while, and how long those take to start. */
const crowdShare = 0.05;
const crowdStartMs = 1_500;
/** How long a manager that reports nothing meets faults. */
const silentFaultsMs = 3_000;
/** And for how long it goes on, so that it compares all statuses. */
const silentMs = 9_000;
const hotLoopMessage = 'The API server does not keep what is written';
/** With fsync `interval`: the interval, and the slowest fsync twice. */
const intervalMs = 12_000;
const minJournalBytes = 65_536;
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
  /** Pods whose end was accepted. */
  readonly #finished = new Set<string>();
  /** Those whose DELETE was due then. */
  readonly #endsDue = new Set<string>();
  /**
   * Pods whose newest version, or whose end, may be lost by a crash: the disk was full; or the wall clock was behind that of an earlier
   * process of whose last status this one did not know, so that the recorded one looks older.
   */
  readonly #mayBeLost = new Set<string>();
  /** By UID, when a pod was added to it last, or a controller gave it up. */
  readonly #mayBeLostMs = new Map<string, number>();
  /** By pod UID: the newest version that was accepted, whose line in the journal is damaged. */
  readonly #damaged = new Map<string, number>();
  /** By the name of the process. */
  readonly #limits = new Map<string, AgentOptions>();
  readonly #known = new Map<string, KnownPods>();
  readonly #versions: AcceptedVersion[] = [];
  readonly #static: StaticPods;
  /** The smallest permitted size of a journal, so that it is compacted often. */
  readonly #maxBytes: number | undefined;
  /** By pod UID: which process has reported that its object is to be deleted, and not yet that it is gone. */
  readonly #requested = new Map<string, ManagerProcess>();
  readonly #listeners = new SignalListeners();
  readonly #contents = new WeakMap<Buffer, JournalContent>();
  readonly #finishLater: boolean;
  #current: ManagerProcess;
  #started = 0;
  #wallOffsetMs = 0;
  /** The latest time of the wall clock in an earlier process. */
  #earlierWallMs = 0;
  #latestWallMs = 0;
  #hasBeenFull = false;
  #hasLostPower = false;
  /** At the last loss of power, syncs failed, so that lines that had been marked past may be live again. */
  #mayReviveLines = false;
  /** Statuses that such lines had, and after which version of the API object. */
  readonly #revived: { readonly podUID: string; readonly version: number; readonly after: number }[] = [];
  /** Somebody has damaged or deleted the journal. */
  #hasDamage = false;
  #hasPaused = false;
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
    this.#maxBytes = this.#random.pick([undefined, undefined, minJournalBytes]);
    this.#static = new StaticPods(world, this.#cluster, this.#random.pick([0, 0, 0, 1, 2]));
    this.#finishLater = this.#random.fork('finish').chance(0.3);
    this.#current = this.#start(false);
  }

  async run(): Promise<void> {
    try {
      await this.#run();
    } finally {
      this.#listeners.restore();
    }
  }

  async #run(): Promise<void> {
    const world = this.#world;
    this.#users.start();
    this.#static.start(this.#random.fork('mirrors'));
    void this.#watchBackOffs();
    void this.#watchUnsent();
    void this.#watchJournal();
    this.#watchWrites(this.#random.fork('writes'));
    if (this.#random.chance(0.9))
      this.#cluster.disturb(this.#random.fork('cluster'), this.#random.pick([0.5, 1, 1, 3]), {
        ...{ notFound: 0.01, late: this.#random.pick([0, 0.02]), clockSkewMs: 300_000 },
      });
    // Requests take so long that much happens in the meantime.
    if (this.#random.fork('slow').chance(0.2))
      this.#cluster.network.faults = { ...this.#cluster.network.faults, slow: 0.2 };
    for (const disturb of [this.#restarts, this.#clockJumps, this.#fullDisks, this.#pauses]) {
      if (this.#random.chance(0.8)) void disturb.call(this, this.#random.fork(disturb.name));
    }
    const deletions = this.#random.fork('deleted journals');
    if (deletions.chance(0.2)) void this.#deletedJournals(deletions);
    const overloads = this.#random.fork('overloads');
    if (overloads.chance(0.4)) void this.#overloads(overloads);
    await world.sleep(world.size.forMs);
    const crowds = this.#random.fork('crowd');
    const isCrowded = crowds.chance(crowdShare);
    const outages = this.#random.fork('outage');
    if (outages.chance(0.3)) {
      await this.#cluster.outage(outages.integer(8_000, 15_000), () => this.#reportAll());
      // All that has waited for the API server comes at once.
      if (outages.chance(0.7) && world.happens('overload after an outage')) {
        this.#cluster.network.busyShare = 1;
        for (let turns = outages.integer(3, 15); turns > 0; turns--) {
          await world.sleep(100);
          this.#reportAll();
        }
        this.#cluster.network.busyShare = 0;
        this.#reportAll();
        await world.sleep(1_500);
        this.#reportAll();
      }
    }

    await this.#heal();
    if (isCrowded) await this.#crowd(crowds);
    const isHealthy = this.#random.chance(0.5);
    if (isHealthy) await this.#checkHealthy();
    this.#users.stop();
    this.#static.stop();
    if (isHealthy || this.#random.fork('unseen').chance(0.3)) await this.#removeUnseen(this.#random.fork('unseen pod'));

    await this.#checkSilent(this.#random.fork('silent'));
    this.#current.startReporting();
    this.#current.settle();
    this.#users.release(this.#random.fork('release'));
    this.#changeWhatWasWritten(this.#random.fork('foreign changes'));
    const exists = ({ podUID }: PodInspection): boolean =>
      [...this.#cluster.pods.values()].some((pod) => podUIDOf(pod) === podUID);
    await world.until('every last status arrives', 75_000, () => this.#difference(exists));
    await world.until('the statuses of removed pods are given up', givenUpMs, () => this.#difference());
    await this.#checkNewMirrors();

    await this.#checkQuiet();
    this.#isOver = true;
    await this.#stop(this.#current, true);
    this.#checkHistory();
  }

  /** Others undo what was written, once. */
  #changeWhatWasWritten(random: Random): void {
    for (const name of this.#cluster.pods.keys()) {
      const status = { conditions: [{ type: 'Ready', status: random.pick(['True', 'False']), reason: 'Foreign' }] };
      if (!random.chance(0.7) || !this.#world.happens('what was written is changed')) continue;
      this.#cluster.attempt(() => void this.#cluster.server.pods.patchStatus('default', name, { status }));
    }
  }

  #reportAll(reason?: string): void {
    const { isRunning, isStopped, process } = this.#current;
    if (isRunning && !isStopped && process.isAlive && !process.isPaused) this.#current.reportAll({ reason });
  }

  /**
   * So many pods with so long statuses that the journal is compacted in slices, while nothing is sent. Sometimes, the manager
   * or the machine dies meanwhile.
   */
  async #crowd(random: Random): Promise<void> {
    const { network, server } = this.#cluster;
    const names = Array.from({ length: random.integer(66, 90) }, (_, i) => `crowd-${i}`);
    const ending = random.pick(['none', 'deletion of the journal', 'kill', 'power loss']);
    const isRecorded = this.#fsync !== undefined && this.#maxBytes === undefined;
    if (!isRecorded || !this.#world.happens('crowd')) return;
    this.#world.count('crowd');
    for (const name of names) this.#cluster.attempt(() => void server.pods.create(makePod(name, random.fork(name))));
    await this.#world.sleep(crowdStartMs * this.#world.size.pace);
    network.isDown = true;
    for (let rounds = random.integer(6, 8); rounds > 0; rounds--) {
      this.#reportAll('x'.repeat(random.integer(4_000, 6_000)));
      if (rounds === 3 && ending === 'deletion of the journal') this.#deleteJournal();
      await this.#world.sleep(random.pick([1, 10, 100, 300]));
    }
    if (ending === 'kill' || ending === 'power loss') {
      this.#current.checkOutcomes();
      this.#kill(ending === 'power loss' && this.#fsync === 'always');
      this.#restart(false);
    }
    await this.#world.sleep(random.integer(10, 3_000));
    network.isDown = false;
    const expected = this.#acceptedForCertain();
    await this.#world.until('a status in the journal arrives', slowMs, () => this.#outdated(expected));
    for (const name of names) this.#remove(name);
  }

  /** Whatever its finalizers are. */
  #remove(name: string): void {
    const { pods } = this.#cluster.server;
    this.#cluster.attempt(() => pods.patch('default', name, { metadata: { finalizers: null } }));
    this.#cluster.attempt(() => pods.delete('default', name, { gracePeriodSeconds: 0 }));
  }

  /** All faults end. */
  async #heal(): Promise<void> {
    this.#isDisturbed = false;
    this.#world.note('world', 'all faults end');
    this.#cluster.heal();
    this.#disk.isFull = false;
    this.#disk.isBroken = false;
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
    const qps = random.chance(0.15) ? random.integer(3, 40) : undefined;
    const manager: AgentOptions = {
      concurrency: random.pick([1, 2, 4, 8, 16]),
      readBeforePatch: random.pick(['always', 'when-stale']),
      patchStrategy: random.pick(['strategic-merge', 'strategic-merge', 'json-patch']),
      syncPeriodMs: random.pick([1_000, 3_000, 10_000]),
      requestTimeoutMs: random.pick([3_000, 10_000, 30_000]),
      ...(qps !== undefined && { qps, burst: random.integer(1, 30) }),
    };
    const token = this.#cluster.server.nodeToken(nodeName);
    const started: ManagerProcess = new ManagerProcess(this.#world, this.#cluster.network, this.#disk, {
      ...{ number, nodeName, token, fsync: this.#fsync, maxBytes: this.#maxBytes, manager, isSilent },
      ...{ runtime: this.#runtime, staticPods: this.#static.pods, finishesLater: this.#finishLater },
      mayOperate: () => this.#isDisturbed && !this.#cluster.network.isDown,
      onReport: (report) => this.#onReport(started, report),
      onAccepted: (podUID) => {
        // Without space, the lines of its older versions go, too.
        if (this.#lacksSpace(started)) this.#mayLoseStatus(podUID);
      },
      onAsked: (podUID, could) => {
        const key = `${started.process.name} ${podUID}`;
        const answers = this.#answers.get(key) ?? [];
        if (answers.at(-1)?.could !== could) this.#answers.set(key, [...answers, { atMs: this.#world.nowMs, could }]);
      },
      onOutcome: (outcome, acceptedMs) => this.#onOutcome(started, outcome, acceptedMs),
      onLog: (level, message, fields) => this.#onLog(level, message, fields),
    });
    started.process.wallOffsetMs = this.#wallOffsetMs;
    this.#limits.set(started.process.name, manager);
    this.#known.set(started.process.name, started.known);
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
    if (this.#fsync === undefined) {
      this.#accepted.clear();
      this.#finished.clear();
      this.#endsDue.clear();
    }
    this.#current = this.#start(isSilent);
  }

  #kill(losesPower: boolean, { process } = this.#current): void {
    if (!process.isAlive) return;
    this.#world.count(losesPower ? 'power loss' : 'kill');
    this.#world.note(process.name, losesPower ? 'killed by a power loss' : 'killed');
    process.kill();
    this.#cluster.network.killed(process);
    for (const uid of this.#mayBeLost) this.#accepted.delete(uid);
    this.#mayLose([...this.#mayBeLost]);
    if (!losesPower) return;
    this.#hasLostPower = true;
    this.#mayReviveLines ||= this.#disk.isSyncFailing;
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
      } else {
        this.#current.checkOutcomes();
        this.#kill(how !== 'kill' && this.#fsync === 'always');
      }
      await world.sleep(downMs);
      if (!this.#isDown || !this.#isDisturbed) return;
      this.#damageJournal(this.#random.fork(`damage ${this.#started}`));
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
        this.#mayReviveLines ||= this.#disk.isSyncFailing;
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

  /** The API server has too much to do for a while, often after an outage, and answers 429 with `Retry-After`. */
  async #overloads(random: Random): Promise<void> {
    const { network } = this.#cluster;
    for (;;) {
      await this.#world.sleep(random.integer(4_000, 20_000));
      const lastsMs = random.integer(300, 5_000);
      const share = random.pick([0.3, 0.6, 1]);
      if (random.chance(0.5)) await this.#afterPartition();
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('overload')) continue;
      this.#world.count('overload');
      network.busyShare = share;
      await this.#world.sleep(lastsMs);
      network.busyShare = 0;
    }
  }

  async #afterPartition(): Promise<void> {
    const { network } = this.#cluster;
    while (this.#isDisturbed && !network.isDown) await this.#world.sleep(100);
    while (network.isDown) await this.#world.sleep(5);
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
      this.#disk.isBroken = random.fork(String(this.#world.nowMs)).chance(0.3);
      this.#hasBeenFull = true;
      await this.#world.sleep(lastsMs);
      this.#disk.isFull = false;
      this.#disk.isBroken = false;
    }
  }

  /** A byte of the journal is wrong when the next manager reads it. */
  #damageJournal(random: Random): void {
    const probability = this.#fsync === 'interval' ? 0.3 : 0.1;
    if (!random.chance(probability) || this.#current.process.isAlive || !this.#world.happens('the journal is damaged'))
      return;
    this.#world.count('journal damaged');
    this.#hasDamage = true;
    const { podUIDs, text } = damageLine(this.#disk, journalFile, random);
    for (const uid of podUIDs) {
      const version = this.#accepted.get(uid) ?? 0;
      // The line still says that it was about the pod, and had its newest status.
      if (text.includes(`"${uid}"`) && text.includes(messageOf(version, uid))) this.#damaged.set(uid, version);
    }
    this.#mayLose(podUIDs);
  }

  /** Somebody deletes the journal, which the manager notices at its next write or after a minute. */
  async #deletedJournals(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(10_000, 40_000));
      if (!this.#isDisturbed) return;
      if (this.#disk.contentOf(journalFile, 'crash') === undefined || !this.#world.happens('the journal is deleted'))
        continue;
      this.#deleteJournal();
    }
  }

  #deleteJournal(): void {
    this.#world.count('journal deleted');
    this.#hasDamage = true;
    this.#disk.deleteFile(journalFile);
    this.#mayLose([...this.#accepted.keys()]);
  }

  #mayLoseStatus(podUID: string): void {
    this.#mayBeLost.add(podUID);
    this.#mayBeLostMs.set(podUID, this.#world.nowMs);
  }

  #mayLose(podUIDs: readonly string[]): void {
    for (const uid of podUIDs) {
      this.#mayLoseStatus(uid);
      this.#finished.delete(uid);
      this.#endsDue.delete(uid);
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
      this.#hasPaused = true;
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
        const { nowMs: atMs } = this.#world;
        this.#versions.push({ process: from.process, podUID: report.uid, version: report.version, atMs });
        const looksOld = this.#wallMs < this.#earlierWallMs && this.#lacksEarlierStatus(from, report.uid);
        if (this.#lacksSpace(from) || looksOld) this.#mayLoseStatus(report.uid);
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
        // `terminatePod` follows at once.
        this.#world.at(0, () => {
          if (!from.process.isAlive) return;
          this.#finished.add(report.uid);
          // It is a line of its own, which may find no space although that of the last status did.
          if (this.#lacksSpace(from)) this.#mayLoseStatus(report.uid);
          if (from.pods.getPodByUID(report.uid)?.metadata?.deletionTimestamp != null) this.#endsDue.add(report.uid);
        });
        break;
      default:
    }
  }

  /** Whether the journal may be unable to record. Without space for a compaction, it may be full for longer than the disk. */
  #lacksSpace({ journal }: ManagerProcess): boolean {
    return this.#disk.isFull || (this.#hasBeenFull && journal?.failure?.() !== undefined);
  }

  /** Whether the API server has a status of an earlier process that the informer has not. */
  #lacksEarlierStatus({ options, pods }: ManagerProcess, podUID: string): boolean {
    const shown = [...this.#cluster.pods.values()].find((pod) => podUIDOf(pod) === podUID);
    const version = versionOf(shown?.status?.message);
    const known = versionOf(pods.getPodByUID(podUID)?.status?.message);
    return version > known && processOf(version) < options.number;
  }

  #onOutcome(from: ManagerProcess, reported: StatusOutcome, behindSinceMs: number | undefined): void {
    const { outcome, podUID } = reported;
    this.#world.count(`outcome ${outcome}`);
    if (outcome === 'deletion-requested') this.#requested.set(podUID, from);
    // `gone` if a status was set after the DELETE.
    else if (outcome === 'deleted' || outcome === 'gone') this.#requested.delete(podUID);
    const isRemoved = reported.outcome === 'gone' && reported.reason === 'removed';
    // As in the kubelet, what was set while the end of the pod was sent goes with it; a finalizer may keep the object.
    if (isRemoved && this.#hasDeleted(from, podUID)) this.#mayLoseStatus(podUID);
    else if (isRemoved && from.onlyRecovered.has(podUID) && this.#exists(podUID))
      this.#world.violate('the recovered status of a pod that exists is kept', podUID);
    if (outcome === 'written' && from === this.#current && behindSinceMs !== undefined)
      this.#checkPrompt(podUID, behindSinceMs);
  }

  /** Whether the API server has accepted a DELETE of this process. */
  #hasDeleted({ process }: ManagerProcess, podUID: string): boolean {
    return this.#cluster.network.calls.some((call) => {
      const isAccepted = call.process === process && call.method === 'DELETE' && call.status === 200;
      return (
        isAccepted &&
        (call.body as { readonly preconditions?: { readonly uid?: string } }).preconditions?.uid === podUID
      );
    });
  }

  #exists(podUID: string): boolean {
    return [...this.#cluster.pods.values()].some(({ metadata }) => metadata.uid === podUID);
  }

  #checkPrompt(podUID: string, behindSinceMs: number): void {
    // The mirror pod of a static pod may not exist, and a node gets 403 for another pod that does not.
    if (!this.#exists(podUID)) return;
    if (this.#healthySinceMs === undefined || this.#current.options.manager.qps !== undefined) return;
    const worksSinceMs = this.#healthySinceMs - recoveryMs;
    const promptFromMs = behindSinceMs < worksSinceMs ? worksSinceMs + lostRequestMs : this.#healthySinceMs;
    const tookMs = this.#world.nowMs - Math.max(behindSinceMs, promptFromMs);
    if (tookMs > promptMs)
      this.#world.violate('a status is prompt while everything works', `${podUID} is behind for ${tookMs} ms`);
  }

  #onLog(level: 'warn' | 'error', message: string, fields: object): void {
    if (level !== 'error') return;
    if (this.#hasBeenFull && /journal/i.test(message)) return;
    // An operator makes it so.
    if (message.includes(rejectedMessage)) return;
    // Lines that were not synced yet: a later one may be on the disk, and an earlier one not.
    if ((this.#hasLostPower || this.#hasDamage) && message.startsWith('The journal is damaged')) return;
    if (this.#hasDamage && message.startsWith('The journal file has been renamed or deleted')) return;
    const { err, reason } = fields as { readonly err?: unknown; readonly reason?: unknown };
    const why = err instanceof Error ? err.stack : JSON.stringify(reason ?? fields);
    this.#world.violate('no error is logged', `${message} ${why ?? ''}`);
  }

  // Invariants

  /** After a crash, what was accepted is in the journal or on the API server. */
  #checkRecovered({ recovered, process }: ManagerProcess): void {
    if (!process.isAlive || this.#fsync === undefined) return;
    const inJournal = new Map(recovered.map(({ podUID, status }) => [podUID, versionOf(status.message)]));
    for (const [uid, version] of this.#damaged)
      if (inJournal.has(uid) && inJournal.get(uid)! < version)
        this.#world.violate('no older status replaces a damaged one', `${uid}: ${inJournal.get(uid)!} of ${version}`);
    this.#damaged.clear();
    if (this.#mayReviveLines) {
      const after = this.#cluster.history.at(-1)?.resourceVersion ?? 0;
      for (const [podUID, version] of inJournal) this.#revived.push({ podUID, version, after });
    }
    this.#mayReviveLines = false;
    for (const { metadata, status } of this.#recoverable()) {
      const { uid, name } = metadata;
      const accepted = this.#accepted.get(uid) ?? 0;
      if (this.#mayBeLost.has(uid) || processOf(accepted) >= this.#started) continue;
      const kept = Math.max(inJournal.get(uid) ?? 0, versionOf(status?.message));
      if (kept < accepted) {
        const details = `${name} ${uid}: ${accepted} was accepted, ${kept} is in the journal or on the API server`;
        this.#world.violate('what was accepted survives a crash', details);
      }
    }
  }

  /**
   * The pods whose accepted status is in the journal or on the API server. A new mirror pod has none, and what a late request
   * wrote may be older than what was settled.
   */
  #recoverable(): PodWrite['pod'][] {
    const late = this.#writtenLate();
    return [...this.#cluster.pods.values()].filter((pod) => !isMirror(pod) && !late.has(pod.metadata.uid));
  }

  /** The pods that requests have written whose senders had given up, by UID. */
  #writtenLate(): Set<string> {
    const { history, network } = this.#cluster;
    const isLate = ({ resourceVersion }: PodWrite): boolean => network.lateWrites.has(resourceVersion);
    const writes = network.lateWrites.size === 0 ? [] : history.filter(isLate);
    return new Set(writes.map(({ pod }) => pod.metadata.uid as string));
  }

  /** At any time, what was accepted is in the journal or on the API server, and the end of a pod until its DELETE. */
  async #watchJournal(): Promise<void> {
    const after = this.#fsync === 'always' ? 'power loss' : 'crash';
    for (; this.#fsync !== undefined && !this.#isOver; await this.#world.sleep(journalCheckMs)) {
      const { process, isRunning } = this.#current;
      if (!process.isAlive || !isRunning) continue;
      this.#checkJournal(after, this.#accepted);
      this.#checkSettled();
      if (this.#fsync === 'interval' && !this.#hasPaused) this.#checkJournal('power loss', this.#acceptedLongAgo());
    }
  }

  /** What the API server has is not in the journal any more: the next process would read it for nothing. */
  #checkSettled(): void {
    const { behind, manager, process } = this.#current;
    const content = this.#disk.contentOf(journalFile, 'crash');
    if (content === undefined || this.#hasBeenFull) return;
    for (const uid of this.#decoded(content).live.keys()) {
      const pod = [...this.#cluster.pods.values()].find(({ metadata }) => metadata.uid === uid);
      const isKept = behind.entries.has(uid) || pod === undefined || pod.metadata.deletionTimestamp != null;
      if (isKept || processOf(this.#accepted.get(uid) ?? 0) !== this.#started) continue;
      if (terminalPhases.has(manager?.getPodStatus(uid)?.phase)) continue;
      this.#world.violate('what was sent is not kept in the journal', `${process.name}: ${pod.metadata.name} ${uid}`);
    }
  }

  /** Between two writes, whatever of those that are not synced is lost. */
  #watchWrites(random: Random): void {
    if (this.#fsync !== 'always') return;
    this.#disk.onWrite = () => {
      // A line that is used again because the disk is full is not there meanwhile.
      if (random.chance(0.05) && this.#current.isRunning && !this.#isOver && !this.#disk.isFull)
        this.#checkJournal('power loss', this.#accepted, this.#disk.possibleContentOf(journalFile, random));
    };
  }

  /** @param accepted by pod UID: the version that the journal or the API server must have, or a later one */
  #checkJournal(
    after: 'crash' | 'power loss',
    accepted: ReadonlyMap<string, number>,
    content = this.#disk.contentOf(journalFile, after),
  ): void {
    if (content === undefined) return;
    const { live } = this.#decoded(content);
    for (const { metadata, status } of this.#recoverable()) {
      const { uid, name } = metadata;
      if (this.#mayBeLost.has(uid)) continue;
      const entry = live.get(uid)?.entry;
      const version = accepted.get(uid) ?? 0;
      const kept = Math.max(versionOf(entry?.status.message), versionOf(status?.message));
      if (kept < version) {
        const details = `${name} ${uid}: ${version} was accepted, ${kept} would be left after a ${after}`;
        this.#world.violate('what was accepted survives a crash', details);
      }
      const isEndDue =
        this.#endsDue.has(uid) && accepted === this.#accepted && (metadata.finalizers?.length ?? 0) === 0;
      if (isEndDue && entry?.podIsFinished !== true) {
        const details = `${name} ${uid} exists, and that it has ended would be lost after a ${after}`;
        this.#world.violate('the end of a pod survives a crash until its DELETE', details);
      }
    }
  }

  /** Decodes each content of the journal once. */
  #decoded(content: Buffer): JournalContent {
    const decoded = this.#contents.get(content) ?? decodeJournal(content);
    this.#contents.set(content, decoded);
    return decoded;
  }

  /** What was synced for certain with fsync `interval`. */
  #acceptedLongAgo(): Map<string, number> {
    const old = this.#versions.filter(
      ({ podUID, atMs }) => atMs < this.#world.nowMs - intervalMs && atMs > (this.#mayBeLostMs.get(podUID) ?? -1),
    );
    return new Map(
      old.filter(({ podUID }) => this.#accepted.has(podUID)).map(({ podUID, version }) => [podUID, version]),
    );
  }

  /** When all has worked for a while, statuses are prompt, and soon no pod is backing off. */
  async #checkHealthy(): Promise<void> {
    await this.#world.sleep(recoveryMs);
    const sinceMs = this.#world.nowMs;
    this.#healthySinceMs = sinceMs;
    this.#world.note('world', 'healthy');
    while (this.#world.nowMs < sinceMs + healthyMs) {
      await this.#world.sleep(mirrorCheckMs);
      this.#checkMirrors();
    }
    for (const [podUID, behindSinceMs] of this.#current.behind.entries) this.#checkPrompt(podUID, behindSinceMs);
    this.#healthySinceMs = undefined;
    this.#checkNoBackOff();
    await this.#checkDrain(this.#random.fork('drain'));
  }

  /** While everything works, or has had too much to do right before, a drain sends all that was accepted. */
  async #checkDrain(random: Random): Promise<void> {
    const { manager, options, pods } = this.#current;
    const [living] = pods.getPods().filter(({ metadata }) => metadata?.deletionTimestamp == null);
    if (random.chance(0.5) && this.#world.happens('overload before a drain')) {
      this.#cluster.network.busyShare = 1;
      this.#current.reportAll({ mayReport: (podUID) => podUID === living?.metadata?.uid });
      await this.#world.sleep(random.integer(30, 150));
      this.#cluster.network.busyShare = 0;
    }
    this.#current.reportAll();
    await this.#stop(this.#current, true);
    for (const pod of this.#cluster.pods.values()) {
      const cached = manager?.getPodStatus(podUIDOf(pod)) ?? {};
      const isHeldBack = terminalPhases.has(cached.phase) && !terminalPhases.has(pod.status?.phase);
      if (isHeldBack || isMirror(pod) || options.manager.qps !== undefined) continue;
      if (versionOf(cached.message) > versionOf(pod.status?.message))
        this.#world.violate('a drain sends everything', `${pod.metadata.name}: ${cached.message ?? ''}`);
    }
    this.#restart(false);
  }

  /** Pods are removed while no watch shows it: a list must, and one that is not behind. */
  async #removeUnseen(random: Random): Promise<void> {
    const { network, pods, server } = this.#cluster;
    const names = [...pods.values()].filter((pod) => !isMirror(pod)).map(({ metadata }) => metadata.name as string);
    const name = names[random.integer(0, names.length)];
    if (!this.#world.happens('pods are removed unseen')) return;
    this.#world.count('pods are removed unseen');
    this.#reportAll();
    await this.#world.sleep(400);
    network.isDown = true;
    for (const stream of network.streams) stream.cut();
    if (name !== undefined) this.#remove(name);
    await this.#world.sleep(random.integer(100, 2_000));
    server.compact();
    network.faults = { ...noFaults, staleList: 1 };
    network.isDown = false;
    await this.#world.sleep(random.integer(1_000, 10_000));
    network.faults = noFaults;
  }

  /**
   * A manager that reports nothing and begins with a list that may be behind. It writes what an earlier one has accepted, if
   * that is in its journal, and nothing that is older than what the API server has.
   */
  async #checkSilent(random: Random): Promise<void> {
    if (!random.chance(0.6)) return;
    const { network } = this.#cluster;
    // A list that is behind lacks it.
    if (random.chance(0.7))
      this.#cluster.attempt(() => void this.#cluster.server.pods.create(makePod('young', random)));
    await this.#world.sleep(600);
    const failed = random.chance(0.4) ? this.#podToFail(random) : undefined;
    const young = this.#cluster.pods.get('young')?.metadata.uid;
    this.#current.reportAll({ mayReport: (podUID) => podUID === failed || podUID === young || random.chance(0.5) });
    await this.#world.sleep(random.pick([0, 0, 1, 5]));
    this.#current.checkOutcomes();
    this.#kill(false);
    if (failed !== undefined) this.#fail(failed);
    network.faults = { ...noFaults, staleList: 0.9, notFound: random.pick([0, 0.5]) };
    this.#restart(true);
    const expected = this.#acceptedForCertain();
    expected.delete(failed ?? '');
    const finished = [...this.#finished].filter((uid) => !this.#mayBeLost.has(uid) && uid !== failed);
    await this.#world.sleep(silentFaultsMs);
    network.faults = noFaults;
    await this.#world.sleep(silentMs);
    if (
      !(await this.#world.until('the manager starts', 20_000, () =>
        this.#current.isRunning ? undefined : 'it has not',
      ))
    )
      return;
    if (this.#fsync === undefined) return;
    const withinMs = this.#current.options.manager.qps === undefined ? recoveredMs : slowMs;
    await this.#world.until('a status in the journal arrives', withinMs, () => {
      for (const { metadata } of this.#recoverable()) {
        const isKept = metadata.deletionTimestamp == null || (metadata.finalizers?.length ?? 0) > 0;
        if (!isKept && finished.includes(metadata.uid))
          return `${metadata.name} ${metadata.uid} has ended, and its object still exists`;
      }
      return this.#outdated(expected);
    });
  }

  /** By pod UID: the newest version that a crash does not lose. */
  #acceptedForCertain(): Map<string, number> {
    return new Map([...this.#accepted].filter(([uid]) => !this.#mayBeLost.has(uid)));
  }

  #outdated(expected: ReadonlyMap<string, number>): string | undefined {
    for (const { metadata, status } of this.#recoverable()) {
      const accepted = expected.get(metadata.uid) ?? 0;
      const shown = versionOf(status?.message);
      if (shown < accepted)
        return `${metadata.name} ${metadata.uid}: ${accepted} was accepted, ${shown} is on the API server`;
    }
    return undefined;
  }

  /** A pod whose containers run. */
  #podToFail(random: Random): string | undefined {
    const living = [...this.#cluster.pods.values()].filter(({ metadata: { uid, deletionTimestamp }, ...pod }) => {
      const isLiving = !terminalPhases.has(pod.status?.phase) && deletionTimestamp == null;
      return isLiving && !isMirror({ metadata: { uid }, ...pod }) && this.#runtime.get(uid)?.ended !== true;
    });
    return living[random.integer(0, living.length)]?.metadata.uid as string | undefined;
  }

  /** While no manager runs, a controller gives up a pod, as the garbage collector of pods does. */
  #fail(podUID: string): void {
    const pod = [...this.#cluster.pods.values()].find(({ metadata }) => metadata.uid === podUID);
    const status = { phase: 'Failed', reason: 'NodeLost' };
    if (pod === undefined || terminalPhases.has(pod.status?.phase)) return;
    this.#cluster.attempt(() => void this.#cluster.server.pods.patchStatus('default', pod.metadata.name, { status }));
    this.#accepted.delete(podUID);
    this.#mayBeLostMs.set(podUID, this.#world.nowMs);
  }

  /** A mirror pod that is created when all is quiet has its status soon. */
  async #checkNewMirrors(): Promise<void> {
    if (this.#static.pods.length === 0 || this.#current.options.manager.qps !== undefined) return;
    const current = this.#current;
    await this.#world.until('the informer watches again', 40_000, () => {
      // Which the informer notices after half a minute.
      const isStalled = [...this.#cluster.network.streams].some(
        (stream) => stream.process === current.process && stream.isStalled,
      );
      return current.watchFailure ?? (isStalled ? 'its watch stalls' : undefined);
    });
    // At different times between two full batches.
    for (let i = 0; i < 3; i++) {
      this.#static.renew();
      await this.#world.sleep(mirrorMs);
      this.#checkMirrors();
    }
    await this.#world.until('every last status arrives', 30_000, () => this.#difference());
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

  /** What can be sent is sent at once, and what has failed when its back-off has ended; a DELETE at the next tick. */
  async #watchUnsent(): Promise<void> {
    const { calls } = this.#cluster.network;
    const since = new Map<string, { readonly atMs: number; readonly progress: string }>();
    for (; !this.#isOver; await this.#world.sleep(backOffCheckMs)) {
      const { manager, isRunning, isStopped, process, options } = this.#current;
      const isIdle = manager === undefined || !isRunning || isStopped || process.isPaused || !process.isAlive;
      const pods = isIdle || options.manager.qps !== undefined ? [] : manager.inspect().pods;
      const due = new Map(pods.filter((pod) => this.#isDue(pod)).map((pod) => [`${process.name} ${pod.podUID}`, pod]));
      for (const key of since.keys()) if (!due.has(key)) since.delete(key);
      for (const [key, pod] of due) {
        // A later status may have as many tries.
        const tries = pod.waitingFor?.kind === 'back-off' ? pod.waitingFor.tries : 0;
        const isDeletion = pod.unsentSince === undefined;
        const call = isDeletion ? calls.findLast(({ path }) => path.endsWith(`/pods/${pod.podName}`))?.id : 0;
        const progress = `${pod.sentVersion} ${tries} ${call}`;
        const last = since.get(key);
        const atMs = last?.progress === progress ? last.atMs : this.#world.nowMs;
        since.set(key, { atMs, progress });
        if (this.#world.nowMs - atMs < dueMs + (isDeletion ? options.manager.syncPeriodMs : 0)) continue;
        since.delete(key);
        this.#world.violate('what can be sent is sent', `${key} since ${atMs}: ${JSON.stringify(pod)}`);
      }
    }
  }

  #isDue(pod: PodInspection): boolean {
    const { podUID, unsentSince, waitingFor } = pod;
    if (unsentSince === undefined && !this.#isDeletionDue(pod)) return false;
    if (waitingFor?.kind !== 'back-off') return waitingFor?.kind === (unsentSince && 'next-batch');
    // It may have no mirror pod.
    if (this.#static.pods.some(({ metadata }) => metadata?.uid === podUID)) return false;
    return Date.parse(waitingFor.nextTryAt) <= this.#current.process.clock.now() + 1_000;
  }

  #isDeletionDue({ podUID, podIsFinished }: PodInspection): boolean {
    const { metadata, status } = this.#current.pods.getPodByUID(podUID) ?? {};
    return podIsFinished && metadata?.deletionTimestamp != null && terminalPhases.has(status?.phase);
  }

  #checkNoBackOff(): void {
    const { manager, isRunning, options } = this.#current;
    if (manager === undefined || !isRunning) {
      this.#world.violate('the manager starts', 'not in a healthy time');
      return;
    }
    if (options.manager.qps !== undefined) return;
    const { outage, requestFailure, informer, journalFailure, pods } = manager.inspect();
    // Informers here give a silent watch up sooner than the server sends a bookmark, and it is healthy again with the next event.
    const hasBeenSilent = informer?.failure?.reason.includes('TimeoutError') === true;
    const watchFailure = hasBeenSilent ? undefined : informer?.failure;
    const failures = { outage, requestFailure, informer: watchFailure, journalFailure };
    for (const [what, failure] of Object.entries(failures)) {
      if (failure !== undefined)
        this.#world.violate('no failure is shown after a healthy time', `${what}: ${JSON.stringify(failure)}`);
    }
    for (const pod of pods) {
      const exists = this.#cluster.pods.get(pod.podName)?.metadata.uid === pod.podUID;
      // A conflict with somebody else's write a moment ago may be being retried.
      if (pod.lastError !== undefined && exists && !pod.isInFlight) {
        this.#world.violate('no back-off is left after a healthy time', JSON.stringify(pod));
      }
    }
    for (const [podUID, by] of this.#requested) {
      const removedMs = this.#cluster.removedMs.get(podUID) ?? Number.POSITIVE_INFINITY;
      if (by === this.#current && removedMs < this.#world.nowMs - 15_000)
        this.#world.violate('the end of a deletion is reported', podUID);
    }
    for (const { metadata } of this.#current.pods.getPods()) {
      const removedMs = this.#cluster.removedMs.get(metadata!.uid!) ?? Number.POSITIVE_INFINITY;
      if (removedMs < this.#world.nowMs - 5_000) {
        this.#world.violate('the informer forgets removed pods', `${metadata!.name} ${metadata!.uid}`);
      }
    }
  }

  #checkMirrors(): void {
    const { qps } = this.#current.options.manager;
    // With few requests a second, others are sent before: three for each pod.
    const withinMs = mirrorMs + (qps === undefined ? 0 : (3_000 * this.#cluster.pods.size) / qps);
    for (const pod of this.#cluster.pods.values()) {
      const isNew = this.#world.nowMs - this.#addedMs(pod) < withinMs;
      if (isMirror(pod) && !isNew && this.#accepted.has(podUIDOf(pod)) && versionOf(pod.status?.message) === 0)
        this.#world.violate('a new mirror pod gets the status', `${pod.metadata.name} ${pod.metadata.uid}`);
    }
  }

  #addedMs({ metadata: { uid } }: PodWrite['pod']): number {
    const { history } = this.#cluster;
    return history.findLast(({ type, pod }) => type === 'ADDED' && pod.metadata.uid === uid)?.atMs ?? 0;
  }

  /** What the cache and the API server disagree on. */
  /** @param counts of the pods whose statuses are unsent */
  #difference(counts: (pod: PodInspection) => boolean = () => true): string | undefined {
    const { manager, isRunning, pods } = this.#current;
    if (manager === undefined || !isRunning) return 'the manager does not run';
    const inspected = manager.inspect().pods;
    const known = new Set(pods.getPods().map(({ metadata }) => metadata!.uid));
    const late = this.#writtenLate();
    for (const pod of this.#cluster.pods.values()) {
      const { metadata, status = {} } = pod;
      const { name, deletionTimestamp, finalizers = [] } = metadata;
      const uid = podUIDOf(pod);
      if (!known.has(uid)) return `${name} ${uid} is not known to the informer`;
      const cached = manager.getPodStatus(uid);
      if (cached === undefined) {
        const isHeld = metadata.deletionGracePeriodSeconds === 0 && (finalizers?.length ?? 0) > 0;
        if (isHeld && (terminalPhases.has(status.phase) || late.has(metadata.uid))) continue;
        return `${name} ${uid} has no cached status`;
      }
      const accepted = this.#accepted.get(uid) ?? 0;
      const version = versionOf(cached.message);
      // Of an earlier process: its line was damaged, or a late request has replaced what was written and settled.
      const isLost = processOf(accepted) < this.#started && (this.#mayBeLost.has(uid) || late.has(metadata.uid));
      if (accepted > version && !isLost) return `${name} ${uid}: ${accepted} was accepted, and ${version} is cached`;
      const isLeft = deletionTimestamp != null && (finalizers?.length ?? 0) === 0;
      const difference = differenceTo(cached, status) ?? (isLeft ? 'its object still exists' : undefined);
      if (difference !== undefined) {
        return `${name} ${uid}: ${difference}; ${JSON.stringify(inspected.find((pod) => pod.podUID === uid))}`;
      }
    }
    const unsent = inspected.filter((pod) => (pod.unsentSince !== undefined || pod.isInFlight) && counts(pod)).length;
    return unsent > 0 ? `${unsent} pods are unsent` : undefined;
  }

  async #checkQuiet(): Promise<void> {
    const { calls } = this.#cluster.network;
    await this.#world.sleep(60_000);
    const before = calls.length;
    await this.#world.sleep(60_000);
    this.#checkSizes();
    this.#checkJournalIsEmpty();
    for (const [podUID, by] of this.#requested) {
      if (by === this.#current && this.#cluster.removedMs.has(podUID))
        this.#world.violate('the end of a deletion is reported', podUID);
    }
    const noise = calls.slice(before).filter(({ method, path }) => method !== 'GET' || path !== '/api/v1/pods');
    if (noise.length === 0) return;
    const details = noise
      .slice(0, 3)
      .map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(body ?? '')}`);
    this.#world.violate('nothing is sent when all is quiet', details.join('; '));
  }

  /** What is kept does not grow with what has happened. */
  #checkSizes(): void {
    const { manager, process, pods, read } = this.#current;
    const { pods: cached, apiStatusVersions, requestedDeletions } = manager!.inspect();
    const exist = this.#cluster.pods.size;
    const sizes = {
      'pods of the informer': [pods.getPods().length, exist],
      'cached statuses': [cached.length, exist],
      'versions that were sent': [apiStatusVersions.size, exist],
      'requested deletions': [requestedDeletions.length, exist],
      'statuses that are unsent by the gauge': [read.gauges?.unsentStatuses, 0],
      'resizes that wait by the metric': [read.pendingResizes, exist],
      timers: [process.timers, maxTimers],
      'listeners of a signal': [Math.max(this.#listeners.most, this.#listeners.mostOfLight), maxListeners],
    };
    for (const [what, [size = 0, most = 0]] of Object.entries(sizes)) {
      if (size > most) this.#world.violate('nothing is kept when all is quiet', `${size} ${what}, at most ${most}`);
    }
  }

  #checkJournalIsEmpty(): void {
    const content = this.#disk.contentOf(journalFile, 'crash');
    if (this.#fsync === undefined || content === undefined) return;
    const [uid, ...others] = this.#decoded(content).live.keys();
    if (uid !== undefined)
      this.#world.violate('nothing is kept when all is quiet', `${others.length + 1} lines of the journal: ${uid}`);
  }

  #checkHistory(): void {
    const { history, network, server } = this.#cluster;
    const revivals = this.#revived.flatMap(({ podUID, version, after }) =>
      history.filter(
        ({ pod, resourceVersion }) =>
          resourceVersion > after && podUIDOf(pod) === podUID && versionOf(pod.status?.message) === version,
      ),
    );
    const older = [...network.lateWrites, ...revivals.map(({ resourceVersion }) => resourceVersion)];
    const violations = [
      ...checkVersionsOf(history, new Set(older)),
      ...checkForeignConditions(history),
      ...checkDeletes(network.calls, this.#endedMs),
      ...checkWrites(network.calls),
      ...checkConcurrency(network.calls, this.#limits),
      ...checkRates(network.calls, this.#limits),
      ...checkNewest(network.calls, this.#versions),
      ...checkReads(network.calls),
      ...checkPartitions(
        this.#cluster.partitions,
        [...network.calls, ...network.watches],
        this.#world.size.pods + this.#static.pods.length,
      ),
      ...checkPauses([...network.calls, ...network.watches], ({ name }, podName, fromMs, toMs) =>
        this.#known.get(name)!.isOne(podName, fromMs, toMs),
      ),
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

/** The number of the process that has accepted a version. */
function processOf(version: number): number {
  return Math.floor(version / versionsPerProcess);
}

function versionOf(message: unknown): number {
  return readMessage(message)?.version ?? 0;
}
