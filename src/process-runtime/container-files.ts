import { rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceRequirementsInput } from '../kube/objects/types.ts';
import { readJSONFile, writeJSONFile } from './durable-file.ts';

/** The configuration of a container, without its environment. */
export interface ContainerConfigFile {
  readonly id: string;
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly name: string;
  readonly sandboxID: string;
  readonly attempt: number;
  readonly hash: string;
  readonly image: string;
  readonly createdAtMs: number;
  /** The program: a path, or a name that is looked up in the PATH of the environment. */
  readonly file: string;
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly stopSignal: NodeJS.Signals;
  /** Whether clients that attach can write to its input; otherwise, the input is `/dev/null`. */
  readonly stdin: boolean;
  /** Whether the input ends with the first client. */
  readonly stdinOnce: boolean;
  readonly logFile: string;
  /** The file that the container may write its termination message to. */
  readonly terminationMessageFile: string;
  readonly fallsBackToLogs: boolean;
  /** The socket on which the shim listens. */
  readonly socket: string;
}

export interface Environment {
  readonly [name: string]: string;
}

/** A start of a container. */
export interface ContainerStart {
  /** The process, and its process group. */
  readonly pid: number;
  readonly startedAtMs: number;
}

/** How a container has ended. */
export interface ContainerExit {
  readonly exitCode: number;
  readonly reason: string;
  readonly finishedAtMs: number;
  readonly message?: string | undefined;
}

/**
 * The files of one container, in its own directory. They record the lifecycle of the container, so that a restarted agent
 * knows what happened while it was down.
 *
 * `env.json` and `config.json` are written by the agent when the container is created. `start` is the request to start the
 * container. Only one process can take it: the shim that starts the container, or an agent that withdraws the request.
 * `started.json` and `exit.json` are written by the shim.
 */
export class ContainerFiles {
  readonly directory: string;
  /** The directory that the container's process starts in, unless its spec has a `workingDir`. */
  readonly root: string;
  /** Stderr of the shim itself. */
  readonly shimLog: string;

  constructor(directory: string) {
    this.directory = directory;
    this.root = join(directory, 'root');
    this.shimLog = join(directory, 'shim.log');
  }

  readConfig(): ContainerConfigFile | undefined {
    return readJSONFile(join(this.directory, 'config.json')) as ContainerConfigFile | undefined;
  }

  writeConfig(config: ContainerConfigFile): void {
    writeJSONFile(join(this.directory, 'config.json'), config);
  }

  removeConfig(): void {
    rmSync(join(this.directory, 'config.json'), { force: true });
  }

  /** False when the container has been removed, or somebody has deleted its directory. */
  exists(): boolean {
    try {
      return statSync(join(this.directory, 'config.json'), { throwIfNoEntry: false }) !== undefined;
    } catch {
      return true; // nobody knows
    }
  }

  /** Not kept in memory, because it contains the values of secrets. @throws Error if the file is gone */
  readEnvironment(): Environment {
    const env = readJSONFile(join(this.directory, 'env.json'));
    // Without it, a process would get the environment of the agent.
    if (env === undefined) throw new Error(`${this.directory} has been deleted`);
    return env as Environment;
  }

  writeEnvironment(env: Environment): void {
    writeJSONFile(join(this.directory, 'env.json'), env);
  }

  removeEnvironment(): void {
    rmSync(join(this.directory, 'env.json'), { force: true });
  }

  /** Undefined if they have not changed since the container was created. */
  readResources(): ResourceRequirementsInput | undefined {
    return readJSONFile(join(this.directory, 'resources.json')) as ResourceRequirementsInput | undefined;
  }

  writeResources(resources: ResourceRequirementsInput): void {
    writeJSONFile(join(this.directory, 'resources.json'), resources);
  }

  requestStart(): void {
    writeFileSync(join(this.directory, 'start'), '');
  }

  /** Returns false if there is no request, or another process has taken it. */
  takeStartRequest(): boolean {
    try {
      unlinkSync(join(this.directory, 'start'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  readStart(): ContainerStart | undefined {
    return readJSONFile(join(this.directory, 'started.json')) as ContainerStart | undefined;
  }

  writeStart(start: ContainerStart): void {
    writeJSONFile(join(this.directory, 'started.json'), start);
  }

  readExit(): ContainerExit | undefined {
    return readJSONFile(join(this.directory, 'exit.json')) as ContainerExit | undefined;
  }

  writeExit(exit: ContainerExit): void {
    writeJSONFile(join(this.directory, 'exit.json'), exit);
  }
}
