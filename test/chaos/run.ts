import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Json } from '../support/kube-http.ts';
import { AgentHandle } from './agent-handle.ts';
import { CredentialPlugin } from './credential-plugin.ts';
import { ChaosTime, disturbNetwork, disturbServer, serverPausesMs } from './disturbances.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import {
  checkConcurrency,
  checkDeletes,
  checkFaults,
  checkForeignConditions,
  checkPauses,
  checkRate,
  checkTerminalIsFinal,
  checkTunnel,
  checkVersions,
  differenceTo,
  type Violation,
} from './invariants.ts';
import {
  type AgentConfig,
  type AgentOptions,
  type AgentReport,
  type PodRuntime,
  readMessage,
  type ShownPod,
} from './protocol.ts';
import { Random } from './random.ts';
import { type ChaosServer, type ServerKind, startServer } from './servers.ts';
import { untilNoProblem } from './settle.ts';
import { Tunnel } from './tunnel.ts';
import { makePod, nodeName, podNames, Users } from './users.ts';

export interface RunOptions {
  readonly server: ServerKind;
  readonly seed: string;
  /** How long, not including starting and stopping. */
  readonly forMs: number;
  /** Options that are not chosen at random. */
  readonly fixed: Partial<Pick<AgentOptions, 'concurrency' | 'readBeforePatch' | 'patchStrategy'>>;
  /** A file for all requests and all versions of the pods, which is written when an invariant was violated. */
  readonly evidence: string | undefined;
}

export interface RunResult {
  readonly server: ServerKind;
  readonly calls: number;
  readonly faults: Readonly<Record<string, number>>;
  /** How much the agents have done, such as statuses that the manager accepted (`updates`). */
  readonly counts: Readonly<Record<string, number>>;
  /** The outcomes of the updates, as far as the agents lived to report them. */
  readonly outcomes?: Readonly<Record<string, number>>;
  readonly actions: Readonly<Record<string, number>>;
  readonly pods: number;
  readonly agents: { readonly started: number; readonly killed: number };
  /** Time from the end of the faults until the API server showed the last status of every pod; undefined if it never did. */
  readonly settledAfterMs: number | undefined;
  readonly violations: readonly Violation[];
}

const agentFile = new URL('agent-process.js', import.meta.url);
/** The share of the time with faults. The rest is for settling. */
const chaosShare = 0.75;
const aMinute = 60_000;
const podCounts: Readonly<Record<ServerKind, number>> = { memory: 32, 'kube-apiserver': 20 };

/** One run against one API server. */
export async function run(options: RunOptions): Promise<RunResult> {
  return new Run(options).run();
}

