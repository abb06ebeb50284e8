import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { untilAborted } from '../../shared/abort.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import type { Logger } from '../../shared/logger.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import {
  type CallOptions,
  checkHostPathType,
  collectPayload,
  type EntryName,
  fsGroupOf,
  hasMounts,
  HostDirectory,
  type HostFiles,
  type InPodScope,
  isMountPoint,
  makingUntil,
  mountHugePages,
  mountTmpfs,
  type PayloadSources,
  type PodCallOptions,
  podDirectory,
  podDirectoryNames,
  type PodEventRecorder,
  type PodScope,
  type PodScopes,
  removeAll,
  requireSupportedVolume,
  setUpFailure,
  undefinedIfMissing,
  unmountAll,
  type Volume,
  volumeNames,
  type VolumePayload,
  volumesOf,
  walk,
} from '../../node/index.ts';
import type { PodVolumeStats, VolumeManager } from './volume-manager.ts';
import { writeAtomically } from './atomic-writer.ts';
import { memoryVolumeSize, hugePageSizeBytes, isHugePageMedium } from './memory-size.ts';
import { makeNestedMountPoints, type NestedMountPoints, nestedMountPoints } from './nested-mount-points.ts';
import { VolumeStatCalculator } from './volume-stat-calculator.ts';

/** Source: kubelet `exponentialbackoff`. */
const firstRetryMs = 500;
const maxRetryMs = 122_000;

export interface PodVolumesOptions extends PayloadSources {
  /** Opened by `waitForAttachAndMount`, and closed by `waitForUnmount`. */
  readonly scopes: PodScopes;
  readonly files: HostFiles;
  readonly rootDirectory: string;
  /** False: without root, for processes of this user. */
  readonly mounts: boolean;
  readonly eventRecorder: PodEventRecorder | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The input for setting up a volume, in addition to the volume. */
interface VolumeSetUp extends PodCallOptions {
  readonly nested: NestedMountPoints;
}

interface PodMounting extends InPodScope, CallOptions, Pick<VolumeSetUp, 'nested'> {
  /** The names of the volumes that were set up. */
  readonly ready: Set<string>;
}

/**
 * The volumes of pods in the kubelet's folders: emptyDir, hostPath, configMap, secret, downwardAPI and projected. Each
 * sync of a pod rewrites the volumes whose API objects have changed. Source: kubelet `volumemanager`, `pkg/volume`.
 */
export class PodVolumes implements VolumeManager {
  readonly #options: PodVolumesOptions;
  /** The volumes of a pod that were set up, once its folder has been made. */
  readonly #ready = new WeakMap<PodScope, Set<string>>();
  readonly #stats: VolumeStatCalculator;
  readonly #cleanUpFailures: FailureLog;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    const { files, rootDirectory, clock, logger } = options;
    this.#stats = new VolumeStatCalculator({ files, rootDirectory, clock, logger });
    this.#cleanUpFailures = new FailureLog({ clock, logger, what: 'Removing the folders of orphaned pods' });
  }

