import { type FSWatcher, watch } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileJournal, openCheckpointState } from '../../../src/status-manager/index.ts';
import type { Json } from '../../support/kube-http.ts';
import { AgentHandle } from '../agent-handle.ts';
import { ChaosTime, disturbNetwork, disturbServer, serverPausesMs } from '../disturbances.ts';
import { type Call, FaultyProxy } from '../faulty-proxy.ts';
import { checkFaults, checkForeignConditions, checkTerminalIsFinal, type Violation } from '../invariants.ts';
import type { AgentReport } from '../protocol.ts';
import { Random } from '../random.ts';
import type { RunOptions, RunResult } from '../run.ts';
import { type ChaosServer, startServer } from '../servers.ts';
import { untilNoProblem } from '../settle.ts';
import { nodeName, podNames, Users } from '../users.ts';
import {
  checkRuns,
  checkShownStatuses,
  containerKey,
  type Containers,
  differenceToRuns,
  podUID,
} from './kit-invariants.ts';
import type { KitAgentConfig } from './kit-protocol.ts';
import { liveProcessGroups, processesWith, shimOf } from './processes.ts';
import { RunLedger } from './run-ledger.ts';
import { makeScriptedPod, makeStaticPod, staticVersion } from './scripted-pod.ts';

const agentFile = new URL('kit-agent-process.js', import.meta.url);
const podCount = 10;
const staticPodNames = ['static-0', 'static-1'];
/** The share of the time with faults and kills. */
const chaosShare = 0.75;
/** A run of a minute kills an agent at least 20 times. */
const msPerKill = 3_000;
/** How long an agent may take to start before it is killed. */
const startDeadlineMs = 5_000;
/** How long to wait for a moment to kill the agent at. */
const momentDeadlineMs = 1_500;

/** What the kubelet logs as an error, too, although it is part of the life of pods or caused by the faults. */
const expectedErrors = /sync(ing)? pod|mirror pod/;

/** What happens when an agent is killed, a few milliseconds later: it creates a container, one starts or ends, a request. */
const moments = ['creating', 'ledger', 'patch', 'request'] as const;
type Moment = (typeof moments)[number];

/** One run of an agent of the agent kit with the process runtime, against one API server. */
export async function runKit(options: Omit<RunOptions, 'fixed'>): Promise<RunResult> {
  return new KitRun(options).run();
}

class KitRun {
  readonly #options: Omit<RunOptions, 'fixed'>;
  readonly #random: Random;
  readonly #time = new ChaosTime();
  readonly #violations: Violation[] = [];
  readonly #creations = new Map<string, number>();
  readonly #lost = new Set<string>();
  readonly #waiting = new Map<Moment, () => void>();
  /** The versions of the manifests that are there, by the names of their static pods. */
  readonly #staticVersions = new Map<string, number>();
  #incarnation = 0;
  #killed = 0;
  #dir = '';
  #ledger!: RunLedger;
  #server!: ChaosServer;
  #proxy!: FaultyProxy;
  #agent: AgentHandle<KitAgentConfig> | undefined;

