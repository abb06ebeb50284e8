import { podClientOf } from '../../../src/kube/http/http-pod-client.ts';
import {
  createInformerPodManager,
  type InformerPodManager,
  informerPodManagerFrom,
} from '../../../src/kube/informer/index.ts';
import { isMirrorPod } from '../../../src/kube/pods/static-pods.ts';
import type { Timer } from '../../../src/shared/clock.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { openFileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import type { FsyncPolicy } from '../../../src/status-manager/journal/journal-recorder.ts';
import type { Journal } from '../../../src/status-manager/journal/journal.ts';
import { type Pod, StatusManager, StatusManagerError, type StatusOutcome } from '../../../src/status-manager/index.ts';
import { finalOutcomes, type LifeManager, OutcomeLedger } from '../../chaos/outcome-ledger.ts';
import { PodLife } from '../../chaos/pod-life.ts';
import { type AgentOptions, type AgentReport, messageOf, type PodRuntime } from '../../chaos/protocol.ts';
import type { Random } from '../../chaos/random.ts';
import type { Network } from '../network.ts';
import type { SimulatedDisk } from '../simulated-disk.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import { BehindPods } from './behind-pods.ts';
import { CallersInformer } from './callers-informer.ts';
import { doOddDeed, oddDeeds, ReadMetrics } from './odd-deeds.ts';
import { KnownPods } from './known-pods.ts';
import { OldFirstList } from './old-first-list.ts';

export const versionsPerProcess = 1_000_000;
const orphanPeriodMs = 1_000;
const journalDir = '/var/lib/journal';
export const journalFile = `${journalDir}/pod-status.journal`;

export interface ManagerProcessOptions {
  readonly number: number;
  readonly nodeName: string;
  readonly token: string;
  /** The fsync policy of the journal; undefined without a journal. */
  readonly fsync: FsyncPolicy | undefined;
  /** Of the journal. */
  readonly maxBytes: number | undefined;
  readonly staticPods: readonly Pod[];
  readonly manager: AgentOptions;
  /** Starts without reporting any status, so that only statuses from the journal are sent. */
  readonly isSilent: boolean;
  /** By pod UID, what runs on the node; outlives the process. */
  readonly runtime: ReadonlyMap<string, PodRuntime>;
  /** Whether there is something to do for pods whose containers have ended, before they are finished. */
  readonly finishesLater: boolean;
  /** Whether what an operator does has no cost that is counted. */
  readonly mayOperate: () => boolean;
  readonly onReport: (report: AgentReport) => void;
  /** A version was accepted, also one without a number of its own. */
  readonly onAccepted: (podUID: string) => void;
  /** The manager was told whether containers of the pod could be running. */
  readonly onAsked: (podUID: string, couldHaveRunningContainers: boolean) => void;
  /** @param behindSinceMs since when the API server had not had the pod's newest status; undefined if not known */
  readonly onOutcome: (outcome: StatusOutcome, behindSinceMs: number | undefined) => void;
  readonly onLog: (level: 'warn' | 'error', message: string, fields: object) => void;
}

/** One run of an agent on the public API: informer, status manager, journal, and pods with random lifecycles. */
export class ManagerProcess {
  readonly process: SimulatedProcess;
  readonly options: ManagerProcessOptions;
  readonly pods: InformerPodManager;
  readonly behind = new BehindPods();
  readonly read = new ReadMetrics();
  readonly known = new KnownPods();
  /** What an informer of the caller gets its pods from. */
  readonly #informer: InformerPodManager | undefined;
  /** Undefined until it runs. */
  manager: StatusManager<InformerPodManager> | undefined;
  journal: Journal | undefined;
  recovered: Journal['recovered'] = [];
  /** Pods whose status is the recovered one, by UID. */
  readonly onlyRecovered = new Set<string>();
  isRunning = false;
  isStopped = false;
  readonly #world: World;
  readonly #disk: SimulatedDisk;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #transport: ReturnType<Network['transport']>;
  /** By path of a pod: the latest object that the API server has shown to the manager; `isRead` until its sync goes on. */
  readonly #shown = new Map<string, { readonly uid: string; readonly resourceVersion: number; isRead: boolean }>();
  readonly #lives = new Map<string, PodLife>();
  readonly #ledger = new OutcomeLedger();
  #observed: LifeManager | undefined;
  #isSilent: boolean;
  #isSettling = false;
  #orphanTimer: Timer | undefined;
  #operatorTimer: Timer | undefined;
  #oddTimer: Timer | undefined;
  #waitTimer: Timer | undefined;
  #lastVersion: number;

