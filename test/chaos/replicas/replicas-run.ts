import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { APIServer } from '../../../src/testing/index.ts';
import { startControlPlane } from '../../support/control-plane.ts';
import { AgentHandle } from '../agent-handle.ts';
import type { Violation } from '../invariants.ts';
import type { AgentReport } from '../protocol.ts';
import { Random } from '../random.ts';
import type { ServerKind } from '../servers.ts';
import { Cloud } from './cloud.ts';
import type { ReplicaConfig } from './replica-protocol.ts';
import { checkEpochs, checkUse, longestGap, type Pause, type Window } from './replicas-invariants.ts';

const replicaFile = new URL('replica-process.js', import.meta.url);
const replicaCount = 3;
const leaseDurationSeconds = 15;
const callPeriodMs = 500;
/** How long nodes may have no owner after a fault has ended. */
const takeoverMs = 20_000;
/** How long a new replica may take to start and to get its share. */
const evenMs = 40_000;
/** From one call to the next: the period, the call, the change of the owner, and a busy machine. */
const maxGapMs = 5_000;

export interface ReplicasRunOptions {
  readonly server: ServerKind;
  readonly seed: string;
  readonly nodes: number;
  /** How long a replica is stopped. */
  readonly pauseMs: number;
  /** How long the API server is gone during each fault. */
  readonly outageMs: number;
  /** Where everything is written after a violation. */
  readonly evidence: string | undefined;
  readonly onPhase: (phase: string) => void;
}

export interface ReplicasRunResult {
  readonly server: ServerKind;
  readonly calls: number;
  /** The highest epoch of all nodes. */
  readonly epochs: number;
  /** For each phase, the longest time for which a node had no owner, in ms. */
  readonly longestGapsMs: Readonly<Record<string, number>>;
  /** Calls with an old epoch, which the cloud would refuse. */
  readonly refused: number;
  readonly violations: readonly Violation[];
}

/** The API server of a run. */
interface Server {
  readonly kubeconfig: object;
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

interface Replica {
  readonly identity: string;
  readonly handle: AgentHandle<ReplicaConfig>;
}

/** Three replicas share nodes, and one after the other is killed, stopped and drained while the API server is gone. */
export async function runReplicas(options: ReplicasRunOptions): Promise<ReplicasRunResult> {
  return new ReplicasRun(options).run();
}

class ReplicasRun {
  readonly #options: ReplicasRunOptions;
  readonly #random: Random;
  readonly #nodeNames: readonly string[];
  readonly #violations: Violation[] = [];
  readonly #windows: Window[] = [];
  readonly #pauses: Pause[] = [];
  readonly #phases = new Map<string, { readonly fromMs: number; toMs: number }>();
  readonly #logs: { readonly atMs: number; readonly replica: string; readonly message: string }[] = [];
  #replicas: Replica[] = [];
  #started = 0;
  #server!: Server;
  #cloud!: Cloud;

