import { podClientOf } from '../../../src/kube/http/http-pod-client.ts';
import { createVirtualNodesOn } from '../../../src/virtual-nodes/create-virtual-nodes.ts';
import type { VirtualNodes } from '../../../src/virtual-nodes/index.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Pod, PodStatus, StatusOutcome } from '../../../src/status-manager/index.ts';
import { finalOutcomes } from '../../chaos/outcome-ledger.ts';
import { expectConsistent } from '../../support/consistent-status.ts';
import type { SimulatedCluster } from '../simulated-cluster.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { SimulatedCloud } from './simulated-cloud.ts';

/** Of the process; the same for all replicas of a world. */
export interface ReplicaOptions {
  /** Undefined without replicas: one process has all nodes. */
  readonly leaseDurationSeconds: number | undefined;
  readonly drainTimeoutMs: number;
  readonly lost: 'fail' | 'recreate';
  readonly listPeriodMs: number | undefined;
  readonly callTimeoutMs: number;
  readonly concurrency: number;
}

export interface ReplicaProcessOptions extends ReplicaOptions {
  readonly number: number;
  readonly rate: number;
  /** Higher for each process, for nodes without Leases. */
  readonly nodeNames: readonly string[];
  readonly onLog: (level: 'warn' | 'error', message: string, fields: object) => void;
  readonly onStatus: (manager: object, pod: Pod, status: PodStatus, before: PodStatus | undefined) => void;
}

/** How often new nodes are looked for, to subscribe to their outcomes. */
const watchPeriodMs = 20;
const capacity = { cpu: '100', memory: '100Gi', pods: '110' };

/** One run of virtual nodes that are shared out with others. */
export class ReplicaProcess {
  readonly process: SimulatedProcess;
  readonly nodes: VirtualNodes;
  isStopped = false;
  readonly #world: World;
  readonly #options: ReplicaProcessOptions;
  readonly #transport: ReturnType<SimulatedCluster['network']['transport']>;
  readonly #nodeNames = new Set<string>();
  /** Pods in whose place the API server has another one, by UID. */
  readonly #recreated = new Set<string>();
  readonly #watched = new Set<unknown>();

  constructor(world: World, cluster: SimulatedCluster, cloud: SimulatedCloud, options: ReplicaProcessOptions) {
    this.#world = world;
    this.#options = options;
    const { number, rate, nodeNames, leaseDurationSeconds, drainTimeoutMs, lost, ...others } = options;
    const { listPeriodMs, callTimeoutMs, concurrency } = others;
    this.process = new SimulatedProcess(world, `replica-${number}`, rate);
    const random = world.random.fork(this.process.name);
    this.#transport = cluster.network.transport(this.process, cluster.server.token);
    const replicas = { identity: this.process.name, namespace: 'kube-system', leaseDurationSeconds, drainTimeoutMs };
    this.nodes = createVirtualNodesOn(world.entropy, {
      client: podClientOf(this.#transport),
      provider: cloud.providerFor(this.process),
      ...{ listPeriodMs, callTimeoutMs, concurrency, lost: { action: lost } },
      ...(leaseDurationSeconds !== undefined && { replicas }),
      clock: this.process.clock,
      random: () => random.next(),
      logger: this.#logger(),
    });
    for (const nodeName of nodeNames) this.add(nodeName);
  }

  start(): void {
    this.nodes.start();
    this.#watch();
  }

  /** Without Leases, each process has a higher epoch than the one before. */
  add(nodeName: string): void {
    const epoch = this.#options.leaseDurationSeconds === undefined ? this.#options.number : undefined;
    // In the order of the nodes, of which one that comes again is the last.
    this.#nodeNames.delete(nodeName);
    this.#nodeNames.add(nodeName);
    this.nodes.add({
      nodeName,
      addresses: ['10.1.2.3'],
      nodeStatus: () => ({ capacity }),
      canAdmitPod: ({ pod }) => {
        const isRefused = pod.metadata?.annotations?.['simulation/refused'] === 'true';
        return isRefused ? { admit: false, reason: 'Refused', message: 'simulated' } : { admit: true };
      },
      ...(epoch !== undefined && { epoch }),
    });
  }

  /** The nodes that it uses. */
  get owned(): readonly string[] {
    if (this.isStopped || !this.process.isAlive) return [];
    return this.nodes
      .inspect()
      .nodes.filter(({ nodeName, state }) => state === 'running' && this.nodes.node(nodeName)?.isOwned === true)
      .map(({ nodeName }) => nodeName);
  }

  async stop(drain: boolean): Promise<void> {
    this.isStopped = true;
    await this.nodes.stop({ drain, deadlineMs: 5_000 });
    await this.#transport.close();
    await this.process.clock.yieldToEventLoop();
    if (this.process.timers > 0)
      this.#world.violate('stop() leaves nothing', `${this.process.name}: ${this.process.timers} timers`);
    const { callsInProgress } = this.nodes.inspect();
    if (callsInProgress > 0)
      this.#world.violate('stop() leaves nothing', `${this.process.name}: ${callsInProgress} calls`);
  }

  #logger(): Logger {
    const nothing = (): void => {};
    const log =
      (level: 'warn' | 'error') =>
      (fields: object, message: string): void => {
        if (!this.process.isAlive) return;
        const { err: _err, ...rest } = fields as { readonly err?: unknown };
        this.#world.note(this.process.name, level, message, rest);
        this.#options.onLog(level, message, fields);
      };
    const info = (fields: object, message: string): void => {
      if (message.startsWith('Pod was deleted and then recreated'))
        this.#recreated.add((fields as { readonly podUID: string }).podUID);
      this.#world.note(this.process.name, message, fields);
    };
    return { trace: nothing, debug: nothing, info, warn: log('warn'), error: log('error') };
  }

