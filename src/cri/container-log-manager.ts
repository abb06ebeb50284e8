import { setMaxListeners } from 'node:events';
import type { NodeContext } from '../node/index.ts';
import { boundedCall } from '../shared/deadline.ts';
import { FailureLog } from '../shared/failure-log.ts';
import { reasonOf } from '../shared/logger.ts';
import { OneAtATime } from '../shared/one-at-a-time.ts';
import { Semaphore } from '../shared/semaphore.ts';
import { Ticker } from '../shared/ticker.ts';
import type { RuntimePodFiles } from './runtime-pod-files.ts';

/** The log of one run of a container. */
export interface RunLog {
  readonly containerID: string;
  readonly path: string;
  /** The path of the link to it. */
  readonly link: string;
}

export interface ContainerLogManagerOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly files: Pick<
    RuntimePodFiles,
    'linkLog' | 'logSize' | 'rotateLog' | 'restoreLog' | 'removeLogs' | 'evictPodLogsDirectories'
  >;
  /** The logs of the running containers. Settles within its time-out. */
  readonly listLogs: () => Promise<readonly RunLog[]>;
  /** Makes the runtime write to a new file. Source: CRI `ReopenContainerLog`. */
  readonly reopenContainerLog: (containerID: string, signal: AbortSignal) => Promise<unknown>;
  /** A larger log is rotated; Infinity: never. Source: kubelet `containerLogMaxSize`. */
  readonly maxSizeBytes: number;
  /** Including the one that the container writes to; at least 2. Source: kubelet `containerLogMaxFiles`. */
  readonly maxFiles: number;
}

/** Source: kubelet `containerLogMonitorInterval`. */
const periodMs = 10_000;
/** Readers and removals of the log wait at most this long. */
const reopenTimeoutMs = 10_000;
/** Logs whose files are compressed and renamed at the same time. */
const parallelRotations = 2;

interface Lane {
  readonly turns: OneAtATime;
  users: number;
}

/**
 * Owns the logs of containers. Operations on the log of one run are queued in a lane of its own: rotation, linking,
 * removal, and finding it for a reader, who waits until a log that is being rotated exists again. Lanes do not wait for
 * each other, so a runtime that does not respond for one container does not delay the others.
 *
 * Links to the logs of running containers are created again until they exist: the response to the start of a container
 * may be lost, and the agent may be killed before it creates the link.
 *
 * Rotates the logs of running containers: `0.log` becomes `0.log.20260102-030405`, and the files of earlier rotations are
 * compressed. Source: kubelet `containerLogManager`.
 *
 * Divergence: the time in the name is UTC; the kubelet's is local time, which repeats an hour each year.
 */
export class ContainerLogManager {
  readonly #options: ContainerLogManagerOptions;
  readonly #ticker: Ticker;
  readonly #listing: FailureLog;
  readonly #stop = new AbortController();
  /** One lane for each log in use, by its path. */
  readonly #lanes = new Map<string, Lane>();
  readonly #rotating: Semaphore;
  /** The links of running containers, and sometimes of exited ones. */
  #links = new Set<string>();