  constructor(options: ReplicasRunOptions) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/replicas/${options.server}`);
    this.#nodeNames = Array.from({ length: options.nodes }, (_, i) => `node-${i}`);
  }

  async run(): Promise<ReplicasRunResult> {
    try {
      this.#server = await startServer(this.#options.server);
      this.#cloud = await Cloud.start(this.#random.fork('cloud'));
      await this.#phase('start', async () => {
        for (let i = 0; i < replicaCount; i++) this.#startReplica();
        await this.#untilInUse();
      });
      await this.#expectEven();
      await this.#phase('kill', () => this.#kill());
      await this.#restore();
      await this.#phase('stop', () => this.#pause());
      await this.#expectEven();
      await this.#phase('drain', () => this.#drain(true));
      await this.#restore();
      await this.#phase('drain without an outage', () => this.#drain(false));
      for (const { handle } of this.#replicas.splice(0)) await this.#stop(handle);
      const result = this.#result();
      if (this.#options.evidence !== undefined && result.violations.length > 0) {
        const phases = Object.fromEntries(this.#phases);
        const evidence = { ...result, phases, logs: this.#logs, pauses: this.#pauses, calls: this.#cloud.calls };
        await writeFile(this.#options.evidence, JSON.stringify(evidence));
      }
      return result;
    } finally {
      await Promise.all(this.#replicas.map(({ handle }) => handle.kill()));
      await this.#cloud?.close();
      await this.#server?.close();
    }
  }

  /** The API server goes shortly before or after the replica is killed. */
  async #kill(): Promise<void> {
    const [replica] = this.#replicas.splice(this.#random.integer(0, replicaCount - 1), 1);
    await this.#during(
      () => replica!.handle.kill(),
      () => Promise.resolve(),
    );
  }

  async #pause(): Promise<void> {
    const { identity, handle } = this.#random.pick(this.#replicas);
    await this.#during(
      async () => {
        const fromMs = Date.now();
        handle.signal('SIGSTOP');
        await delay(this.#options.pauseMs);
        this.#pauses.push({ replica: identity, fromMs, toMs: Date.now() });
        handle.signal('SIGCONT');
      },
      () => Promise.resolve(),
    );
  }

  async #drain(withOutage: boolean): Promise<void> {
    const [replica] = this.#replicas.splice(this.#random.integer(0, replicaCount - 1), 1);
    const stop = (): Promise<void> => this.#stop(replica!.handle);
    if (withOutage) return this.#during(stop, () => Promise.resolve());
    const fromMs = Date.now();
    await stop();
    await delay(maxGapMs);
    this.#windows.push({ name: 'drain without an outage', fromMs, toMs: Date.now() });
    return undefined;
  }

  /** Causes the fault, and an outage of the API server that begins up to 5 s before it or up to 15 s after it. */
  async #during(fault: () => Promise<void>, after: () => Promise<void>): Promise<void> {
    const offsetMs = this.#random.integer(-5_000, 15_000);
    const outage = async (): Promise<void> => {
      await delay(Math.max(0, offsetMs));
      await this.#server.down();
      await delay(this.#options.outageMs);
      await this.#server.up();
      await this.#expectOwners('after the outage');
    };
    const faulty = async (): Promise<void> => {
      await delay(Math.max(0, -offsetMs));
      await fault();
      await after();
    };
    await Promise.all([outage(), faulty()]);
    await this.#expectOwners('after the fault');
  }

  /** From 20 s after now, every node must be in use for a while. */
  async #expectOwners(name: string): Promise<void> {
    await delay(takeoverMs);
    const fromMs = Date.now();
    await delay(maxGapMs + 1_000);
    this.#windows.push({ name, fromMs, toMs: Date.now() });
  }

  /** Until every node has been called; without Leases, this takes the duration of a Lease. */
  async #untilInUse(): Promise<void> {
    const endMs = Date.now() + 2 * takeoverMs;
    while (new Set(this.#cloud.calls.map(({ node }) => node)).size < this.#nodeNames.length && Date.now() < endMs)
      await delay(callPeriodMs);
    await delay(maxGapMs);
  }

  /** Starts what was ended, and waits until it has its share. */
  async #restore(): Promise<void> {
    this.#startReplica();
    await this.#phase('join', () => delay(maxGapMs));
    await this.#expectEven();
  }

  async #expectEven(): Promise<void> {
    const endMs = Date.now() + evenMs;
    const share = Math.ceil(this.#nodeNames.length / replicaCount);
    for (;;) {
      const counts = await this.#ownedCounts();
      const owned = counts.reduce((sum, count) => sum + count, 0);
      if (owned === this.#nodeNames.length && Math.max(...counts) <= share) return;
      if (Date.now() < endMs) continue;
      this.#violations.push({ invariant: 'nodes are spread evenly', details: counts.join(', ') });
      return;
    }
  }

  /** How many nodes each replica uses at the moment. */
  async #ownedCounts(): Promise<number[]> {
    const fromMs = Date.now();
    await delay(3 * callPeriodMs);
    const owners = new Map<string, string>();
    for (const { node, replica, startMs } of this.#cloud.calls) if (startMs > fromMs) owners.set(node, replica);
    return this.#replicas.map(({ identity }) => [...owners.values()].filter((owner) => owner === identity).length);
  }

  async #phase(name: string, run: () => Promise<void>): Promise<void> {
    this.#options.onPhase(name);
    const phase = { fromMs: Date.now(), toMs: 0 };
    await run();
    phase.toMs = Date.now();
    // The nodes have no owner before the first one.
    if (name !== 'start') this.#phases.set(name, phase);
  }

  #startReplica(): void {
    const identity = `replica-${this.#started++}`;
    const config: ReplicaConfig = {
      kubeconfig: this.#server.kubeconfig,
      cloudURL: this.#cloud.url,
      ...{ identity, nodeNames: this.#nodeNames, leaseDurationSeconds, callPeriodMs },
    };
    const handle = new AgentHandle(
      replicaFile,
      config,
      (report) => this.#onReport(identity, report),
      (why) => this.#violations.push({ invariant: 'no replica crashes', details: `${identity}: ${why}` }),
    );
    this.#replicas.push({ identity, handle });
  }

  async #stop(handle: AgentHandle<ReplicaConfig>): Promise<void> {
    const { problem, left } = await handle.stop(true);
    if (problem !== undefined) this.#violations.push({ invariant: 'replicas stop', details: problem });
    if (left.length > 0) this.#violations.push({ invariant: 'no resources are leaked', details: left.join(', ') });
  }

  #onReport(replica: string, report: AgentReport): void {
    if (report.kind !== 'log') return;
    const message = `${report.message}: ${report.reason}`;
    this.#logs.push({ atMs: Date.now(), replica, message });
    if (report.level === 'error') this.#violations.push({ invariant: 'no error is logged', details: message });
  }

  #result(): ReplicasRunResult {
    const { calls } = this.#cloud;
    const newest = new Map<string, number>();
    let refused = 0;
    for (const { node, epoch } of calls) {
      const last = newest.get(node) ?? 0;
      if (epoch < last) refused++;
      else newest.set(node, epoch);
    }
    const gaps = [...this.#phases].map(([name, { fromMs, toMs }]): [string, number] => {
      const gapsMs = this.#nodeNames.map((nodeName) => {
        const own = calls.filter(({ node }) => node === nodeName);
        return longestGap(own, fromMs, toMs).gapMs;
      });
      return [name, Math.round(Math.max(...gapsMs))];
    });
    return {
      server: this.#options.server,
      calls: calls.length,
      epochs: Math.max(...newest.values()),
      longestGapsMs: Object.fromEntries(gaps),
      refused,
      violations: [
        ...this.#violations,
        ...checkEpochs(calls, this.#pauses),
        ...checkUse(calls, this.#nodeNames, this.#windows, maxGapMs),
      ],
    };
  }
}

async function startServer(kind: ServerKind): Promise<Server> {
  if (kind === 'memory') {
    const server = await APIServer.start();
    return {
      kubeconfig: server.kubeconfig(),
      down: () => server.kill(),
      up: () => server.startAgain(),
      close: () => server.close(),
    };
  }
  const controlPlane = await startControlPlane({ nodeNames: [] });
  return {
    kubeconfig: controlPlane.kubeConfig('admin'),
    down: () => controlPlane.killAPIServer(),
    up: () => controlPlane.startAPIServer(),
    close: () => controlPlane.stop(),
  };
}