  async waitForAttachAndMount(pod: Pod, { signal }: CallOptions): Promise<void> {
    const scope = this.#options.scopes.open(pod);
    const ready = await scope.run('the folder of the pod', { signal, inTurnOn: 'folder' }, (call) =>
      this.#makePodFolder(pod, scope, call.signal),
    );
    const mounting = { ready, nested: nestedMountPoints(pod), signal, scope };
    await Promise.all(volumesOf(pod).map((volume) => this.#mount(pod, volume, mounting)));
  }

  async waitForUnmount(pod: Pod, options: CallOptions): Promise<void> {
    const { scopes, files, rootDirectory } = this.#options;
    await scopes.close(pod, options, async ({ signal }) => {
      await this.#unmountAll(podDirectory(rootDirectory, pod));
      await HostDirectory.useIfPresent(files, rootDirectory, podDirectoryNames(pod), async (folder) => {
        for (const name of ['volume-subpaths', 'volumes', 'plugins']) await removeAll(folder, name, signal);
      });
    });
  }

  /** Failures are logged, and the next call tries again. */
  async cleanupOrphanedPodDirs(
    existingPodUIDs: Pick<ReadonlySet<string>, 'has'>,
    { signal }: CallOptions,
  ): Promise<void> {
    const { scopes, files, rootDirectory, logger } = this.#options;
    const failures: string[] = [];
    await HostDirectory.useIfPresent(files, rootDirectory, ['pods'], async (pods) => {
      for await (const { name } of pods.entries()) {
        const uid = name.toString();
        if (existingPodUIDs.has(uid)) continue;
        signal?.throwIfAborted();
        const path = join(rootDirectory, 'pods', uid);
        try {
          await scopes.close({ metadata: { uid } }, { signal }, async (options) => {
            await this.#unmountAll(path);
            await removeAll(pods, name, options.signal);
          });
          logger.info({ podUID: uid }, 'Removed the folder of an orphaned pod');
        } catch (error) {
          failures.push(`${path}: ${(error as Error).message}`);
        }
      }
    });
    if (failures.length > 0) this.#cleanUpFailures.failed(new Error(failures.join('; ')));
    else this.#cleanUpFailures.succeeded();
  }

  async getPodVolumeStats(pod: ValidPod, { signal }: CallOptions): Promise<PodVolumeStats | undefined> {
    const scope = this.#options.scopes.get(pod);
    return scope && this.#stats.getLatest(pod, scope, signal);
  }

  async #makePodFolder(pod: Pod, scope: PodScope, signal: AbortSignal): Promise<Set<string>> {
    const known = this.#ready.get(scope);
    if (known !== undefined) return known;
    const mode = this.#options.mounts ? 0o750 : 0o700;
    const files = makingUntil(this.#options.files, signal);
    const folder = await HostDirectory.make(files, this.#options.rootDirectory, podDirectoryNames(pod), mode);
    await folder.closedAfter(async () => {
      for (const name of ['volumes', 'plugins']) await (await folder.makeChild(name, mode)).close();
    });
    const ready = new Set<string>();
    this.#ready.set(scope, ready);
    return ready;
  }

  async #unmountAll(folder: string): Promise<void> {
    const { files, mounts } = this.#options;
    if (!mounts) return;
    await unmountAll(files, folder);
    // Mounted files, for example of a host path, must not be removed.
    if (await hasMounts(files, folder)) throw new Error('a volume cannot be unmounted');
  }

  /** Retries until the volume is set up. If an update of an existing volume fails, its old files stay usable. */
  async #mount(pod: Pod, volume: Volume, { ready, nested, signal, scope }: PodMounting): Promise<void> {
    const { clock, eventRecorder, logger } = this.#options;
    const options = { signal, inTurnOn: `volume ${volume.name}` };
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      try {
        await scope.run('MountVolume.SetUp', options, (call) => this.#setUp(pod, volume, { ...call, nested, scope }));
        ready.add(volume.name);
        return;
      } catch (error) {
        signal?.throwIfAborted();
        scope.signal.throwIfAborted();
        const message = setUpFailure(volume, error);
        logger.warn({ ...podFieldsOf(pod), volume: volume.name, reason: message }, 'Failed to set up a volume');
        eventRecorder?.event({ pod, type: 'Warning', reason: 'FailedMount', message });
        if (ready.has(volume.name)) return;
      }
      await scope.run('a pause', { signal }, (call) => sleep(clock, delayMs, call.signal));
    }
  }

  async #setUp(pod: Pod, volume: Volume, { nested, signal, scope }: VolumeSetUp): Promise<void> {
    requireSupportedVolume(volume);
    const files = makingUntil(this.#options.files, signal);
    // The runtime mounts it.
    if (volume.image) return;
    if (volume.hostPath) return checkHostPathType(files, volume.hostPath.path, volume.hostPath.type);
    const names = volumeNames(pod, volume);
    if (volume.emptyDir) return this.#setUpEmptyDir(files, pod, volume, names);
    // Does not wait for a request whose result is no longer needed.
    const collected = await untilAborted(collectPayload(pod, volume, scope, this.#options), signal);
    const payload = this.#options.mounts ? collected : withoutOwners(collected);
    await this.#makeFolder(files, names, async (parent) => {
      // Only ConfigMap volumes are on disk, because the others may contain secrets.
      if (!volume.configMap) await this.#inMemory(files, pod, join(this.#options.rootDirectory, ...names));
      await parent.within([volume.name], async (folder) => {
        await makeNestedMountPoints(nested(volume.name), folder);
        const setOwnership = (): Promise<void> => this.#setOwnership(pod, parent, volume.name, true);
        await writeAtomically(folder, payload, { nowMs: this.#options.clock.now(), setOwnership, signal });
      });
    });
  }

  async #setUpEmptyDir(
    files: HostFiles,
    pod: Pod,
    { name, emptyDir }: Volume,
    names: readonly string[],
  ): Promise<void> {
    const { rootDirectory, mounts } = this.#options;
    const medium = emptyDir?.medium ?? '';
    const pageSizeBytes = isHugePageMedium(medium) ? hugePageSizeBytes(pod, medium) : undefined;
    const isMounted = medium === 'Memory' || pageSizeBytes !== undefined;
    if (medium !== '' && !isMounted) throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
    const path = join(rootDirectory, ...names);
    const plugin = [...podDirectoryNames(pod), 'plugins', 'kubernetes.io~empty-dir', name];
    const readyFile = await HostDirectory.use(files, rootDirectory, plugin, (folder) => folder.stats('ready')).catch(
      undefinedIfMissing,
    );
    if (readyFile !== undefined && (!isMounted || !mounts || (await isMountPoint(files, path)))) return;
    await this.#makeFolder(files, names, async (parent) => {
      if (pageSizeBytes !== undefined) await this.#onHugePages(files, path, pageSizeBytes);
      else if (isMounted) await this.#inMemory(files, pod, path, emptyDir?.sizeLimit);
      await this.#setOwnership(pod, parent, name, false);
    });
    const folder = await HostDirectory.make(files, rootDirectory, plugin, 0o750);
    await folder.closedAfter(() => folder.writeFile('ready', '', 0o640));
  }