  constructor(options: ContainerLogManagerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    // Any number of logs may wait for their rotation.
    setMaxListeners(0, this.#stop.signal);
    // Not awaited: one slow rotation would delay all other logs.
    this.#ticker = new Ticker(clock, periodMs, async () => void (await this.#beginRotations()));
    this.#listing = new FailureLog({ clock, logger, what: 'Listing the logs of containers' });
    this.#rotating = new Semaphore({ size: parallelRotations, clock });
  }

  start(): void {
    this.#ticker.start();
  }

  stop(): void {
    this.#stop.abort();
    this.#ticker.stop();
  }

  /** Rotates every log that is too large, except for those that are in use. Never rejects. */
  async rotateLogs(): Promise<void> {
    await Promise.all(await this.#beginRotations());
  }

  /** Resolves when the log is not being rotated or removed. */
  async whenIdle(path: string, signal?: AbortSignal): Promise<void> {
    if (this.#lanes.has(path)) await this.#inLane(path, signal, async () => {});
  }

  async linkLog({ link, path }: Omit<RunLog, 'containerID'>, signal?: AbortSignal): Promise<void> {
    if (this.#links.has(link)) return;
    await this.#inLane(path, signal, async () => {
      if (await this.#options.files.linkLog(link, path)) this.#links.add(link);
    });
  }

  async removeLogs(path: string): Promise<void> {
    await this.#inLane(path, undefined, () => this.#options.files.removeLogs(path));
  }

  /** Removes the logs of pods whose data is no longer needed, except for those in use, and links to logs that do not exist. */
  async evictPodLogsDirectories(
    listLiveContainers: () => Promise<ReadonlySet<string>>,
    shouldPodContentBeRemoved: (podUID: string) => boolean,
  ): Promise<void> {
    const isInUse = (podUID: string): boolean => [...this.#lanes.keys()].some((path) => path.includes(`_${podUID}/`));
    await this.#options.files.evictPodLogsDirectories(
      listLiveContainers,
      (podUID) => shouldPodContentBeRemoved(podUID) && !isInUse(podUID),
    );
  }

  async #beginRotations(): Promise<readonly Promise<void>[]> {
    try {
      const logs = await this.#options.listLogs();
      this.#listing.succeeded();
      const links = new Set(logs.map(({ link }) => link));
      this.#links = new Set([...this.#links].filter((link) => links.has(link)));
      return logs.filter(({ path }) => !this.#lanes.has(path)).map((log) => this.#linkAndRotate(log));
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#listing.failed(error);
      return [];
    }
  }

  async #linkAndRotate(log: RunLog): Promise<void> {
    await this.#attempt(log, 'Failed to create the symlink to a container log', (signal) => this.linkLog(log, signal));
    await this.#attempt(log, 'Failed to rotate a log', (signal) =>
      this.#inLane(log.path, signal, () => this.#rotateIfLarge(log)),
    );
  }

  async #attempt(
    { containerID, path }: RunLog,
    failure: string,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { signal } = this.#stop;
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.warn({ containerID, path, reason: reasonOf(error) }, failure);
    }
  }

  async #rotateIfLarge({ containerID, path }: RunLog): Promise<void> {
    if (this.#options.maxSizeBytes === Number.POSITIVE_INFINITY) return;
    const renamed = await this.#renameIfLarge(path);
    if (renamed === 'small') return;
    try {
      await this.#reopen(containerID);
    } catch (error) {
      if (renamed !== 'missing') await this.#options.files.restoreLog(path, renamed.rotated);
      throw error;
    }
  }

  /** A missing log is one whose rotation was interrupted before the runtime had opened the new file. */
  async #renameIfLarge(path: string): Promise<'small' | 'missing' | { readonly rotated: string }> {
    const { files, maxSizeBytes, maxFiles, clock } = this.#options;
    await this.#rotating.acquire(this.#stop.signal);
    try {
      const size = await files.logSize(path);
      if (size === undefined) return 'missing';
      if (size < maxSizeBytes) return 'small';
      this.#stop.signal.throwIfAborted();
      return { rotated: await files.rotateLog(path, { maxFiles, epochMs: clock.now() }) };
    } finally {
      this.#rotating.release();
    }
  }

  #reopen(containerID: string): Promise<unknown> {
    const { clock, reopenContainerLog } = this.#options;
    const bounds = { clock, timeoutMs: reopenTimeoutMs, signals: [this.#stop.signal] };
    return boundedCall('ReopenContainerLog', bounds, ({ signal }) => reopenContainerLog(containerID, signal));
  }

  async #inLane(path: string, signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    const lane = this.#lanes.get(path) ?? { turns: new OneAtATime(), users: 0 };
    this.#lanes.set(path, lane);
    lane.users++;
    try {
      await lane.turns.run(signal, work);
    } finally {
      if (--lane.users === 0) this.#lanes.delete(path);
    }
  }
}
