import { dirname } from 'node:path';
import type { Machine } from '../agent/node-runtime.ts';
import type { Inode, SimulatedFiles } from '../simulated-files.ts';

const podLogsDirectory = '/var/log/pods';
const linksDirectory = '/var/log/containers';
const bytesPerMs = 1;

/** A file that a container writes to, whatever its name is now. */
export interface LogFile {
  readonly inode: Inode;
  readonly size: number;
  /** Nothing is written to it any more. */
  end(): void;
}

/** The logs that containers write on a machine. */
export class SimulatedLogs {
  readonly #machine: Machine;
  readonly #files: SimulatedFiles;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#files = machine.files;
    this.#files.makeFolder('/var/log');
  }

  /** The UIDs of the pods that have a folder. */
  podUIDs(): string[] {
    const folders = this.#files.find(podLogsDirectory)?.entries.keys() ?? [];
    return [...folders].map((folder) => folder.slice(folder.lastIndexOf('_') + 1));
  }

  /** A new file in the folder of a container; undefined if the folder is gone. */
  open(path: string): LogFile | undefined {
    if (this.#files.find(dirname(path)) === undefined) return undefined;
    if (this.#files.find(path) === undefined) this.#files.write(path, '');
    const inode = this.#files.find(path)!;
    const { world } = this.#machine;
    const startedMs = world.nowMs;
    const earlierBytes = inode.size?.() ?? 0;
    let endedMs: number | undefined;
    const size = (): number => earlierBytes + Math.floor(((endedMs ?? world.nowMs) - startedMs) * bytesPerMs);
    inode.size = size;
    return {
      inode,
      get size() {
        return size();
      },
      end: () => void (endedMs ??= world.nowMs),
    };
  }

  /** Whether the container writes to the file that has the name of its log. */
  isAt(path: string, log: LogFile): boolean {
    return this.#files.find(path) === log.inode;
  }

  /** Whether there is a link to the log of a container. */
  hasLink(containerID: string): boolean {
    const links = this.#files.find(linksDirectory)?.entries.keys() ?? [];
    return [...links].some((link) => link.endsWith(`-${containerID}.log`));
  }
}