  /** Creates the folder of a volume, and calls `work` with its open parent folder. An existing folder keeps its mode. */
  async #makeFolder(
    files: HostFiles,
    names: readonly string[],
    work: (parent: HostDirectory) => Promise<void>,
  ): Promise<void> {
    const parent = await HostDirectory.make(files, this.#options.rootDirectory, names.slice(0, -1), 0o755);
    await parent.closedAfter(async () => {
      await (await parent.makeChild(names.at(-1)!, 0o777)).close();
      await work(parent);
    });
  }

  async #setOwnership(pod: Pod, parent: HostDirectory, name: string, isReadOnly: boolean): Promise<void> {
    const gid = this.#options.mounts ? fsGroupOf(pod) : undefined;
    if (gid !== undefined) await setVolumeOwnership(parent, name, gid, isReadOnly);
  }

  async #onHugePages(files: HostFiles, path: string, pageSizeBytes: number): Promise<void> {
    if (!this.#options.mounts || (await isMountPoint(files, path))) return;
    await mountHugePages(files, path, pageSizeBytes);
  }

  async #inMemory(files: HostFiles, pod: Pod, path: string, sizeLimit?: string): Promise<void> {
    if (!this.#options.mounts || (await isMountPoint(files, path))) return;
    // Like the kubelet's, it keeps the mode of a new tmpfs, 01777.
    await mountTmpfs(files, path, memoryVolumeSize(pod, sizeLimit, this.#options.allocatable['memory'] ?? '0'));
  }
}

function withoutOwners(payload: VolumePayload): VolumePayload {
  return new Map([...payload].map(([path, { data, mode }]) => [path, { data, mode }]));
}

/**
 * Sets the group of a volume recursively, and grants it read access, and write access unless the volume is read-only.
 * Source: kubelet `VolumeOwnership.ChangePermissions`.
 */
async function setVolumeOwnership(
  parent: HostDirectory,
  name: string,
  gid: number,
  isReadOnly: boolean,
): Promise<void> {
  const change = async (folder: HostDirectory, entry: EntryName, stats: BigIntStats): Promise<void> => {
    await folder.chown(entry, -1, gid);
    if (stats.isSymbolicLink()) return;
    const mask = (isReadOnly ? 0o440 : 0o660) | (stats.isDirectory() ? 0o2110 : 0);
    await folder.chmod(entry, (Number(stats.mode) & 0o7777) | mask);
  };
  await change(parent, name, await parent.stats(name));
  await parent.within([name], (volume) => walk(volume, change));
}
