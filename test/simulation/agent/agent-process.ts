import type { NodeAgent, NodeAgentOptions, NodeStatus } from '../../../src/agent/index.ts';
import { createNodeAgentOn } from '../../../src/agent/node-agent/create-node-agent.ts';
import { podClientOf } from '../../../src/kube/http/http-pod-client.ts';
import type { Disk } from '../../../src/shared/disk.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { openCheckpointStateOn } from '../../../src/status-manager/allocation/checkpoint-state.ts';
import { openFileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import type { Journal } from '../../../src/status-manager/journal/journal.ts';
import { StatusManagerError } from '../../../src/status-manager/index.ts';
import { finalOutcomes } from '../../chaos/outcome-ledger.ts';
import type { Random } from '../../chaos/random.ts';
import type { Network } from '../network.ts';
import type { SimulatedDisk } from '../simulated-disk.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { NodeRuntime, RuntimeConnection } from './node-runtime.ts';
import { rootDirectory, type SimulatedHelper, type SimulatedVolumes } from './simulated-volumes.ts';
import type { StaticPods } from './static-pods.ts';
import { type RuntimeWatcher, watchedRuntime } from './watched-runtime.ts';

/** The newest version, and the one in a PATCH that was aborted. */
const maxOpenWhenUnsent = 2;

/** Of a folder with very many files. */
const longCleanUpMs = 120_000;

/** Few CPUs, so that some pods and resizes do not fit. */
const capacity = {
  ...{ cpu: '4', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' },
  ...{ 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '4Gi' },
};

export interface AgentProcessOptions {
  readonly number: number;
  readonly nodeName: string;
  readonly token: string;
  readonly agent: Pick<NodeAgentOptions, 'imageGC' | 'imagePulls' | 'runtimeRequestTimeoutMs' | 'statusManager'>;
  readonly onLog: (level: 'error' | 'warn', message: string, fields: object) => void;
  /** It logs that it preempts a pod. */
  readonly onPreemption: (fields: object) => void;
}

/** What an agent runs on. */
export interface AgentSurroundings {
  readonly network: Network;
  readonly disk: SimulatedDisk;
  readonly runtime: NodeRuntime;
  readonly staticPods: StaticPods;
  readonly volumes: SimulatedVolumes;
  readonly watcher: RuntimeWatcher;
}

/** One run of a node agent. */
export class AgentProcess {
  readonly process: SimulatedProcess;
  readonly options: AgentProcessOptions;
  /** Undefined until it runs. */
  agent: NodeAgent | undefined;
  isStopped = false;
  readonly #world: World;
  readonly #surroundings: AgentSurroundings;
  readonly #random: Random;
  readonly #disk: Disk;
  readonly #logger: Logger;
  readonly #transport: ReturnType<Network['transport']>;
  #connection: RuntimeConnection | undefined;
  #helper: SimulatedHelper | undefined;
  /** The UIDs of the pods whose end it has recovered. It ends them again, and reports that. */
  readonly recovered = new Set<string>();
  /** By pod UID: how many accepted versions have no final outcome. */
  readonly #open = new Map<string, number>();

  constructor(world: World, surroundings: AgentSurroundings, options: AgentProcessOptions) {
    this.#world = world;
    this.#surroundings = surroundings;
    this.options = options;
    this.process = new SimulatedProcess(world, `agent-${options.number}`);
    this.#random = world.random.fork(this.process.name);
    this.#disk = surroundings.disk.for(this.process);
    const nothing = (): void => {};
    this.#logger = {
      trace: nothing,
      debug: nothing,
      info: (fields, message) => {
        world.note(this.process.name, 'info', message);
        if (message.startsWith('Preempting a pod') && this.process.isAlive) options.onPreemption(fields);
      },
      warn: this.#log('warn'),
      error: this.#log('error'),
    };
    this.#transport = surroundings.network.transport(this.process, options.token);
  }

  /** Resolves when it has been started, or when it was stopped before that; never if it was killed before that. */
  async start(): Promise<void> {
    const disk = this.#disk;
    const journal = await this.#openJournal();
    const allocationState = await this.#untilOpen(() => openCheckpointStateOn(disk, rootDirectory));
    const actuatedState = await this.#untilOpen(() => openCheckpointStateOn(disk, `${rootDirectory}/actuated`));
    const client = podClientOf(this.#transport);
    const helper = this.#surroundings.volumes.helperFor(this.process, {
      ...{ client: { transport: this.#transport }, logger: this.#logger },
    });
    this.#helper = helper;
    const connection = await this.#surroundings.runtime.connect(this.process, this.#logger, helper);
    this.#connection = connection;
    if (this.isStopped || allocationState === undefined || actuatedState === undefined) return journal?.close();
    const agent = createNodeAgentOn(
      { disk, entropy: this.#world.entropy },
      {
        nodeName: this.options.nodeName,
        client,
        runtime: watchedRuntime(connection.runtime, this.#surroundings.watcher),
        sources: [this.#surroundings.staticPods.source(this.process)],
        node: { addresses: ['10.1.2.3'], nodeStatus: () => this.#nodeStatus(connection) },
        volumeManager: this.#watched(this.#withHangs(helper.volumeManager)),
        ...{ allocationState, actuatedState, imagePullRecordsDirectory: rootDirectory },
        ...(journal !== undefined && { journal }),
        ...this.options.agent,
        ...this.#ports(),
      },
    );
    this.agent = agent;
    for (const { podUID } of journal?.recovered ?? []) {
      this.#changeOpen(podUID, 1);
      this.recovered.add(podUID);
    }
    agent.statusManager.subscribe({
      onPodUpdated: ({ metadata: { uid = '' } = {} }) => this.#changeOpen(uid, 1),
      // Of a pod that has ended, the last version.
      onPodRemoved: ({ metadata: { uid = '' } = {} }) => this.#changeOpen(uid, 1),
      onOutcome: ({ podUID, version, outcome }) => {
        if (!this.process.isAlive || !finalOutcomes.has(outcome)) return;
        this.#world.note(this.process.name, 'outcome', podUID, version, outcome);
        this.#world.count(`outcome ${outcome}`);
        this.#changeOpen(podUID, -1);
      },
    });
    agent.start();
    this.#world.note(this.process.name, 'running');
  }

  async stop(options: { readonly drain: boolean; readonly terminatePods: boolean }): Promise<void> {
    this.isStopped = true;
    await this.agent?.stop({ ...options, deadlineMs: 5_000 });
    await this.#connection?.close();
    await this.#helper?.close();
    await this.#transport.close();
    await this.process.clock.yieldToEventLoop();
    this.#checkOutcomes();
    // What is stopped while it starts has no runtime whose calls it could end.
    if (this.#connection !== undefined && this.process.timers > 0)
      this.#world.violate('stop() leaves nothing', `${this.process.name}: ${this.process.timers} timers`);
    this.process.kill();
  }

  #watched(volumeManager: SimulatedHelper['volumeManager']): SimulatedHelper['volumeManager'] {
    return {
      ...volumeManager,
      waitForAttachAndMount: (pod, options) =>
        this.#surroundings.volumes.watchSetUp(this.process.name, pod, options.signal, () =>
          volumeManager.waitForAttachAndMount(pod, options),
        ),
    };
  }

  /**
   * In some worlds, the question what the volumes of a pod have is sometimes never answered, or the removal of the folders of
   * pods that are gone takes minutes.
   */
  #withHangs(volumeManager: SimulatedHelper['volumeManager']): SimulatedHelper['volumeManager'] {
    const random = this.#random.fork('stats');
    const cleanUps = this.#random.fork('clean-ups');
    const [hasHangingStats, hasLongCleanUps] = [random.chance(0.2), this.#world.random.fork('clean-ups').chance(0.2)];
    const { size } = this.#world;
    return {
      ...volumeManager,
      getPodVolumeStats: async (pod, options) => {
        const isHanging = hasHangingStats && random.chance(0.3) && this.#world.happens('volume stats: hangs');
        return isHanging ? new Promise(() => {}) : volumeManager.getPodVolumeStats?.(pod, options);
      },
      cleanupOrphanedPodDirs: async (existing, options) => {
        const isSlow = hasLongCleanUps && cleanUps.chance(0.05) && this.#world.nowMs < size.forMs;
        if (isSlow && this.#world.happens('folders of orphans: slow'))
          await new Promise<void>((resolve) => void this.process.receive(longCleanUpMs, () => resolve()));
        await volumeManager.cleanupOrphanedPodDirs?.(existing, options);
      },
    };
  }

  async #nodeStatus({ nodeStatus }: RuntimeConnection): Promise<NodeStatus> {
    const status = await nodeStatus?.();
    return { ...status, capacity, allocatable: capacity };
  }

  #openJournal(): Promise<Journal | undefined> {
    const ports = { disk: this.#disk, lockDirectory: this.#surroundings.disk.lockDirectory(this.process) };
    return this.#untilOpen(() =>
      openFileJournal(`${rootDirectory}/journal`, { fsync: 'interval', ...this.#ports() }, ports),
    );
  }

  /** Tries again, as if it were restarted, while the disk cannot be read, or is full and has no file yet; undefined once stopped. */
  async #untilOpen<T>(open: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof StatusManagerError)) throw error;
        await new Promise<void>((resolve) => void this.process.clock.afterFunc(1_000, resolve));
        if (this.isStopped) return undefined;
      }
    }
  }

  #ports(): { clock: SimulatedProcess['clock']; random: () => number; logger: Logger } {
    return { clock: this.process.clock, random: () => this.#random.next(), logger: this.#logger };
  }

  #changeOpen(podUID: string, change: number): void {
    const open = (this.#open.get(podUID) ?? 0) + change;
    this.#open.set(podUID, open);
    if (open < 0) this.#world.violate('each version has one final outcome', `${this.process.name} ${podUID}`);
  }

  #checkOutcomes(): void {
    const unsent = new Set(
      (this.agent?.inspect().statusManager.pods ?? [])
        .filter(({ unsentSince }) => unsentSince !== undefined)
        .map(({ podUID }) => podUID),
    );
    for (const [podUID, open] of this.#open) {
      if (open <= (unsent.has(podUID) ? maxOpenWhenUnsent : 0)) continue;
      this.#world.violate('each version has one final outcome', `${this.process.name} ${podUID}: ${open} have none`);
    }
  }

  #log(level: 'warn' | 'error') {
    return (fields: object, message: string): void => {
      if (!this.process.isAlive) return;
      const { err: _err, ...rest } = fields as { readonly err?: unknown };
      this.#world.note(this.process.name, level, message, rest);
      this.options.onLog(level, message, fields);
    };
  }
}
