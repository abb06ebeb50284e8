import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Cloud } from '../../../examples/virtual-kubelet-provider/cloud.ts';
import type { HTTPProxy } from '../../support/http-proxy.ts';
import type { Json } from '../../support/kube-http.ts';
import { AgentHandle } from '../agent-handle.ts';
import { checkTerminalIsFinal, type Violation } from '../invariants.ts';
import { kubeConfig } from '../kube-config.ts';
import type { AgentReport } from '../protocol.ts';
import { Random } from '../random.ts';
import { type ChaosServer, type ServerKind, startServer } from '../servers.ts';
import { Users } from '../users.ts';
import { NodeWatcher } from './node-watcher.ts';
import { type RecordedWrite, startRecordingProxy } from './recording-proxy.ts';
import type { ReplicaConfig } from './replica-protocol.ts';
import {
  checkCreations,
  checkEpochs,
  checkUse,
  checkWriters,
  cloudCallsOf,
  longestGap,
  type NodeUse,
  ownerChanges,
  type Pause,
  type Window,
} from './replicas-invariants.ts';

const replicaFile = new URL('replica-process.js', import.meta.url);
const podsPath = '/api/v1/namespaces/default/pods';
const replicaCount = 3;
const podsPerNode = 3;
const reportPeriodMs = 500;
/** A pod lives for about two minutes. */
const usersPace = 30;
/** How long a new replica may take to get its share. What it does not take at first is offered to it again after 150 s. */
const evenMs = 190_000;
/** From one report to the next: the period, the change of the owner, and a busy machine. */
const maxGapMs = 5_000;
/** The cloud fails now and then, and a pod cannot be created before Services were read. */
const causedOnPurpose = /the cloud answers (429|500)|services have not yet been read/;
/** After SIGCONT, what had a time-out in the meantime fails at once. */
const continueMs = 1_000;
/** How long a node waits for statuses that cannot be written before it is handed over. */
const drainMs = 10_000;
/** A drain waits for the API server. */
const stopDeadlineMs = 90_000;
/** Calls of the cloud that fail are repeated with a back-off. */
const settleMs = 120_000;

export interface ReplicasRunOptions {
  readonly server: ServerKind;
  readonly seed: string;
  readonly nodes: number;
  readonly leaseDurationSeconds: number;
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
  /** Calls of the cloud that changed something or should have. */
  readonly calls: number;
  /** Those with an old epoch, which the cloud has refused. */
  readonly refused: number;
  readonly pods: number;
  /** Writes to the API server. */
  readonly writes: number;
  readonly ownerChanges: number;
  /** For each phase, the longest time for which a node had no owner, in ms. */
  readonly longestGapsMs: Readonly<Record<string, number>>;
  readonly longestLeaseAgeMs: number;
  /** From the end of all changes until everything was as it should be. */
  readonly settledAfterMs: number;
  readonly violations: readonly Violation[];
}

interface Replica {
  readonly identity: string;
  readonly handle: AgentHandle<ReplicaConfig>;
  readonly proxies: readonly HTTPProxy[];
}