class Run {
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #names: readonly string[];
  readonly #time = new ChaosTime();
  readonly #violations: Violation[] = [];
  readonly #limits = new Map<number, AgentOptions>();
  readonly #runtime: Record<string, PodRuntime> = {};
  readonly #ended = new Map<string, number>();
  /** The last version accepted of each pod, by UID. */
  readonly #accepted = new Map<string, number>();
  readonly #outcomes: Record<string, number> = {};
  #updates = 0;
  #incarnation = 0;
  #killed = 0;
  #journalDir: string | undefined;
  #plugin: CredentialPlugin | undefined;
  #tunnel: Tunnel | undefined;
  /** UIDs of statuses that were accepted while the disk was full, so that a crash may lose them. */
  readonly #notRecorded = new Set<string>();
  #server!: ChaosServer;
  #proxy!: FaultyProxy;
  #agent!: AgentHandle<AgentConfig>;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/${options.server}`);
    this.#names = podNames(podCounts[options.server]);
  }

  async run(): Promise<RunResult> {
    const { server, seed, forMs, evidence } = this.#options;
    const dir = await mkdtemp(path.join(tmpdir(), 'chaos-'));
    if (this.#random.chance(0.75)) this.#journalDir = path.join(dir, 'journal');
    try {
      this.#server = await startServer(
        server,
        this.#names.map((name) => `default/${name}`),
      );
      this.#proxy = await FaultyProxy.start({
        target: this.#server.url,
        ca: () => this.#server.ca,
        seed: `${seed}/${server}`,
      });
      if (this.#random.fork('plugin').chance(0.5)) {
        this.#plugin = new CredentialPlugin(path.join(dir, 'plugin'), this.#server.nodeToken);
        this.#plugin.start();
      }
      if (this.#random.fork('tunnel').chance(0.5)) {
        this.#tunnel = await Tunnel.start(this.#random.fork('tunnel faults'), (fault) => this.#count(fault));
      }
      this.#startAgent(false);
      const users = new Users(this.#server.http, this.#random.fork('users'), makePod);
      users.start(this.#names);

      await this.#chaos(forMs * chaosShare);
      await users.stop();
      const settledAfterMs = await this.#settle(users);
      await this.#stopAgent(true);
      await this.#tunnel?.close();
      // The proxy notices a moment later that the connections of the tunnel are closed.
      if (this.#tunnel !== undefined) await new Promise((resolve) => setTimeout(resolve, 200));
      const open = await this.#proxy.close();
      if (open > 0) this.#addViolation('no resources are leaked', `${open} connections of agents were open at the end`);
      const history = await this.#server.history();
      this.#evaluate(history);
      if (this.#violations.length > 0 && evidence !== undefined) {
        const { calls } = this.#proxy;
        await writeFile(
          evidence,
          JSON.stringify({ violations: this.#violations, ended: [...this.#ended], calls, history }),
        );
      }
      this.#violations.push(...checkFaults(this.#proxy.faults, this.#expectedFaults(), forMs));
      return {
        server,
        calls: this.#proxy.calls.length,
        faults: this.#proxy.faults,
        counts: { updates: this.#updates },
        outcomes: this.#outcomes,
        actions: users.actions,
        pods: new Set(history.map(({ pod }) => pod.metadata.uid)).size,
        agents: { started: this.#incarnation, killed: this.#killed },
        settledAfterMs,
        violations: this.#violations,
      };
    } finally {
      this.#plugin?.stop();
      await this.#server?.close();
      await rm(dir, { recursive: true, force: true });
    }
  }

  /** The faults that a run with these options must include if it is long enough. */
  #expectedFaults(): string[] {
    return [
      'server',
      'outage',
      'clock jump',
      'thrown',
      ...(this.#journalDir === undefined ? [] : ['disk full']),
      // A short run may miss what happens to one connection or restart in a few.
      ...(this.#options.forMs < aMinute || this.#journalDir === undefined ? [] : ['kill']),
      ...(this.#options.forMs < aMinute || this.#plugin === undefined ? [] : ['credential']),
      ...(this.#options.forMs < aMinute || this.#tunnel === undefined ? [] : ['proxy']),
    ];
  }

  #evaluate(history: Parameters<typeof checkVersions>[0]): void {
    const { calls } = this.#proxy;
    this.#violations.push(
      ...checkVersions(history),
      ...checkTerminalIsFinal(history),
      ...checkForeignConditions(history),
      ...checkDeletes(calls, this.#ended),
      ...checkConcurrency(calls, this.#limits),
      ...checkRate(calls, this.#limits),
      ...checkPauses(calls, history),
      ...checkTunnel(this.#tunnel?.arrivalsMs ?? []),
    );
  }

  /** Runs everything that disturbs the agent, in parallel. */
  async #chaos(forMs: number): Promise<void> {
    const over = setTimeout(() => this.#time.end(), forMs);
    const { server } = this.#options;
    const count = (fault: string): void => this.#count(fault);
    try {
      await Promise.all([
        this.#restartAgents(),
        disturbServer(this.#time, this.#server, this.#random.fork('server'), serverPausesMs(server, forMs), count),
        disturbNetwork(this.#time, this.#proxy, this.#random.fork('network')),
        this.#jumpClocks(),
        this.#fillDisk(),
        this.#breakCredentials(),
      ]);
    } finally {
      clearTimeout(over);
    }
  }

  async #restartAgents(): Promise<void> {
    const random = this.#random.fork('restarts');
    for (;;) {
      await this.#time.pause(random.integer(2_000, 6_000));
      if (this.#time.isOver) return;
      const isSilent = this.#journalDir !== undefined && random.chance(0.3);
      if (this.#journalDir !== undefined && random.chance(0.6)) await this.#killAgent();
      else await this.#stopAgent(random.chance(0.5));
      this.#startAgent(isSilent);
      if (isSilent) await this.#time.pause(random.integer(300, 1_500));
      this.#agent.tell({ do: 'report' });
    }
  }

  async #jumpClocks(): Promise<void> {
    const random = this.#random.fork('clocks');
    for (;;) {
      await this.#time.pause(random.integer(1_000, 4_000));
      if (this.#time.isOver) return;
      this.#count('clock jump');
      this.#agent.tell({ do: 'jump', ms: random.integer(-4_000_000, 4_000_000) });
    }
  }

  async #fillDisk(): Promise<void> {
    if (this.#journalDir === undefined) return;
    const random = this.#random.fork('disk');
    for (;;) {
      await this.#time.pause(random.integer(1_500, 5_000));
      if (this.#time.isOver) return;
      this.#agent.tell({ do: 'disk', isFull: true });
      this.#count('disk full');
      await this.#time.pause(random.integer(200, 1_500));
      this.#agent.tell({ do: 'disk', isFull: false });
    }
  }

  async #breakCredentials(): Promise<void> {
    const plugin = this.#plugin;
    if (plugin === undefined) return;
    const random = this.#random.fork('credentials');
    for (;;) {
      await this.#time.pause(random.integer(1_000, 4_000));
      if (this.#time.isOver) return;
      const mode = plugin.change(random);
      if (mode === 'rotate') continue;
      this.#count(`credential ${mode}`);
      await this.#time.pause(random.integer(300, 1_500));
      plugin.set('rotate');
    }
  }

  /** Resolves with the time until the API server showed the last accepted statuses. */
  async #settle(users: Users): Promise<number | undefined> {
    const random = this.#random.fork('settle');
    this.#proxy.stopFaults();
    this.#tunnel?.stopFaults();
    this.#plugin?.set('rotate');
    const startedAtMs = Date.now();
    if (this.#journalDir !== undefined && random.chance(0.7)) {
      await this.#killAgent();
      this.#startAgent(true);
      const expected = new Map([...this.#accepted].filter(([uid]) => !this.#notRecorded.has(uid)));
      await this.#until('a journaled status arrives', startedAtMs, () => this.#missingVersion(expected));
      this.#agent.tell({ do: 'report' });
    }
    this.#agent.tell({ do: 'settle' });
    const mayBeReleased = new Set(this.#names.filter(() => random.chance(0.5)));
    await users.release((name) => mayBeReleased.has(name));
    return this.#until('every last status arrives', startedAtMs, () => this.#findDifference());
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

  /** Describes a journaled version that the API server does not show. */
  async #missingVersion(expected: ReadonlyMap<string, number>): Promise<string | undefined> {
    for (const { metadata, status } of await this.#pods()) {
      const version = expected.get(metadata.uid) ?? 0;
      const shown = readMessage(status?.message)?.version ?? 0;
      if (shown < version)
        return `${metadata.name} ${metadata.uid}: ${version} was accepted, ${shown} is on the API server`;
    }
    return undefined;
  }

  async #findDifference(): Promise<string | undefined> {
    const showing = this.#agent.next('shown', 5_000);
    this.#agent.tell({ do: 'show' });
    const shown = await showing;
    if (shown === undefined) return 'the agent does not respond';
    const cached = new Map(shown.pods.map((pod) => [pod.uid, pod]));
    for (const { metadata, status } of await this.#pods()) {
      const { uid, name } = metadata;
      if (!shown.known.includes(uid)) return `${name} ${uid} is not known to the informer`;
      const ours = cached.get(uid);
      if (ours === undefined && isHeldBack(metadata, status)) continue;
      if (ours === undefined) return `${name} ${uid} has no cached status`;
      const difference = this.#differenceTo(ours, metadata, status);
      if (difference !== undefined) return `${name} ${uid}: ${difference}; ${ours.state}`;
    }
    return shown.unsent > 0 ? `${shown.unsent} pods are unsent` : undefined;
  }

  #differenceTo(cached: ShownPod, metadata: Json, status: Json): string | undefined {
    const accepted = this.#accepted.get(cached.uid) ?? 0;
    const { version = 0 } = readMessage(cached.status.message) ?? {};
    if (accepted > version) return `${accepted} was accepted, and ${version} is cached`;
    const { deletionTimestamp, finalizers = [] } = metadata;
    return (
      differenceTo(cached.status, status) ??
      (deletionTimestamp != null && finalizers.length === 0 ? 'its object still exists' : undefined)
    );
  }

  async #pods(): Promise<Json[]> {
    return (await this.#server.http.request('GET', '/api/v1/pods')).body.items;
  }

  #startAgent(isSilent: boolean): void {
    this.#incarnation++;
    // Statuses that an agent without a journal has not sent are lost with it.
    if (this.#journalDir === undefined) this.#accepted.clear();
    const random = this.#random.fork(`options-${this.#incarnation}`);
    const qps = random.chance(0.3) ? random.integer(20, 60) : undefined;
    const options: AgentOptions = {
      concurrency: random.pick([1, 2, 4, 8, 16]),
      readBeforePatch: random.pick(['always', 'when-stale']),
      patchStrategy: random.pick(['strategic-merge', 'strategic-merge', 'json-patch']),
      syncPeriodMs: random.integer(500, 2_000),
      requestTimeoutMs: random.integer(1_500, 3_000),
      ...(qps !== undefined && { qps, burst: random.integer(5, 30) }),
      ...this.#options.fixed,
    };
    this.#limits.set(this.#incarnation, options);
    this.#agent = new AgentHandle<AgentConfig>(
      agentFile,
      {
        server: this.#proxy.url,
        token: this.#server.nodeToken,
        exec: this.#plugin?.exec,
        proxyUrl: this.#tunnel?.url,
        nodeName,
        incarnation: this.#incarnation,
        seed: `${this.#options.seed}/${this.#options.server}`,
        journalDir: this.#journalDir,
        isSilent,
        options,
        runtime: this.#runtime,
      },
      (report) => this.#onReport(report),
      (why) => this.#addViolation('the agent keeps running', why),
    );
  }

  async #killAgent(): Promise<void> {
    this.#killed++;
    this.#count('kill');
    await this.#agent.kill();
    // Statuses that could not be written to a full disk are lost with the process.
    for (const uid of this.#notRecorded) this.#accepted.delete(uid);
  }

  async #stopAgent(drain: boolean): Promise<void> {
    const { left, outcomes, broken, thrown, problem } = await this.#agent.stop(drain);
    if (problem !== undefined) this.#addViolation('the agent exits cleanly', problem);
    if (left.length > 0) this.#addViolation('no resources are leaked', left.join(', '));
    for (const details of broken) this.#addViolation('one outcome per version', details);
    if (thrown > 0) this.#proxy.faults['thrown'] = (this.#proxy.faults['thrown'] ?? 0) + thrown;
    for (const [outcome, count] of Object.entries(outcomes)) {
      this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count;
    }
  }

  #onReport(report: AgentReport): void {
    switch (report.kind) {
      case 'accepted':
        this.#updates++;
        this.#accepted.set(report.uid, report.version);
        if (report.isDiskFull === true) this.#notRecorded.add(report.uid);
        else this.#notRecorded.delete(report.uid);
        break;
      case 'rejected':
        this.#addViolation('legal updates are accepted', `${report.uid}: ${report.reason}`);
        break;
      case 'runtime':
        this.#runtime[report.uid] = report.runtime;
        break;
      case 'ended':
        if (!this.#ended.has(report.uid)) this.#ended.set(report.uid, report.atMs);
        break;
      case 'log':
        if (report.level === 'error') this.#addViolation('no error is logged', `${report.message}: ${report.reason}`);
        break;
      default:
    }
  }

  #addViolation(invariant: string, details: string): void {
    this.#violations.push({ invariant, details });
  }

  #count(fault: string): void {
    this.#proxy.faults[fault] = (this.#proxy.faults[fault] ?? 0) + 1;
  }
}

/** The pod is deleted except for its finalizers, so the agent has nothing left to do for it. */
function isHeldBack({ deletionGracePeriodSeconds, finalizers = [] }: Json, { phase }: Json): boolean {
  return deletionGracePeriodSeconds === 0 && finalizers.length > 0 && (phase === 'Succeeded' || phase === 'Failed');
}