  constructor(world: World, network: Network, disk: SimulatedDisk, options: ManagerProcessOptions) {
    this.#world = world;
    this.#disk = disk;
    this.options = options;
    this.#isSilent = options.isSilent;
    this.#lastVersion = options.number * versionsPerProcess;
    this.process = new SimulatedProcess(world, `manager-${options.number}`);
    this.#random = world.random.fork(this.process.name);
    const nothing = (): void => {};
    this.#logger = {
      trace: nothing,
      debug: nothing,
      info: nothing,
      warn: this.#log('warn'),
      error: this.#log('error'),
    };
    this.#transport = network.transport(this.process, options.token);
    const oldFirstList = this.#random.fork('first list').chance(0.5) ? new OldFirstList(this.#transport) : undefined;
    this.#watchTrust();
    const pods = createInformerPodManager({
      client: { transport: oldFirstList?.transport ?? this.#transport },
      nodeName: options.nodeName,
      listTimeoutMs: 5_000,
      inactivityTimeoutMs: 25_000,
      ...this.#ports(),
    });
    oldFirstList?.restrict(pods);
    const informers = this.#random.fork("caller's informer");
    this.#informer = informers.chance(0.15) ? pods : undefined;
    this.pods =
      this.#informer === undefined
        ? pods
        : informerPodManagerFrom(new CallersInformer(pods, this.process, informers), {
            nodeName: options.nodeName,
            ...this.#ports(),
          });
    // Otherwise, a pod that is not listed counts as gone only after ten minutes.
    if (this.#informer !== undefined) this.pods.isGone = (uid) => pods.isGone(uid);
  }

  /** Resolves when it runs, or when it was stopped before that; never if it was killed before that. */
  async start(): Promise<void> {
    const journal = await this.#openJournal();
    if (this.isStopped) return journal?.close();
    const manager = new StatusManager({
      ...this.options.manager,
      client: podClientOf(this.#transport),
      podManager: this.pods,
      podCouldHaveRunningContainers: (pod) => this.#couldHaveRunningContainers(pod),
      ...(journal !== undefined && { journal }),
      metrics: this.read.metrics,
      ...this.#ports(),
    });
    this.manager = manager;
    this.journal = journal;
    this.recovered = journal?.recovered ?? [];
    this.#world.note(
      this.process.name,
      'recovered',
      this.recovered.map(({ podUID, status }) => [podUID, status.message]),
    );
    for (const { podName, podUID } of this.recovered) {
      this.known.added(podName, podUID, this.#world.nowMs);
      this.behind.accepted(podUID, this.#world.nowMs);
      this.onlyRecovered.add(podUID);
    }
    manager.subscribe({
      onPodUpdated: ({ metadata: { uid: podUID = '' } = {} }) => {
        this.behind.accepted(podUID, this.#world.nowMs);
        this.onlyRecovered.delete(podUID);
        this.options.onAccepted(podUID);
      },
      onPodRemoved: ({ metadata: { uid: podUID = '' } = {} }) => this.options.onAccepted(podUID),
      onOutcome: (outcome) => {
        if (!this.process.isAlive) return;
        this.#world.note(this.process.name, 'outcome', outcome.podUID, outcome.version, outcome.outcome);
        this.#ledger.outcome(outcome);
        if (outcome.outcome === 'unchanged')
          for (const shown of this.#shown.values()) if (shown.uid === outcome.podUID) shown.isRead = false;
        this.options.onOutcome(outcome, finalOutcomes.has(outcome.outcome) ? this.behind.ended(outcome) : undefined);
      },
    });
    this.#ledger.recovered(manager);
    this.#observed = this.#ledger.observe(manager);
    this.pods.setStaticPods(this.options.staticPods);
    this.#watchInformer();
    this.#informer?.start();
    await this.#informer?.whenSynced().catch(() => {});
    if (this.isStopped) return;
    this.pods.start();
    await this.pods.whenSynced().catch(() => {});
    if (this.isStopped) return;
    manager.seed(this.pods.getPods());
    manager.start();
    this.isRunning = true;
    this.#world.note(this.process.name, 'running');
    if (!this.#isSilent) this.#beginLives();
    this.#removeOrphans();
    this.#operate(this.#random.fork('operator'));
    this.#actOddly(this.#random.fork('odd deeds'));
  }

  #actOddly(random: Random): void {
    this.#oddTimer = this.process.clock.afterFunc(random.integer(1_000, 10_000), () => {
      const pods = this.pods.getPods();
      const deed = random.pick(oddDeeds);
      const chosen = random.next();
      const pod = pods[Math.floor(chosen * pods.length)];
      if (pod !== undefined && this.options.mayOperate() && this.#world.happens(`${this.process.name}: ${deed}`)) {
        this.#world.count(deed);
        const result = doOddDeed(deed, this.manager!, pod, random);
        if (result !== undefined) this.#ledger.entered(this.manager!, pod.metadata!.uid!, result);
      }
      this.#actOddly(random);
    });
  }

  /** What an operator and a wrong agent do at times, while requests get through: nothing of it does harm. */
  #operate(random: Random): void {
    this.#operatorTimer = this.process.clock.afterFunc(random.integer(500, 8_000), () => {
      const pods = this.pods.getPods();
      const deed = random.weighted({ explain: 4, flush: 2, retry: 2, wait: 2, 'run again': 2 });
      const chosen = random.next();
      const pod = pods[Math.floor(chosen * pods.length)];
      if (pod !== undefined && this.options.mayOperate() && this.#world.happens(`${this.process.name}: ${deed}`))
        this.#act(deed, pod);
      this.#operate(random);
    });
  }

  #act(deed: string, pod: Pod): void {
    const manager = this.manager!;
    const uid = pod.metadata!.uid!;
    const cached = manager.getPodStatus(uid);
    this.#world.count(deed);
    switch (deed) {
      case 'flush':
        void manager.flush(1_000);
        return;
      case 'retry':
        manager.retryNow(uid);
        return;
      case 'wait': {
        const waiting = new AbortController();
        void manager.whenWritten(uid, { signal: waiting.signal }).catch(() => {});
        this.#waitTimer = this.process.clock.afterFunc(100, () => waiting.abort());
        return;
      }
      case 'run again': {
        // A container that has ended for good.
        const { containerStatuses = [] } = cached ?? {};
        const ended = containerStatuses.find(({ state }) => state.terminated !== undefined);
        if (ended === undefined || pod.spec?.restartPolicy !== 'Never') return;
        const state = { running: { startedAt: new Date(this.process.clock.now()).toISOString() } };
        const changed = containerStatuses.map((other) => (other === ended ? { ...other, state } : other));
        this.#observed!.setPodStatus(pod, { ...cached, containerStatuses: changed });
        return;
      }
      default:
        this.#world.note(this.process.name, 'explains', String(manager.explain(uid)), manager.canPodRun(pod));
    }
  }

