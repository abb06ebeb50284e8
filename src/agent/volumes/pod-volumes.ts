import { access, chmod, lchown, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod } from '../../kube/types.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { podFieldsOf } from '../../kube/log-fields.ts';
import type { PodEventRecorder } from '../events/event-recorder.ts';
import type { VolumeManager } from './volume-manager.ts';
import type { CallOptions } from '../runtime/container-runtime.ts';
import { writeAtomically } from './atomic-writer.ts';
import { diskUsage } from './disk-usage.ts';
import { refusedFields } from '../pod-spec/refused-fields.ts';
import { checkHostPathType } from './host-path-type.ts';
import { hugePageSizeBytes, isHugePageMedium } from './huge-page-size.ts';
import { memoryVolumeSize } from './memory-size.ts';
import { hasMounts, isMountPoint, mountHugePages, mountTmpfs, unmountAll } from './mounts.ts';
import { makeNestedMountPoints } from './nested-mount-points.ts';
import { collectPayload, type PayloadSources, type VolumePayload } from './volume-payload.ts';
import { fsGroupOf, podDirectory, type Volume, volumePath, volumesOf } from './volume-sources.ts';

/** Source: kubelet `exponentialbackoff`. */
const firstRetryMs = 500;
const maxRetryMs = 122_000;

export interface PodVolumesOptions extends PayloadSources {
  readonly rootDirectory: string;
  /** False: without root, for processes of this user. */
  readonly mounts: boolean;
  readonly eventRecorder: PodEventRecorder | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The volumes of pods in the kubelet's folders: emptyDir, hostPath, configMap, secret, downwardAPI and projected. Each
 * sync of a pod rewrites the volumes whose API objects have changed. Source: kubelet `volumemanager`, `pkg/volume`.
 */
export class PodVolumes implements VolumeManager {
  readonly #options: PodVolumesOptions;
  /** Volumes that were set up, by pod: kept here, because a runtime may use the volumes without pod workers. */
  readonly #ready = new Map<string, Set<string>>();
  readonly #cleanUpFailures: FailureLog;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#cleanUpFailures = new FailureLog({ clock, logger, what: 'Removing the folders of orphaned pods' });
  }

