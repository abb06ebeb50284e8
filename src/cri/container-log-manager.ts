import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
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
      let size = await sizeOf(path);
      if (size === undefined) {
        // A rotation was interrupted before the runtime had opened the new file.
        await reopenContainerLog(containerID);
        size = (await sizeOf(path)) ?? 0;
      }
      if (size >= maxSizeBytes) await this.#rotate(containerID, path);
    } catch (error) {
      if (!this.#isStopped) logger.warn({ containerID, path, reason: reasonOf(error) }, 'Failed to rotate a log');
    }
  }

  async #rotate(containerID: string, path: string): Promise<void> {
    const { maxFiles, clock, reopenContainerLog } = this.#options;
    const { inUse, unused } = await rotatedLogs(path);
    // The log itself and the file that it becomes count, too. The oldest files are removed first.
    const excess = inUse.slice(0, Math.max(0, inUse.length - (maxFiles - 2)));
    for (const file of [...unused, ...excess]) await rm(file);
    for (const file of inUse.slice(excess.length)) if (!file.endsWith('.gz')) await compress(file);
    const rotated = `${path}.${timestamp(clock.now())}`;
    await rename(path, rotated);
    try {
      await reopenContainerLog(containerID);
    } catch (error) {
      // The container still writes to it.
      await rename(rotated, path);
      throw error;
    }
  }
}

/** The rotated files of a log, oldest first; those of interrupted compressions are unused. */
async function rotatedLogs(path: string): Promise<{ readonly inUse: string[]; readonly unused: string[] }> {
  const prefix = `${basename(path)}.`;
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix)).toSorted(byCodeUnits);
  const isInUse = (name: string): boolean =>
    name.endsWith('.gz') || !(name.endsWith('.tmp') || names.includes(`${name}.gz`));
  const inFolder = (name: string): string => join(dirname(path), name);
  return {
    inUse: names.filter(isInUse).map(inFolder),
    unused: names.filter((name) => !isInUse(name)).map(inFolder),
  };
}

async function compress(file: string): Promise<void> {
  const temporary = `${file}.tmp`;
  const { mode } = await stat(file);
  try {
    await pipeline(createReadStream(file), createGzip(), createWriteStream(temporary, { mode }));
    await rename(temporary, `${file}.gz`);
    await rm(file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** `20260102-030405` */
function timestamp(epochMs: number): string {
  return timeFromEpochMs(epochMs).replaceAll(/[-:Z]/g, '').replace('T', '-');
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