  /** Subscribes to the status managers of nodes that have come. */
  #watch(): void {
    if (this.isStopped || !this.process.isAlive) return;
    for (const nodeName of this.#nodeNames) {
      const manager = this.nodes.node(nodeName)?.statusManager;
      if (manager === undefined || this.#watched.has(manager)) continue;
      this.#watched.add(manager);
      const last = new Map<string, number>();
      const statuses = new Map<string, PodStatus>();
      manager.subscribe({
        onPodUpdated: (pod, status) => this.#checkStatus(manager, pod, status, statuses),
        onOutcome: (outcome) => {
          this.#checkOutcome(nodeName, outcome, last);
          // A status that is set after that has none before it.
          if (outcome.outcome === 'gone') statuses.delete(outcome.podUID);
        },
      });
    }
    this.#world.at(watchPeriodMs, () => this.#watch());
  }

  /** Phase and conditions follow from the status's own containers. */
  #checkStatus(manager: object, pod: Pod, status: PodStatus, statuses: Map<string, PodStatus>): void {
    const { uid = '' } = pod.metadata ?? {};
    // Its earlier status was dropped, and nobody sees the one that follows.
    if (this.#recreated.has(uid)) return;
    const before = statuses.get(uid) ?? (pod.status as PodStatus | undefined);
    statuses.set(uid, status);
    if (this.process.isAlive) this.#options.onStatus(manager, pod, status, before);
    // As that of a kubelet, the status of a pod that was not admitted has no conditions.
    if (status.reason === 'Refused') return;
    try {
      expectConsistent(pod, status, before, { staysRunning: true });
    } catch (error) {
      this.#world.violate('phase and conditions follow from the containers', `${uid}: ${(error as Error).message}`);
    }
  }

  #checkOutcome(nodeName: string, outcome: StatusOutcome, last: Map<string, number>): void {
    if (!this.process.isAlive) return;
    const { podUID, version } = outcome;
    this.#world.note(this.process.name, 'outcome', podUID, version, outcome.outcome);
    this.#world.count(`outcome ${outcome.outcome}`);
    if (!finalOutcomes.has(outcome.outcome)) return;
    // The first version of a pod may be that of one that was forgotten, and has come again.
    if (version > 1 && last.get(podUID) === version)
      this.#world.violate('each version has one final outcome', `${nodeName} ${podUID} ${version}: ${outcome.outcome}`);
    last.set(podUID, version);
  }
}