  async waitForAttachAndMount(pod: Pod, { signal }: CallOptions): Promise<void> {
    const uid = pod.metadata?.uid ?? '';
    const folder = podDirectory(this.#options.rootDirectory, pod);
    const mode = this.#options.mounts ? 0o750 : 0o700;
    // Otherwise both would have to create it, in more steps.
    if (!this.#ready.has(uid)) await mkdir(folder, { recursive: true, mode });
    await Promise.all(['volumes', 'plugins'].map((name) => mkdir(join(folder, name), { recursive: true, mode })));
    const ready = this.#ready.get(uid) ?? new Set();
    this.#ready.set(uid, ready);
    await Promise.all(volumesOf(pod).map((volume) => this.#mount(pod, volume, ready, signal)));
  }

  async waitForUnmount(pod: Pod): Promise<void> {
    this.#ready.delete(pod.metadata?.uid ?? '');
    const folder = podDirectory(this.#options.rootDirectory, pod);
    if (this.#options.mounts) await unmountAll(folder);
    for (const name of ['volume-subpaths', 'volumes', 'plugins'])
      await rm(join(folder, name), { recursive: true, force: true });
  }

  /** Failures are logged, and the next call tries again. */
  async cleanupOrphanedPodDirs(existingPodUIDs: ReadonlySet<string>, { signal }: CallOptions): Promise<void> {
    const pods = join(this.#options.rootDirectory, 'pods');
    const failures: string[] = [];
    for (const uid of await namesIn(pods)) {
      if (existingPodUIDs.has(uid)) continue;
      signal?.throwIfAborted();
      const folder = join(pods, uid);
      try {
        if (this.#options.mounts) {
          await unmountAll(folder);
          // What is mounted, a host path for example, must not be removed.
          if (await hasMounts(folder)) throw new Error('a volume cannot be unmounted');
        }
        await rm(folder, { recursive: true, force: true });
        this.#options.logger.info({ podUID: uid }, 'Removed the folder of an orphaned pod');
      } catch (error) {
        failures.push(`${folder}: ${(error as Error).message}`);
      }
    }
    if (failures.length > 0) this.#cleanUpFailures.failed(new Error(failures.join('; ')));
    else this.#cleanUpFailures.succeeded();
  }

  /** Source: kubelet `emptyDir.GetMetrics`. */
  async emptyDirUsage(pod: Pod): Promise<ReadonlyMap<string, number>> {
    const volumes = volumesOf(pod).filter(({ emptyDir }) => emptyDir && emptyDir.medium !== 'Memory');
    const usages = volumes.map(async (volume): Promise<[string, number]> => {
      return [volume.name, await diskUsage(volumePath(this.#options.rootDirectory, pod, volume))];
    });
    return new Map(await Promise.all(usages));
  }

  /** Retries until the volume is set up. If an update of an existing volume fails, its old files stay usable. */
  async #mount(pod: Pod, volume: Volume, ready: Set<string>, signal: AbortSignal | undefined): Promise<void> {
    const { clock, eventRecorder, logger } = this.#options;
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      try {
        await this.#setUp(pod, volume);
        ready.add(volume.name);
        return;
      } catch (error) {
        signal?.throwIfAborted();
        const message = `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${(error as Error).message}`;
        logger.warn({ ...podFieldsOf(pod), volume: volume.name, reason: message }, 'Failed to set up a volume');
        eventRecorder?.event({ pod, type: 'Warning', reason: 'FailedMount', message });
        if (ready.has(volume.name)) return;
      }
      await sleep(clock, delayMs, signal ?? new AbortController().signal);
      signal?.throwIfAborted();
    }
  }

  async #setUp(pod: Pod, volume: Volume): Promise<void> {
    const [refused] = refusedFields('Volume', volume, 'volume');
    if (refused !== undefined) throw new Error(`${refused.path} is not supported by this agent: ${refused.because}`);
    const path = volumePath(this.#options.rootDirectory, pod, volume);
    if (volume.hostPath) return checkHostPathType(path, volume.hostPath.type);
    if (volume.emptyDir) return this.#setUpEmptyDir(pod, volume, path);
    const collected = await collectPayload(pod, volume, this.#options);
    const payload = this.#options.mounts ? collected : withoutOwners(collected);
    await makeFolder(path);
    // Only ConfigMap volumes are on disk, because the others may contain secrets.
    if (!volume.configMap) await this.#inMemory(pod, path, undefined);
    await makeNestedMountPoints(pod, volume.name, path);
    const setOwnership = (): Promise<void> => setVolumeOwnership(path, this.#groupOf(pod), true);
    await writeAtomically(path, payload, { nowMs: this.#options.clock.now(), setOwnership });
  }

  async #setUpEmptyDir(pod: Pod, { name, emptyDir }: Volume, path: string): Promise<void> {
    const medium = emptyDir?.medium ?? '';
    const pageSizeBytes = isHugePageMedium(medium) ? hugePageSizeBytes(pod, medium) : undefined;
    const isMounted = medium === 'Memory' || pageSizeBytes !== undefined;
    if (medium !== '' && !isMounted) throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
    const folder = podDirectory(this.#options.rootDirectory, pod);
    const readyFile = join(folder, 'plugins', 'kubernetes.io~empty-dir', name, 'ready');
    const isReady = await access(readyFile).then(
      () => true,
      () => false,
    );
    if (isReady && (!isMounted || !this.#options.mounts || (await isMountPoint(path)))) return;
    await makeFolder(path);
    if (pageSizeBytes !== undefined) await this.#onHugePages(path, pageSizeBytes);
    else if (isMounted) await this.#inMemory(pod, path, emptyDir?.sizeLimit);
    await setVolumeOwnership(path, this.#groupOf(pod), false);
    await mkdir(dirname(readyFile), { recursive: true, mode: 0o750 });
    await writeFile(readyFile, '');
  }

  #groupOf(pod: Pod): number | undefined {
    return this.#options.mounts ? fsGroupOf(pod) : undefined;
  }

  async #onHugePages(path: string, pageSizeBytes: number): Promise<void> {
    if (this.#options.mounts && !(await isMountPoint(path))) await mountHugePages(path, pageSizeBytes);
  }

  async #inMemory(pod: Pod, path: string, sizeLimit: string | undefined): Promise<void> {
    if (!this.#options.mounts || (await isMountPoint(path))) return;
    // Like the kubelet's, it keeps the mode of a new tmpfs, 01777.
    await mountTmpfs(path, memoryVolumeSize(pod, sizeLimit, this.#options.allocatable['memory'] ?? '0'));
  }
}

function withoutOwners(payload: VolumePayload): VolumePayload {
  return new Map([...payload].map(([path, { data, mode }]) => [path, { data, mode }]));
}

/** Empty if the folder does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function makeFolder(path: string): Promise<void> {
  if ((await mkdir(path, { recursive: true, mode: 0o777 })) === undefined) return;
  // Sets the mode regardless of the umask.
  await chmod(path, 0o777);
}

/**
 * Sets the group of a volume recursively, and grants it read access, and write access unless the volume is read-only.
 * Source: kubelet `VolumeOwnership.ChangePermissions`.
 */
async function setVolumeOwnership(path: string, gid: number | undefined, isReadOnly: boolean): Promise<void> {
  if (gid === undefined) return;
  const stats = await lstat(path);
  if (stats.isDirectory())
    for (const name of await readdir(path)) await setVolumeOwnership(join(path, name), gid, isReadOnly);
  await lchown(path, stats.uid, gid);
  if (stats.isSymbolicLink()) return;
  const mask = (isReadOnly ? 0o440 : 0o660) | (stats.isDirectory() ? 0o2110 : 0);
  await chmod(path, (stats.mode & 0o7777) | mask);
}
