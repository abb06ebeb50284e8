import type { ContainerRuntime, NodeStatus } from '../../../src/agent/index.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Random } from '../../chaos/random.ts';
import { SimulatedFiles } from '../simulated-files.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { ContainerRun, ContainerRuns } from './container-runs.ts';
import type { SimulatedHelper } from './simulated-volumes.ts';

/** The machine of a node: what the agents and the runtime on it share. */
export interface Machine {
  readonly world: World;
  readonly runs: ContainerRuns;
  readonly files: SimulatedFiles;
  /** What its wall clock is off. */
  wallOffsetMs: number;
}

export function createMachine(world: World, runs: ContainerRuns): Machine {
  const machine = { world, runs, wallOffsetMs: 0 };
  return Object.assign(machine, { files: new SimulatedFiles(world, () => nowOf(machine)) });
}

/** The wall clock of a machine. */
export function nowOf({ world, wallOffsetMs }: Pick<Machine, 'world' | 'wallOffsetMs'>): number {
  return Math.floor(world.startEpochMs + world.nowMs + wallOffsetMs);
}

/** The runtime as one agent uses it. */
export interface RuntimeConnection {
  readonly runtime: ContainerRuntime;
  /** What the runtime tells of the node. */
  nodeStatus?(): Promise<NodeStatus>;
  /** Called after the agent has stopped. */
  close(): Promise<void> | void;
}

/** The container runtime of a machine with all that runs in it. It outlives the agents. */
export interface NodeRuntime {
  /** What a process calls after it was killed has no effect; nor has what was on the way. */
  connect(
    process: SimulatedProcess,
    logger: Logger,
    helper: SimulatedHelper,
  ): Promise<RuntimeConnection> | RuntimeConnection;
  /** Calls fail, hang and lose their answers from now on; streams of events break; the runtime restarts. */
  disturb(random: Random): void;
  /** Everything works again, and stays so. */
  heal(): void;
  /** The connections of a process end with it. */
  killed(process: SimulatedProcess): void;
  /** The network of a pod is gone, and its containers with it. */
  loseSandbox(podUID: string): void;
  /** The pods of which anything is left: sandboxes, containers, cgroups, logs. */
  podsLeft(): ReadonlySet<string>;
  /** Somebody removes an image. */
  removeImage(image: string): void;
  /** The next pull of this image has its effect, and its answer is lost. */
  loseAnswerOfPull?(image: string): void;
  /** The disk is full of images, of which this one is gone. Resolves when an agent begins to remove the others, which is slow. */
  fillDisk?(missingImage: string): Promise<void>;
  /** Checks what is so of a container soon after its start, when all has worked for a while. */
  checkStarted?(run: ContainerRun): void;
  /** Checks what is so of containers that run once all has worked for a while. */
  checkRunning?(): Promise<void>;
  /** Checks what is so once all has been quiet for a while. */
  checkQuiet?(): Promise<void>;
  /** Connections and listeners of agents that have stopped. */
  readonly openConnections: number;
}

/** What a setting of agents is about. */
export type CreateNodeRuntime = (machine: Machine) => NodeRuntime;
