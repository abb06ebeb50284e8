import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import type { Clock } from '../../shared/clock.ts';
import { withDeadline } from '../../shared/deadline.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { OneAtATime } from '../../shared/one-at-a-time.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import {
  diskUsage,
  HostDirectory,
  type HostFiles,
  isLocalEphemeralVolume,
  podDirectoryNames,
  type PodScope,
  type UsageInfo,
  volumeNames,
  volumesOf,
} from '../../node/index.ts';
import type { PodVolumeStats } from './volume-manager.ts';

/** Pods that are measured at the same time; the others wait. */
const concurrency = 2;
/** A caller waits this long for a measurement, and then gets the previous one. */
const maxWaitMs = 1000;
/** A pod rests this many times as long as its last measurement took, so that many files do not keep a processor busy. */
const restFactor = 9;

interface MeasuredPod {
  readonly lane: OneAtATime;
  running: Promise<void> | undefined;
  restsUntilMs: number;
  latest: PodVolumeStats | undefined;
}

/**
 * Measures in the background what pods have on the disk of the node apart from their containers. Source: kubelet
 * `volumeStatCalculator`, `getPodEtcHostsStats`.
 *
 * Divergence: a pod is measured when it is asked for, not every minute.
 */
export class VolumeStatCalculator {
  readonly #files: HostFiles;
  readonly #rootDirectory: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #failures: FailureLog;
  readonly #lanes = Array.from({ length: concurrency }, () => new OneAtATime());
  readonly #pods = new WeakMap<PodScope, MeasuredPod>();
  #lastLane = 0;

  constructor({
    files,
    rootDirectory,
    clock,
    logger,
  }: Readonly<{ files: HostFiles; rootDirectory: string; clock: Clock; logger: Logger }>) {
    this.#files = files;
    this.#rootDirectory = rootDirectory;
    this.#clock = clock;
    this.#logger = logger;
    this.#failures = new FailureLog({ clock, logger, what: 'Measuring the volumes of pods' });
  }

  /** The latest stats, which may be old: see their time. Undefined if the pod has not been measured yet. Never rejects. */
  async getLatest(pod: ValidPod, scope: PodScope, signal?: AbortSignal): Promise<PodVolumeStats | undefined> {
    const measured = this.#measured(scope);
    if (measured.running === undefined && this.#clock.monotonicMs() >= measured.restsUntilMs)
      measured.running = measured.lane.run(undefined, () => this.#measure(pod, measured));
    const { running } = measured;
    if (running !== undefined)
      await withDeadline(this.#clock, maxWaitMs, [signal], (deadline) => undefinedIfAborted(running, deadline.signal));
    return measured.latest;
  }

  #measured(scope: PodScope): MeasuredPod {
    let measured = this.#pods.get(scope);
    if (measured === undefined) {
      this.#lastLane = (this.#lastLane + 1) % concurrency;
      const lane = this.#lanes[this.#lastLane]!;
      this.#pods.set(scope, (measured = { lane, running: undefined, restsUntilMs: 0, latest: undefined }));
    }
    return measured;
  }

  async #measure(pod: ValidPod, measured: MeasuredPod): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const time = timeFromEpochMs(this.#clock.now());
    try {
      const volumes = new Map<string, UsageInfo>();
      for (const volume of volumesOf(pod).filter(isLocalEphemeralVolume))
        volumes.set(volume.name, await this.#usage(pod, volumeNames(pod, volume)));
      measured.latest = { time, volumes, etcHosts: await this.#usage(pod, [...podDirectoryNames(pod), 'etc-hosts']) };
      this.#failures.succeeded();
    } catch (error) {
      this.#failures.failed(error, podFieldsOf(pod));
    }
    measured.running = undefined;
    const nowMs = this.#clock.monotonicMs();
    measured.restsUntilMs = nowMs + (nowMs - startedMs) * restFactor;
  }

  async #usage(pod: ValidPod, names: readonly string[]): Promise<UsageInfo> {
    const usage = await HostDirectory.useIfPresent(this.#files, this.#rootDirectory, names.slice(0, -1), (folder) =>
      diskUsage(folder, names.at(-1)!),
    );
    if (usage?.isComplete === false)
      this.#logger.warn(podFieldsOf(pod), 'A volume has too many directories side by side: some do not count');
    return { bytes: usage?.bytes ?? 0, inodes: usage?.inodes ?? 0 };
  }
}
