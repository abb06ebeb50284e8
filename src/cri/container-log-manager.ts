import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { undefinedIfMissing } from '../agent/host-paths/error-code.ts';
import type { HostDirectory } from '../agent/host-paths/host-directory.ts';
import { useLogFolder } from '../agent/host-paths/log-folder.ts';
import type { Clock } from '../shared/clock.ts';
import { FailureLog } from '../shared/failure-log.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { Ticker } from '../shared/ticker.ts';
import { timeFromEpochMs } from '../shared/time.ts';

export interface ContainerLogManagerOptions {
  /** The log files of the running containers. */
  readonly listLogs: () => Promise<readonly { readonly containerID: string; readonly path: string }[]>;
  /** Makes the runtime write to a new file. Source: CRI `ReopenContainerLog`. */
  readonly reopenContainerLog: (containerID: string) => Promise<unknown>;
  /** A larger log is rotated. Source: kubelet `containerLogMaxSize`. */
  readonly maxSizeBytes: number;
  /** Including the one that the container writes to; at least 2. Source: kubelet `containerLogMaxFiles`. */
  readonly maxFiles: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Source: kubelet `containerLogMonitorInterval`. */
const periodMs = 10_000;

/**
 * Rotates the logs of running containers: `0.log` becomes `0.log.20260102-030405`, and what was rotated before is
 * compressed. Source: kubelet `containerLogManager`.
 *
 * Divergence: the time in the name is UTC; the kubelet's is local time, which repeats an hour each year.
 */
export class ContainerLogManager {
  readonly #options: ContainerLogManagerOptions;
  readonly #ticker: Ticker;
  readonly #listing: FailureLog;
  #isStopped = false;

  constructor(options: ContainerLogManagerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#ticker = new Ticker(clock, periodMs, () => this.rotateLogs());
    this.#listing = new FailureLog({ clock, logger, what: 'Listing the logs of containers' });
  }

  start(): void {
    this.#ticker.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#ticker.stop();
  }

  /** Rotates every log that is too large. Never rejects. */
  async rotateLogs(): Promise<void> {
    try {
      const logs = await this.#options.listLogs();
      this.#listing.succeeded();
      for (const { containerID, path } of logs) if (!this.#isStopped) await this.#rotateIfLarge(containerID, path);
    } catch (error) {
      if (!this.#isStopped) this.#listing.failed(error);
    }
  }

  async #rotateIfLarge(containerID: string, path: string): Promise<void> {
    const { reopenContainerLog, maxSizeBytes, logger } = this.#options;
    try {
      await useLogFolder(path, async (folder, name) => {
        let size = await sizeOf(folder, name);
        if (size === undefined) {
          // A rotation was interrupted before the runtime had opened the new file.
          await reopenContainerLog(containerID);
          size = (await sizeOf(folder, name)) ?? 0;
        }
        if (size >= maxSizeBytes) await this.#rotate(containerID, folder, name);
      });
    } catch (error) {
      if (!this.#isStopped) logger.warn({ containerID, path, reason: reasonOf(error) }, 'Failed to rotate a log');
    }
  }

  async #rotate(containerID: string, folder: HostDirectory, log: string): Promise<void> {
    const { maxFiles, clock, reopenContainerLog } = this.#options;
    const { inUse, unused } = await rotatedLogs(folder, log);
    // The log itself and the file that it becomes count, too. The oldest files are removed first.
    const excess = inUse.slice(0, Math.max(0, inUse.length - (maxFiles - 2)));
    for (const file of [...unused, ...excess]) await folder.unlink(file);
    for (const file of inUse.slice(excess.length)) if (!file.endsWith('.gz')) await compress(folder, file);
    const rotated = `${log}.${timestamp(clock.now())}`;
    await folder.rename(log, folder, rotated);
    try {
      await reopenContainerLog(containerID);
    } catch (error) {
      // The container still writes to it.
      await folder.rename(rotated, folder, log);
      throw error;
    }
  }
}

/** The rotated files of a log, oldest first; those of interrupted compressions are unused. */
async function rotatedLogs(
  folder: HostDirectory,
  log: string,
): Promise<{ readonly inUse: string[]; readonly unused: string[] }> {
  const names: string[] = [];
  for await (const entry of folder.entries()) names.push(entry.name.toString());
  const rotated = names.filter((name) => name.startsWith(`${log}.`)).toSorted(byCodeUnits);
  const isInUse = (name: string): boolean =>
    name.endsWith('.gz') || !(name.endsWith('.tmp') || rotated.includes(`${name}.gz`));
  return { inUse: rotated.filter(isInUse), unused: rotated.filter((name) => !isInUse(name)) };
}

async function compress(folder: HostDirectory, file: string): Promise<void> {
  const temporary = `${file}.tmp`;
  const source = await folder.openFile(file);
  try {
    const { mode } = await source.stat();
    const target = await folder.createFile(temporary, mode & 0o777);
    await pipeline(source.createReadStream({ autoClose: false }), createGzip(), target.createWriteStream());
    await folder.rename(temporary, folder, `${file}.gz`);
    await folder.unlink(file);
  } catch (error) {
    await folder.unlink(temporary).catch(undefinedIfMissing);
    throw error;
  } finally {
    await source.close();
  }
}

async function sizeOf(folder: HostDirectory, log: string): Promise<number | undefined> {
  const stats = await folder.stats(log).catch(undefinedIfMissing);
  return stats && Number(stats.size);
}

/** `20260102-030405` */
function timestamp(epochMs: number): string {
  return timeFromEpochMs(epochMs).replaceAll(/[-:Z]/g, '').replace('T', '-');
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