  constructor(options: Omit<RunOptions, 'fixed'>) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/kit/${options.server}`);
  }

  get #rootDir(): string {
    return path.join(this.#dir, 'node');
  }

  get #manifestDir(): string {
    return path.join(this.#dir, 'manifests');
  }

  get #containers(): Containers {
    return { ledger: this.#ledger, lost: this.#lost, creations: this.#creations };
  }

  async run(): Promise<RunResult> {
    const { server, seed, forMs, evidence } = this.#options;
    this.#dir = await mkdtemp(path.join(tmpdir(), 'chaos-'));
    this.#ledger = new RunLedger(path.join(this.#dir, 'ledger'));
    for (const dir of [this.#ledger.directory, this.#rootDir, this.#manifestDir]) await mkdir(dir);
    let watcher: FSWatcher | undefined;
    try {
      const names = podNames(podCount);
      const mirrorNames = staticPodNames.map((name) => `${name}-${nodeName}`);
      this.#server = await startServer(
        server,
        [...names, ...mirrorNames].map((name) => `default/${name}`),
      );
      this.#proxy = await FaultyProxy.start({
        target: this.#server.url,
        ca: () => this.#server.ca,
        seed: `${seed}/kit/${server}`,
        onCall: (call) => this.#onCall(call),
      });
      watcher = watch(this.#ledger.directory, () => this.#happened('ledger'));
      const users = new Users(this.#server.http, this.#random.fork('users'), (name, random) =>
        makeScriptedPod(name, random, this.#ledger.directory),
      );
      this.#startAgent();
      users.start(names);
      await this.#chaos(forMs * chaosShare, server);
      await users.stop();
      const settledAfterMs = await this.#settle(users);
      await this.#endPods();
      await this.#stopAgent(true);
      const open = await this.#proxy.close();
      if (open > 0) this.#addViolation('no resources are leaked', `${open} connections of agents were open at the end`);
      await this.#checkFiles();
      const history = await this.#server.history();
      this.#violations.push(
        ...checkTerminalIsFinal(history),
        ...checkForeignConditions(history),
        ...checkRuns(history, this.#containers),
        ...checkShownStatuses(history, this.#containers),
      );
      if (this.#violations.length > 0 && evidence !== undefined) {
        const runs = [...this.#ledger.read()].map(([uid, containers]) => [uid, [...containers]]);
        const { calls } = this.#proxy;
        await writeFile(evidence, JSON.stringify({ violations: this.#violations, runs, calls, history }));
      }
      this.#violations.push(...checkFaults(this.#proxy.faults, ['server', 'outage', 'kill', 'shim killed'], forMs));
      return {
        server,
        calls: this.#proxy.calls.length,
        faults: this.#proxy.faults,
        counts: { 'container runs': this.#ledger.all().length },
        actions: users.actions,
        pods: new Set(history.map(({ pod }) => pod.metadata.uid)).size,
        agents: { started: this.#incarnation, killed: this.#killed },
        settledAfterMs,
        violations: this.#violations,
      };
    } finally {
      watcher?.close();
      await this.#agent?.kill();
      this.#killContainers();
      await this.#server?.close();
      await rm(this.#dir, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** Runs everything that disturbs the agent and its containers, in parallel. */
  async #chaos(forMs: number, server: RunOptions['server']): Promise<void> {
    const count = (fault: string): void => this.#count(fault);
    await Promise.all([
      this.#killAgents(forMs).finally(() => this.#time.end()),
      disturbServer(this.#time, this.#server, this.#random.fork('server'), serverPausesMs(server, forMs), count),
      disturbNetwork(this.#time, this.#proxy, this.#random.fork('network')),
      this.#killShims(),
      ...staticPodNames.map((name) => this.#changeManifest(name)),
    ]);
  }

  /** Until the time is over and there were enough kills. */
  async #killAgents(forMs: number): Promise<void> {
    const random = this.#random.fork('kills');
    const endMs = Date.now() + forMs;
    const kills = Math.floor(forMs / chaosShare / msPerKill);
    while (Date.now() < endMs || this.#killed < kills) {
      // Some agents end while they start.
      if (random.chance(0.75)) await this.#agent!.next('running', startDeadlineMs);
      await this.#time.pause(random.integer(0, 2_500));
      if (random.chance(0.1)) {
        await this.#stopAgent(random.chance(0.5));
      } else {
        if (random.chance(0.8)) await this.#moment(random.pick(moments));
        await this.#time.pause(random.integer(0, 15));
        await this.#killAgent();
      }
      // Containers go on without an agent.
      if (random.chance(0.3)) await this.#time.pause(random.integer(100, 1_500));
      this.#startAgent();
    }
  }

  /** Resolves when it happens next, or when it does not. */
  #moment(moment: Moment): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, momentDeadlineMs);
      this.#waiting.set(moment, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #happened(moment: Moment): void {
    this.#waiting.get(moment)?.();
    this.#waiting.delete(moment);
  }

  async #killShims(): Promise<void> {
    const random = this.#random.fork('shims');
    for (;;) {
      await this.#time.pause(random.integer(1_500, 6_000));
      if (this.#time.isOver) return;
      const running = this.#ledger.all().filter(({ end }) => end === undefined);
      const live = liveProcessGroups();
      const candidates = running.filter(({ pid }) => live.has(pid));
      if (candidates.length === 0) continue;
      const { id, pid } = random.pick(candidates);
      const shim = shimOf(pid);
      if (shim === undefined) continue;
      this.#lost.add(id);
      process.kill(shim, 'SIGKILL');
      this.#count('shim killed');
    }
  }

  /** The life of a static pod: its manifest is written, edited and removed. */
  async #changeManifest(name: string): Promise<void> {
    const random = this.#random.fork(name);
    for (let version = 1; ; version++) {
      await this.#time.pause(random.integer(500, 5_000));
      if (this.#time.isOver) return;
      if (this.#staticVersions.has(name) && random.chance(0.3)) await this.#removeManifest(name);
      else await this.#writeManifest(name, version, random);
    }
  }

  async #writeManifest(name: string, version: number, random: Random): Promise<void> {
    const manifest = JSON.stringify(makeStaticPod(name, version, random, this.#ledger.directory));
    const temporary = path.join(this.#dir, name);
    await writeFile(temporary, manifest);
    await rename(temporary, path.join(this.#manifestDir, `${name}.json`));
    this.#staticVersions.set(name, version);
  }

  async #removeManifest(name: string): Promise<void> {
    await rm(path.join(this.#manifestDir, `${name}.json`), { force: true });
    this.#staticVersions.delete(name);
  }

  /** Resolves with the time until the API server showed every pod as its containers have recorded it. */
  async #settle(users: Users): Promise<number | undefined> {
    this.#proxy.stopFaults();
    const startedAtMs = Date.now();
    await users.release(() => true);
    return this.#until('every pod is shown as its containers are', startedAtMs, () => this.#findDifference());
  }

  /** Ends all pods; nothing may be left of them. */
  async #endPods(): Promise<void> {
    for (const name of staticPodNames) await this.#removeManifest(name);
    for (const { metadata } of await this.#pods()) {
      if (staticVersion({ metadata }) === undefined)
        await this.#server.http.request('DELETE', `/api/v1/namespaces/default/pods/${metadata.name}`);
    }
    await this.#until('nothing is left of deleted pods', Date.now(), () => this.#findRest());
  }

  async #until(
    invariant: string,
    startedAtMs: number,
    findProblem: () => Promise<string | undefined>,
  ): Promise<number | undefined> {
    const { passedMs, problem } = await untilNoProblem(startedAtMs, findProblem);
    if (problem !== undefined) this.#addViolation(invariant, problem);
    return problem === undefined ? passedMs : undefined;
  }

  async #findDifference(): Promise<string | undefined> {
    const pods = await this.#pods();
    const live = liveProcessGroups();
    for (const pod of pods) {
      const { name, uid, deletionTimestamp } = pod.metadata;
      if (deletionTimestamp != null) return `${name} ${uid} was deleted and still exists`;
      const version = staticVersion(pod);
      if (version !== undefined && this.#staticVersions.get(name.replace(`-${nodeName}`, '')) !== version)
        return `${name} mirrors version ${version}, which is not there any more`;
      const difference = differenceToRuns(pod, this.#containers, live);
      if (difference !== undefined) return `${name} ${podUID(pod)}: ${difference}`;
    }
    const mirrors = pods.filter((pod) => staticVersion(pod) !== undefined);
    if (mirrors.length < this.#staticVersions.size) return `there are only ${mirrors.length} mirror pods`;
    return this.#findProcessOfOthers(new Set(pods.map(podUID)), live);
  }

  #findProcessOfOthers(uids: ReadonlySet<string>, live: ReadonlySet<number>): string | undefined {
    for (const [uid, containers] of this.#ledger.read()) {
      if (uids.has(uid)) continue;
      const left = [...containers.values()].flat().find(({ pid }) => live.has(pid));
      if (left !== undefined) return `${left.id} of ${uid}, which is gone, still runs`;
    }
    return undefined;
  }

  async #findRest(): Promise<string | undefined> {
    const [pod] = await this.#pods();
    if (pod !== undefined) return `${pod.metadata.name} ${podUID(pod)} still exists`;
    const running = this.#findProcessOfOthers(new Set(), liveProcessGroups());
    if (running !== undefined) return running;
    const shims = processesWith(this.#rootDir);
    if (shims.length > 0) return `shims run: ${shims.join(', ')}`;
    for (const folder of ['pods', 'logs', 's']) {
      const files = await readdir(path.join(this.#rootDir, folder));
      const left = files.filter((file) => !file.startsWith('pod-status.lock.'));
      if (left.length > 0) return `${folder}/${left[0]} is left`;
      // Of the agent that runs. Those of agents that were killed are gone.
      if (files.length > 1) return `locks are left: ${files.join(', ')}`;
    }
    return undefined;
  }

  /** The next agent can use what this one has left. */
  async #checkFiles(): Promise<void> {
    const log = (_fields: object, message: string): void =>
      this.#addViolation('journal and checkpoints are intact', message);
    const nothing = (): void => {};
    const logger = { trace: nothing, debug: nothing, info: nothing, warn: log, error: log };
    try {
      await (await fileJournal(path.join(this.#rootDir, 'journal'), { logger })).close();
      for (const folder of ['allocation', 'actuated']) await openCheckpointState(path.join(this.#rootDir, folder));
    } catch (error) {
      this.#addViolation('journal and checkpoints are intact', String(error));
    }
    const damaged = (await readdir(path.join(this.#rootDir, 'journal'))).find((file) => file.endsWith('.damaged'));
    if (damaged !== undefined) this.#addViolation('journal and checkpoints are intact', damaged);
  }

  async #pods(): Promise<Json[]> {
    return (await this.#server.http.request('GET', '/api/v1/pods')).body.items;
  }

  #startAgent(): void {
    this.#incarnation++;
    const random = this.#random.fork(`options-${this.#incarnation}`);
    this.#agent = new AgentHandle<KitAgentConfig>(
      agentFile,
      {
        server: this.#proxy.url,
        token: this.#server.nodeToken,
        nodeName,
        incarnation: this.#incarnation,
        rootDir: this.#rootDir,
        manifestDir: this.#manifestDir,
        requestTimeoutMs: random.integer(1_500, 3_000),
      },
      (report) => this.#onReport(report),
      (why) => this.#addViolation('the agent keeps running', why),
    );
  }

  async #killAgent(): Promise<void> {
    this.#killed++;
    this.#count('kill');
    await this.#agent?.kill();
    this.#agent = undefined;
  }

  async #stopAgent(drain: boolean): Promise<void> {
    const { left, problem } = await this.#agent!.stop(drain);
    this.#agent = undefined;
    if (problem !== undefined) this.#addViolation('the agent exits cleanly', problem);
    if (left.length > 0) this.#addViolation('no resources are leaked', left.join(', '));
  }

  #onReport(report: AgentReport): void {
    if (report.kind === 'creating') {
      const key = containerKey(report.uid, report.container);
      this.#creations.set(key, (this.#creations.get(key) ?? 0) + 1);
      this.#happened('creating');
    } else if (report.kind === 'log' && report.level === 'error' && !expectedErrors.test(report.message)) {
      this.#addViolation('no error is logged', `${report.message}: ${report.reason}`);
    }
  }

  #onCall({ kind, pod, uid }: Call): void {
    this.#happened('request');
    if (kind === 'patch') this.#happened('patch');
    if (kind !== 'delete' || uid === undefined) return;
    const running = this.#ledger.runsOf(uid).filter(({ end }) => end === undefined);
    if (running.length === 0) return;
    const live = liveProcessGroups();
    const left = running.find(({ pid }) => live.has(pid));
    if (left !== undefined) this.#addViolation('no DELETE too early', `${pod} ${uid}: ${left.id} still runs`);
  }

  /** Ends what a run that has failed leaves. */
  #killContainers(): void {
    const live = liveProcessGroups();
    const groups = this.#ledger.all().filter(({ pid }) => live.has(pid));
    for (const pid of [...processesWith(this.#rootDir), ...groups.map(({ pid }) => -pid)]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }

  #addViolation(invariant: string, details: string): void {
    this.#violations.push({ invariant, details });
  }

  #count(fault: string): void {
    this.#proxy.faults[fault] = (this.#proxy.faults[fault] ?? 0) + 1;
  }
}