/** Three replicas share nodes with pods, and one after the other is killed, stopped and drained while the API server is gone. */
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
  readonly #uses: NodeUse[] = [];
  readonly #calls: RecordedWrite[] = [];
  readonly #writes: RecordedWrite[] = [];
  readonly #cloud: Cloud;
  #cloudURL = '';
  #settledAfterMs = 0;
  #server!: ChaosServer;
  #watcher!: NodeWatcher;
  #users!: Users;

  constructor(options: ReplicasRunOptions) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/replicas/${options.server}`);
    this.#nodeNames = Array.from({ length: options.nodes }, (_, i) => `node-${i}`);
    const seed = this.#random.integer(1, 1_000_000);
    this.#cloud = new Cloud({ seed, slowMs: 200, failures: 0.05, forgotten: 0.05 });
  }

  async run(): Promise<ReplicasRunResult> {
    try {
      const podNames = this.#nodeNames.flatMap((node) => Array.from({ length: podsPerNode }, (_, i) => `${node}.${i}`));
      this.#server = await startServer(
        this.#options.server,
        podNames.map((name) => `default/${name}`),
      );
      this.#cloudURL = await this.#cloud.start();
      this.#watcher = new NodeWatcher(this.#server.http);
      this.#users = new Users(this.#server.http, this.#random.fork('users'), makePod, usersPace);
      await this.#phase('start', async () => {
        for (let i = 0; i < replicaCount; i++) await this.#startReplica();
        this.#users.start(podNames);
        await this.#untilInUse();
      });
      this.#watcher.start();
      await this.#expectEven();
      await this.#phase('kill', () => this.#during(() => this.#kill(this.#takeReplica())));
      await this.#restore();
      await this.#phase('stop', () => this.#pause());
      await this.#expectEven();
      await this.#phase('drain', () => this.#during(() => this.#stop(this.#takeReplica())));
      await this.#restore();
      await this.#phase('drain without an outage', () => this.#drain());
      await this.#phase('settle', () => this.#settle());
      await this.#watcher.stop();
      for (const replica of this.#replicas.splice(0)) await this.#stop(replica);
      const result = await this.#result();
      if (this.#options.evidence !== undefined && result.violations.length > 0) {
        const phases = Object.fromEntries(this.#phases);
        const evidence = {
          ...result,
          phases,
          logs: this.#logs,
          pauses: this.#pauses,
          calls: this.#calls,
          writes: this.#writes,
        };
        await writeFile(this.#options.evidence, JSON.stringify(evidence));
      }
      return result;
    } finally {
      await this.#users?.stop();
      await this.#watcher?.stop();
      await Promise.all(this.#replicas.map((replica) => this.#kill(replica)));
      await this.#cloud.close();
      await this.#server?.close();
    }
  }

  #takeReplica(): Replica {
    return this.#replicas.splice(this.#random.integer(0, replicaCount - 1), 1)[0]!;
  }

  async #pause(): Promise<void> {
    const { identity, handle } = this.#random.pick(this.#replicas);
    await this.#during(async () => {
      const fromMs = Date.now();
      handle.signal('SIGSTOP');
      await delay(this.#options.pauseMs);
      this.#pauses.push({ replica: identity, fromMs, toMs: Date.now(), reportsMs: Infinity });
      handle.signal('SIGCONT');
    });
  }

  async #drain(): Promise<void> {
    const fromMs = Date.now();
    await this.#stop(this.#takeReplica());
    await delay(maxGapMs);
    this.#windows.push({ name: 'drain without an outage', fromMs, toMs: Date.now(), maxGapMs: maxGapMs + drainMs });
  }

  /** Causes the fault, and an outage of the API server that begins shortly before or after it. */
  async #during(fault: () => Promise<void>): Promise<void> {
    const { leaseDurationSeconds, outageMs } = this.#options;
    const offsetMs = this.#random.integer(-leaseDurationSeconds * 333, leaseDurationSeconds * 1000);
    const outage = async (): Promise<void> => {
      await delay(Math.max(0, offsetMs));
      await this.#server.down('kill');
      await delay(outageMs);
      await this.#server.up();
      await this.#expectOwners('after the outage');
    };
    const faulty = async (): Promise<void> => {
      await delay(Math.max(0, -offsetMs));
      await fault();
    };
    await Promise.all([outage(), faulty()]);
    await this.#expectOwners('after the fault');
  }

  /** From 20 s after now, or less with shorter Leases, every node must have an owner for a while. */
  async #expectOwners(name: string): Promise<void> {
    await delay(this.#takeoverMs);
    const fromMs = Date.now();
    await delay(maxGapMs + 1_000);
    this.#windows.push({ name, fromMs, toMs: Date.now(), maxGapMs });
  }

  get #takeoverMs(): number {
    return (this.#options.leaseDurationSeconds * 4_000) / 3;
  }

  /** Until every node has an owner; without Leases, this takes the duration of a Lease. */
  async #untilInUse(): Promise<void> {
    const endMs = Date.now() + 2 * this.#takeoverMs;
    while (new Set(this.#uses.map(({ node }) => node)).size < this.#nodeNames.length && Date.now() < endMs)
      await delay(reportPeriodMs);
    await delay(maxGapMs);
  }

  /** The users have stopped: what they want is what the cloud has and the API server shows. */
  async #settle(): Promise<void> {
    await this.#users.stop();
    const startMs = Date.now();
    for (;;) {
      const wrong = await this.#differences();
      this.#settledAfterMs = Date.now() - startMs;
      if (wrong.length === 0) return;
      if (this.#settledAfterMs > settleMs) {
        for (const details of wrong) this.#violations.push({ invariant: 'pods are in the cloud as asked', details });
        return;
      }
      await delay(1_000);
    }
  }

  /** How the cloud and the API server differ from each other, and from what they should be. */
  async #differences(): Promise<string[]> {
    const pods: Json[] = (await this.#server.http.request('GET', podsPath)).body.items;
    const byUID = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    const { instances } = this.#cloud;
    const orphans = [...instances.values()].filter(({ id }) => !byUID.has(id));
    return [
      ...orphans.map(({ id, name }) => `${name} ${id} is in the cloud only`),
      ...pods.flatMap((pod): string[] => {
        const { uid, name, labels = {}, deletionTimestamp } = pod.metadata;
        const instance = instances.get(uid);
        const isReady = pod.status?.conditions?.some(({ type, status }: Json) => type === 'Ready' && status === 'True');
        const isRight =
          deletionTimestamp === undefined &&
          pod.status?.phase === 'Running' &&
          isReady &&
          instance?.state === 'running' &&
          JSON.stringify(instance.labels ?? {}) === JSON.stringify(labels);
        if (isRight) return [];
        return [`${name} ${uid}: ${JSON.stringify({ deletionTimestamp, labels, instance, status: pod.status })}`];
      }),
    ];
  }

  /** Starts what was ended, and waits until it has its share. */
  async #restore(): Promise<void> {
    await this.#startReplica();
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

  /** How many nodes each replica owns at the moment. */
  async #ownedCounts(): Promise<number[]> {
    const fromMs = Date.now();
    await delay(3 * reportPeriodMs);
    const owners = new Map<string, string>();
    for (const { node, replica, startMs } of this.#uses) if (startMs > fromMs) owners.set(node, replica);
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

  async #startReplica(): Promise<void> {
    const identity = `replica-${this.#started++}`;
    const { url, ca, adminToken } = this.#server;
    const { leaseDurationSeconds } = this.#options;
    const apiProxy = await startRecordingProxy({ replica: identity, target: url, ca, writes: this.#writes });
    const cloudProxy = await startRecordingProxy({ replica: identity, target: this.#cloudURL, writes: this.#calls });
    const config: ReplicaConfig = {
      kubeconfig: kubeConfig({ server: apiProxy.url, token: adminToken }),
      cloudURL: cloudProxy.url,
      ...{ identity, nodeNames: this.#nodeNames, leaseDurationSeconds, reportPeriodMs },
    };
    const handle = new AgentHandle(
      replicaFile,
      config,
      (report) => this.#onReport(identity, report),
      (why) => this.#violations.push({ invariant: 'no replica crashes', details: `${identity}: ${why}` }),
    );
    this.#replicas.push({ identity, handle, proxies: [apiProxy, cloudProxy] });
  }

  async #kill({ handle, proxies }: Replica): Promise<void> {
    await handle.kill();
    for (const proxy of proxies) await proxy.close();
  }

  async #stop({ handle, proxies }: Replica): Promise<void> {
    const { problem, left } = await handle.stop(true, stopDeadlineMs);
    if (problem !== undefined) this.#violations.push({ invariant: 'replicas stop', details: problem });
    if (left.length > 0) this.#violations.push({ invariant: 'no resources are leaked', details: left.join(', ') });
    for (const proxy of proxies) await proxy.close();
  }

  #onReport(replica: string, report: AgentReport): void {
    const atMs = Date.now();
    for (const pause of this.#pauses) if (pause.replica === replica) pause.reportsMs = Math.min(pause.reportsMs, atMs);
    if (report.kind === 'owned') for (const node of report.nodes) this.#uses.push({ node, replica, startMs: atMs });
    if (report.kind !== 'log') return;
    const message = `${report.message}: ${report.reason}`;
    this.#logs.push({ atMs, replica, message });
    const wasStopped = this.#pauses.some((pause) => pause.replica === replica && atMs - pause.reportsMs < continueMs);
    if (report.level === 'error' && !wasStopped && !causedOnPurpose.test(message))
      this.#violations.push({ invariant: 'no error is logged', details: message });
  }

  async #result(): Promise<ReplicasRunResult> {
    const history = await this.#server.history();
    const calls = cloudCallsOf(this.#calls);
    const gaps = [...this.#phases].map(([name, { fromMs, toMs }]): [string, number] => {
      const gapsMs = this.#nodeNames.map((nodeName) => {
        const own = this.#uses.filter(({ node }) => node === nodeName);
        return longestGap(own, fromMs, toMs).gapMs;
      });
      return [name, Math.round(Math.max(...gapsMs))];
    });
    const failed = history.filter(({ pod }) => pod.status?.phase === 'Failed' && !pod.metadata.deletionTimestamp);
    return {
      server: this.#options.server,
      calls: calls.length,
      refused: this.#calls.filter(({ status }) => status === 412).length,
      pods: new Set(history.map(({ pod }) => pod.metadata.uid)).size,
      writes: this.#writes.length,
      ownerChanges: ownerChanges(this.#writes),
      longestGapsMs: Object.fromEntries(gaps),
      longestLeaseAgeMs: this.#watcher.longestLeaseAgeMs,
      settledAfterMs: this.#settledAfterMs,
      violations: [
        ...this.#violations,
        ...this.#watcher.violations,
        ...checkTerminalIsFinal(history),
        ...failed.map(({ pod }) => ({
          invariant: 'no pod fails',
          details: `${pod.metadata.name} ${pod.metadata.uid}: ${pod.status.reason} ${pod.status.message}`,
        })),
        ...checkEpochs(calls, this.#pauses),
        ...checkCreations(this.#calls),
        ...checkWriters(this.#writes, this.#pauses),
        ...checkUse(this.#uses, this.#nodeNames, this.#windows),
      ],
    };
  }
}

/** A pod of the node that its name begins with. */
function makePod(name: string, random: Random): Json {
  const [nodeName] = name.split('.');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      containers: [{ name: 'app', image: 'app:1' }],
      terminationGracePeriodSeconds: random.pick([1, 5, 30]),
    },
  };
}
