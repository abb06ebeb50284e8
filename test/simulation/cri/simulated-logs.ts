import { join } from 'node:path';
import type { RuntimePodFiles } from '../../../src/cri/runtime-pod-files.ts';
import { logLinksDirectory } from '../../../src/cri/log-files.ts';
import { podLogsDirectoryName } from '../../../src/cri/labels.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';

const podLogsDirectory = '/var/log/pods';
const bytesPerMs = 1;

/** A file that a container writes to, whatever its name is now. */
export class LogFile {
  readonly #world: World;
  readonly #startedMs: number;
  #endedMs: number | undefined;

  constructor(world: World) {
    this.#world = world;
    this.#startedMs = world.nowMs;
  }

  get size(): number {
    return Math.floor(((this.#endedMs ?? this.#world.nowMs) - this.#startedMs) * bytesPerMs);
  }

  /** Nothing is written to it any more. */
  end(): void {
    this.#endedMs ??= this.#world.nowMs;
  }
}

/** The logs of containers on a machine, and the links to them. They outlive the agents. */
export class SimulatedLogs {
  /** By path. */
  readonly files = new Map<string, LogFile>();
  /** Folders of pods, by name. */
  readonly folders = new Set<string>();
  /** Path of the link → path of the log. */
  readonly links = new Map<string, string>();
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork('logs');
  }

  /** A new file in the folder of a container; undefined if the folder of the pod is gone. */
  open(path: string): LogFile | undefined {
    const [podName = ''] = path.slice(podLogsDirectory.length + 1).split('/');
    if (!this.folders.has(podName)) return undefined;
    const file = this.files.get(path) ?? new LogFile(this.#world);
    this.files.set(path, file);
    return file;
  }

  /** The files as one process uses them. */
  for(process: SimulatedProcess): RuntimePodFiles {
    const act = <T>(run: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        process.receive(this.#random.next() * 3, () => {
          try {
            resolve(run());
          } catch (error) {
            reject(error);
          }
        });
      });
    return {
      makePodLogsDirectory: (pod) => act(() => void this.folders.add(podLogsDirectoryName(pod))),
      makeContainerFiles: (pod, { name, terminationMessagePath }) =>
        act(() => {
          const folder = podLogsDirectoryName(pod);
          this.folders.add(folder);
          const mount = { container_path: terminationMessagePath, host_path: `/messages/${pod.metadata.uid}/${name}` };
          return {
            nextRun: this.#nextRun(join(podLogsDirectory, folder, name)),
            terminationMessageMounts: terminationMessagePath ? [mount] : [],
          };
        }),
      readTerminationMessage: ({ exit_code: exitCode }) => act(() => `exit ${exitCode}`),
      linkLog: (link, log) =>
        act(() => {
          if (!this.files.has(log)) return false;
          this.#world.note(process.name, 'links', link);
          this.links.set(link, log);
          return true;
        }),
      logSize: (log) => act(() => this.files.get(log)?.size),
      rotateLog: (log, { maxFiles, epochMs }) =>
        act(() => {
          const file = this.#existing(log);
          const rotated = `${log}.${timeFromEpochMs(epochMs).replaceAll(/[-:TZ]/g, '')}`;
          for (const old of this.#rotatedOf(log).slice(0, -(maxFiles - 2) || undefined)) this.files.delete(old);
          this.files.delete(log);
          this.files.set(rotated, file);
          return rotated;
        }),
      restoreLog: (log, rotated) =>
        act(() => {
          if (this.files.has(log)) return;
          this.files.set(log, this.#existing(rotated));
          this.files.delete(rotated);
        }),
      removeLogs: (log) =>
        act(() => {
          for (const path of [log, ...this.#rotatedOf(log)]) this.files.delete(path);
        }),
      logUsage: (podLogsName, containerName) =>
        act(() => {
          const files = this.#filesIn(join(podLogsDirectory, podLogsName, containerName));
          if (files.length === 0) throw errno('ENOENT', podLogsName);
          return {
            usedBytes: files.reduce((sum, path) => sum + this.files.get(path)!.size, 0),
            inodesUsed: 1 + files.length,
          };
        }),
      fileSystemInfo: () => act(() => ({ capacityBytes: 1e12, availableBytes: 5e11, inodes: 1e6, inodesFree: 5e5 })),
      evictPodLogsDirectories: async (listLiveContainers, shouldPodContentBeRemoved) => {
        await act(() => {
          for (const folder of this.folders) {
            if (!shouldPodContentBeRemoved(folder.slice(folder.lastIndexOf('_') + 1))) continue;
            this.folders.delete(folder);
            for (const path of this.#filesIn(join(podLogsDirectory, folder))) this.files.delete(path);
          }
        });
        const dangling = await act(() => [...this.links].filter(([, log]) => !this.files.has(log)));
        if (dangling.length === 0) return;
        const live = await listLiveContainers();
        await act(() => {
          for (const [link] of dangling) if (!live.has(containerOf(link))) this.links.delete(link);
        });
      },
    };
  }

  #nextRun(folder: string): number {
    const runs = this.#filesIn(folder).map((path) => Number.parseInt(path.slice(folder.length + 1), 10));
    return runs.reduce((next, run) => Math.max(next, run + 1), 0);
  }

  #filesIn(folder: string): string[] {
    return [...this.files.keys()].filter((path) => path.startsWith(`${folder}/`));
  }

  #rotatedOf(log: string): string[] {
    return [...this.files.keys()].filter((path) => path.startsWith(`${log}.`)).toSorted();
  }

  #existing(path: string): LogFile {
    const file = this.files.get(path);
    if (file === undefined) throw errno('ENOENT', path);
    return file;
  }
}

/** The link to the log of a container, if there is one. */
export function linkOf(links: ReadonlyMap<string, string>, containerID: string): string | undefined {
  return [...links.keys()].find((link) => containerOf(link) === containerID);
}

function containerOf(link: string): string {
  return link
    .slice(logLinksDirectory(podLogsDirectory).length + 1, -'.log'.length)
    .split('-')
    .at(-1)!;
}

function errno(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
}
