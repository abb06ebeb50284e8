import { mkdirSync } from 'node:fs';
import {
  type Clock,
  fileJournal,
  type Logger,
  type Pod,
  StatusManager,
  systemClock,
} from '../../src/status-manager/index.ts';
import { createPodClient, type HTTPPodClient } from '../../src/kube/http/index.ts';
import { createInformerPodManager, type InformerPodManager } from '../../src/kube/informer/index.ts';
import { reportingLogger } from './agent-reports.ts';
import { kubeConfig } from './kube-config.ts';
import { type LifeManager, OutcomeLedger } from './outcome-ledger.ts';
import { PodLife } from './pod-life.ts';
import type { AgentConfig, AgentReport, StoppedAgent } from './protocol.ts';
import { Random } from './random.ts';
import { throwingListener, throwingLogger, throwingPodListener } from './throwing-ports.ts';

const versionsPerIncarnation = 1_000_000;
const orphanPeriodMs = 1_000;

/** A node agent on the public API: informer, transport, status manager, journal, and pods with random lifecycles. */
export class Agent {
  readonly #config: AgentConfig;
  readonly #send: (report: AgentReport) => void;
  readonly #random: Random;
  readonly #clock: Clock & { jump(ms: number): void };
  readonly #logger: Logger;
  readonly #client: HTTPPodClient;
  readonly #pods: InformerPodManager;
  readonly #lives = new Map<string, PodLife>();
  readonly #ledger = new OutcomeLedger();
  #thrown = 0;
  #manager: StatusManager<InformerPodManager> | undefined;
  #observed: LifeManager | undefined;
  #orphanTimer: ReturnType<typeof setInterval> | undefined;
  #lastVersion: number;
  #isSilent: boolean;
  #isSettling = false;
  #isRunning = false;
  #isStopped = false;

  constructor(config: AgentConfig, send: (report: AgentReport) => void) {
    this.#config = config;
    this.#send = send;
    this.#isSilent = config.isSilent;
    this.#lastVersion = config.incarnation * versionsPerIncarnation;
    this.#random = new Random(`${config.seed}/agent-${config.incarnation}`);
    this.#clock = jumpingClock();
    const onThrow = (): void => void this.#thrown++;
    this.#logger = throwingLogger(reportingLogger(send), this.#random.fork('logger'), onThrow);
    this.#client = createPodClient(kubeConfig(config), {
      userAgent: `chaos-agent/${config.incarnation}`,
      clock: this.#clock,
      logger: this.#logger,
      execTimeoutMs: 1_000,
      connectTimeoutMs: 2_000,
    });
    this.#pods = createInformerPodManager({
      client: this.#client,
      nodeName: config.nodeName,
      listTimeoutMs: 2_500,
      inactivityTimeoutMs: 4_000,
      clock: this.#clock,
      random: () => this.#random.next(),
      logger: this.#logger,
    });
    this.#pods.subscribe(throwingPodListener(this.#random.fork('pod listener'), onThrow));
  }

  /** Resolves when the agent runs, or when it was stopped before that. */
  async start(): Promise<void> {
    const { journalDir, options } = this.#config;
    if (journalDir !== undefined) mkdirSync(journalDir, { recursive: true });
    const logger = this.#logger;
    const journal =
      journalDir === undefined ? undefined : await fileJournal(journalDir, { logger, clock: this.#clock });
    if (this.#isStopped) return journal?.close();
    const manager = new StatusManager({
      ...options,
      client: this.#client,
      podManager: this.#pods,
      podCouldHaveRunningContainers: (pod) => this.#couldHaveRunningContainers(pod),
      ...(journal !== undefined && { journal }),
      clock: this.#clock,
      random: () => this.#random.next(),
      logger,
    });
    this.#manager = manager;
    manager.subscribe({
      onOutcome: (outcome) => this.#ledger.outcome(outcome),
    });
    manager.subscribe(throwingListener(this.#random.fork('listener'), () => void this.#thrown++));
    this.#ledger.recovered(manager);
    this.#observed = this.#ledger.observe(manager);
    this.#pods.start();
    await this.#pods.whenSynced().catch(() => {});
    if (this.#isStopped) return;
    manager.seed(this.#pods.getPods());
    manager.start();
    this.#isRunning = true;
    if (!this.#isSilent) this.#beginLives();
    this.#orphanTimer = setInterval(() => this.#removeOrphans(), orphanPeriodMs);
    this.#send({ kind: 'running' });
  }

  jump(ms: number): void {
    this.#clock.jump(ms);
  }

  startReporting(): void {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    if (wasSilent && this.#isRunning) this.#beginLives();
  }

  settle(): void {
    this.#isSettling = true;
    for (const life of this.#lives.values()) life.settle();
  }

  show(): void {
    const { pods = [] } = this.#manager?.inspect() ?? {};
    this.#send({
      kind: 'shown',
      pods: pods.map((pod) => ({
        uid: pod.podUID,
        status: this.#manager!.getPodStatus(pod.podUID)!,
        state: JSON.stringify(pod),
      })),
      unsent: pods.filter(({ unsentSince, isInFlight }) => unsentSince !== undefined || isInFlight).length,
      known: this.#pods.getPods().map(({ metadata }) => metadata!.uid!),
    });
  }

  async stop(drain: boolean): Promise<Omit<StoppedAgent, 'left'>> {
    this.#isStopped = true;
    clearInterval(this.#orphanTimer);
    for (const life of this.#lives.values()) life.stop();
    await this.#manager?.stop({ drain, deadlineMs: 1_000 });
    await this.#pods.stop();
    await this.#client.transport.close();
    // Outcomes that a setter causes are reported in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    const broken = this.#ledger.broken(this.#manager?.inspect().pods ?? []);
    return { outcomes: this.#ledger.counts, broken, thrown: this.#thrown };
  }

  #beginLives(): void {
    this.#pods.subscribe({
      onPodAdded: (pod) => this.#onAdded(pod),
      onPodUpdated: (pod) => this.#lives.get(pod.metadata.uid)?.update(pod),
      onPodRemoved: (pod) => {
        this.#lives.get(pod.metadata.uid)?.stop();
        this.#lives.delete(pod.metadata.uid);
      },
    });
  }

  #onAdded(pod: Pod): void {
    if (this.#isStopped) return;
    const { uid, name } = pod.metadata!;
    const life = new PodLife(pod, {
      manager: this.#observed!,
      clock: this.#clock,
      random: this.#random.fork(`${name}`),
      reportNow: () => Date.now(),
      nextVersion: () => ++this.#lastVersion,
      send: this.#send,
      runtime: this.#config.runtime[uid!],
    });
    this.#lives.set(uid!, life);
    life.start();
    if (this.#isSettling) life.settle();
  }

  /** A silent agent has no running containers, so a terminal phase from the journal may be written. */
  #couldHaveRunningContainers(pod: Pod): boolean {
    if (this.#isSilent) return false;
    return this.#lives.get(pod.metadata?.uid ?? '')?.couldHaveRunningContainers ?? false;
  }

  #removeOrphans(): void {
    this.#manager!.removeOrphanedStatuses(this.#pods.getPods().map(({ metadata }) => metadata!.uid!));
  }
}

function jumpingClock(): Clock & { jump(ms: number): void } {
  let offsetMs = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + offsetMs,
    jump: (ms) => {
      offsetMs += ms;
    },
  };
}