  startReporting(): void {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    if (wasSilent && this.isRunning) this.#beginLives();
  }

  /** Each pod has a new status, in the same turn. @param reason of all of them */
  reportAll({
    mayReport = () => true,
    reason,
  }: { readonly mayReport?: (podUID: string) => boolean; readonly reason?: string | undefined } = {}): void {
    for (const pod of this.pods.getPods()) {
      const uid = pod.metadata!.uid!;
      const status = this.#observed?.getPodStatus(uid);
      if (status === undefined || isMirrorPod(pod) || !mayReport(uid)) continue;
      const version = ++this.#lastVersion;
      const { changed } = this.#observed!.setPodStatus(pod, {
        ...{ ...status, message: messageOf(version, uid) },
        ...(reason !== undefined && { reason }),
      });
      if (changed) this.options.onReport({ kind: 'accepted', uid, version });
    }
  }

  /** Deleted pods still terminate; otherwise nothing new happens to pods. */
  settle(): void {
    this.#isSettling = true;
    for (const life of this.#lives.values()) life.settle();
  }

  /** Of what is not cached any more, each version has its outcome, and of the others all but the newest ones. */
  checkOutcomes(): void {
    if (!this.isRunning || !this.process.isAlive) return;
    for (const details of this.#ledger.withoutOutcome(this.manager?.inspect().pods ?? []))
      this.#world.violate('each version has one final outcome, and whenWritten settles', details);
  }

  async stop(drain: boolean): Promise<void> {
    this.isStopped = true;
    this.#orphanTimer?.stop();
    this.#operatorTimer?.stop();
    this.#oddTimer?.stop();
    this.#waitTimer?.stop();
    for (const life of this.#lives.values()) life.stop();
    await this.manager?.stop({ drain, deadlineMs: 5_000 });
    await this.pods.stop();
    await this.#informer?.stop();
    await this.#transport.close();
    // Outcomes that a setter causes are reported in a later turn of the event loop.
    await this.process.clock.yieldToEventLoop();
    for (const details of this.#ledger.broken(this.manager?.inspect().pods ?? [])) {
      this.#world.violate('each version has one final outcome, and whenWritten settles', details);
    }
    if (this.process.timers > 0) {
      this.#world.violate('stop() leaves nothing', `${this.process.name}: ${this.process.timers} timers`);
    }
    this.process.kill();
  }

  async #openJournal(): Promise<Journal | undefined> {
    const { fsync, maxBytes } = this.options;
    if (fsync === undefined) return undefined;
    const hasLocks = this.#random.fork('locks').chance(0.9);
    const lockDirectory = hasLocks ? this.#disk.lockDirectory(this.process) : refuseLock;
    const ports = { disk: this.#disk.for(this.process), lockDirectory };
    for (;;) {
      try {
        return await openFileJournal(journalDir, { fsync, maxBytes, ...this.#ports() }, ports);
      } catch (error) {
        // The disk is full, and there is no journal yet.
        if (!(error instanceof StatusManagerError)) throw error;
        await new Promise<void>((resolve) => void this.process.clock.afterFunc(1_000, resolve));
        if (this.isStopped) return undefined;
      }
    }
  }

  /** Why the pods of the node are not watched. */
  get watchFailure(): string | undefined {
    return (this.#informer ?? this.pods).informerState().failure?.reason;
  }

  /** The informer never goes back: neither to an older version of a pod, nor to one that was removed. */
  #watchInformer(): void {
    const removed = new Set<string>();
    const violate = (details: string): void => {
      if (this.process.isAlive) this.#world.violate('the informer never goes back', `${this.process.name}: ${details}`);
    };
    this.pods.subscribe(
      {
        onPodAdded: ({ metadata: { uid, name } }) => {
          this.known.added(name, uid, this.#world.nowMs);
          if (removed.has(uid)) violate(`${name} ${uid} was removed, and is there again`);
        },
        onPodUpdated: ({ metadata: { uid, name, resourceVersion } }, previous) => {
          const before = previous.metadata.resourceVersion;
          if (Number(resourceVersion) < Number(before)) violate(`${name} ${uid}: ${before} → ${resourceVersion}`);
        },
        onPodRemoved: ({ metadata: { uid, name } }) => {
          this.known.removed(name, uid, this.#world.nowMs);
          removed.add(uid);
        },
      },
      { includeMirrorPods: true },
    );
  }

  /** A PATCH without a GET is based on the newest object that the process knows. */
  #watchTrust(): void {
    const { request } = this.#transport;
    const watched: typeof request = async (method, path, options) => {
      const shown = this.#shown.get(path.replace(/\/status$/, ''));
      const known = shown && this.pods.getPodByUID(shown.uid)?.metadata?.resourceVersion;
      // After a wait for the limiter, the PATCH that follows a GET is based on what is known by then.
      const isUnread = method === 'PATCH' && shown?.isRead === false;
      if (shown !== undefined) shown.isRead = false;
      if (isUnread && Number(known ?? 0) > shown.resourceVersion) {
        const details = `${this.process.name}: ${path} @${shown.resourceVersion}, and ${known} is known`;
        this.#world.violate('a PATCH is based on the newest object that is known', details);
      }
      const response = await request(method, path, options);
      if (/\/pods\/[^/]+(\/status)?$/.test(path)) {
        const { metadata } = response.json() as Pod;
        const { uid = '', resourceVersion } = metadata ?? {};
        const isRead = method === 'GET';
        this.#shown.set(path.replace(/\/status$/, ''), { uid, resourceVersion: Number(resourceVersion), isRead });
      }
      return response;
    };
    Object.assign(this.#transport, { request: watched });
  }

  #ports(): { clock: SimulatedProcess['clock']; random: () => number; logger: Logger } {
    return { clock: this.process.clock, random: () => this.#random.next(), logger: this.#logger };
  }

  #log(level: 'warn' | 'error') {
    return (fields: object, message: string): void => {
      if (!this.process.isAlive) return;
      const { err: _err, ...rest } = fields as { readonly err?: unknown };
      this.#world.note(this.process.name, level, message, rest);
      this.options.onLog(level, message, fields);
    };
  }

  #beginLives(): void {
    this.pods.subscribe({
      onPodAdded: (pod) => this.#onAdded(pod),
      onPodUpdated: (pod) => this.#lives.get(pod.metadata.uid)?.update(pod),
      onPodRemoved: ({ metadata: { uid } }) => {
        this.#lives.get(uid)?.stop();
        this.#lives.delete(uid);
      },
    });
  }

  #onAdded(pod: Pod): void {
    if (this.isStopped) return;
    const { uid = '', name = '' } = pod.metadata ?? {};
    const { clock } = this.process;
    const { pace } = this.#world.size;
    const life = new PodLife(pod, {
      manager: this.#observed!,
      clock: { ...clock, afterFunc: (delayMs, callback) => clock.afterFunc(delayMs * pace, callback) },
      random: this.#random.fork(name),
      reportNow: () => this.#world.nowMs,
      nextVersion: () => ++this.#lastVersion,
      send: this.options.onReport,
      runtime: this.options.runtime.get(uid),
      finishesLater: this.options.finishesLater,
    });
    this.#lives.set(uid, life);
    life.start();
    if (this.#isSettling) life.settle();
  }

  /** A silent process has no running containers, so a terminal phase from the journal may be written. */
  #couldHaveRunningContainers(pod: Pod): boolean {
    const uid = pod.metadata?.uid ?? '';
    const life = this.#lives.get(this.pods.translatePodUID(uid));
    const could = !this.#isSilent && (life?.couldHaveRunningContainers ?? false);
    this.options.onAsked(uid, could);
    return could;
  }

  #removeOrphans(): void {
    if (this.isStopped) return;
    this.manager!.removeOrphanedStatuses(this.pods.getPods().map(({ metadata }) => metadata!.uid!));
    this.#orphanTimer = this.process.clock.afterFunc(orphanPeriodMs, () => this.#removeOrphans());
  }
}

/** As some file systems do. */
async function refuseLock(): Promise<never> {
  throw Object.assign(new Error('ENOLCK: simulated'), { code: 'ENOLCK' });
}
