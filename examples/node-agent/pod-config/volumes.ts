import { type Dirent, existsSync, statSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Clock, Logger, Pod } from 'kubelet-status-manager';
import type { VolumeManager } from 'kubelet-status-manager/agent';
import type { NodeDirectory } from '../process-runtime/node-directory.ts';
import type { ConfigData, ConfigObjectKind, ConfigObjects } from './config-objects.ts';
import { fieldValue, type NodeFacts } from './field-ref.ts';
import { type VolumeFile, writeVolumeFiles } from './volume-files.ts';

interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

interface ConfigSource {
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

interface DownwardAPIFile {
  readonly path: string;
  readonly fieldRef?: { readonly fieldPath: string };
  readonly mode?: number;
}

interface VolumeSource {
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly configMap?: ConfigSource & { readonly name?: string };
  readonly secret?: ConfigSource & { readonly secretName?: string };
  readonly downwardAPI?: { readonly items?: readonly DownwardAPIFile[]; readonly defaultMode?: number };
}

interface Volume extends VolumeSource {
  readonly name: string;
}

/** The interval at which volumes follow changes of their ConfigMaps and Secrets. */
const refreshMs = 60_000;
const defaultMode = 0o600;
/** Only the user of the agent runs containers, so other users get no permissions. */
const ownerBits = 0o700;

export interface VolumesOptions {
  readonly directory: NodeDirectory;
  readonly configObjects: ConfigObjects;
  readonly node: NodeFacts;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Prepares the volumes of pods: each becomes a directory, or a symbolic link, in the directory of the
 * pod. emptyDir, hostPath, configMap, secret and downwardAPI are supported. ConfigMaps and Secrets are
 * read again after a minute, as long as the pod is synced.
 */
export class Volumes implements VolumeManager {
  readonly #options: VolumesOptions;
  /** When they were last prepared or refreshed, by pod UID. */
  readonly #preparedAtMs = new Map<string, number>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  async waitForAttachAndMount(pod: Pod): Promise<void> {
    const { clock, logger, directory } = this.#options;
    const uid = pod.metadata?.uid ?? '';
    const preparedAtMs = this.#preparedAtMs.get(uid);
    if (preparedAtMs !== undefined && clock.monotonicMs() - preparedAtMs < refreshMs) return;
    await mkdir(directory.volumes(uid), { recursive: true, mode: 0o700 });
    for (const volume of (pod.spec?.volumes ?? []) as readonly Volume[]) {
      const isThere = existsSync(directory.volume(uid, volume.name));
      try {
        await this.#setUp(pod, volume, directory.volume(uid, volume.name));
      } catch (error) {
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${(error as Error).message}`;
        if (!isThere) throw new Error(message, { cause: error });
        logger.warn(
          { podUID: uid, volume: volume.name, reason: message },
          'Failed to refresh a volume; keeping its files',
        );
      }
    }
    this.#preparedAtMs.set(uid, clock.monotonicMs());
  }

  /** Removes the contents of the volumes, except those of a hostPath. */
  async waitForUnmount(pod: Pod): Promise<void> {
    const uid = pod.metadata?.uid ?? '';
    this.#preparedAtMs.delete(uid);
    await rm(this.#options.directory.volumes(uid), { recursive: true, force: true });
  }

  async emptyDirUsage(pod: Pod): Promise<ReadonlyMap<string, number>> {
    const uid = pod.metadata?.uid ?? '';
    const volumes = ((pod.spec?.volumes ?? []) as readonly Volume[]).filter(({ emptyDir }) => emptyDir != null);
    const usages = volumes.map(async ({ name }): Promise<[string, number]> => {
      return [name, await bytesIn(this.#options.directory.volume(uid, name))];
    });
    return new Map(await Promise.all(usages));
  }

  async #setUp(pod: Pod, volume: Volume, path: string): Promise<void> {
    const { emptyDir, hostPath, configMap, secret, downwardAPI } = volume;
    if (emptyDir != null) await mkdir(path, { recursive: true, mode: 0o700 });
    else if (hostPath != null) await this.#setUpHostPath(hostPath, path);
    else if (configMap != null) {
      await writeVolumeFiles(path, await this.#configFiles(pod, 'configmap', configMap.name ?? '', configMap));
    } else if (secret != null) {
      await writeVolumeFiles(path, await this.#configFiles(pod, 'secret', secret.secretName ?? '', secret));
    } else if (downwardAPI != null) {
      const files = (downwardAPI.items ?? []).map(
        ({ path, fieldRef, mode = downwardAPI.defaultMode ?? defaultMode }) => {
          if (fieldRef == null) throw new Error('this agent does not support resourceFieldRef');
          const data = Buffer.from(fieldValue(pod, fieldRef.fieldPath, this.#options.node));
          return [pathInVolume(path), { data, mode: mode & ownerBits }] as const;
        },
      );
      await writeVolumeFiles(path, new Map(files));
    } else {
      const type = Object.keys(volume).find((member) => member !== 'name') ?? 'a volume without a type';
      throw new Error(`this agent does not support ${type}`);
    }
  }

  /** Source: kubelet `hostPathTypeChecker`. */
  async #setUpHostPath(
    { path: target, type = '' }: NonNullable<VolumeSource['hostPath']>,
    link: string,
  ): Promise<void> {
    if (type === 'DirectoryOrCreate') await mkdir(target, { recursive: true });
    if (type === 'FileOrCreate') await writeFile(target, '', { flag: 'a' });
    const stats = statSync(target, { throwIfNoEntry: false });
    if (type.startsWith('Directory') && stats?.isDirectory() !== true) {
      throw new Error(`hostPath type check failed: ${target} is not a directory`);
    }
    if (type.startsWith('File') && stats?.isFile() !== true) {
      throw new Error(`hostPath type check failed: ${target} is not a file`);
    }
    if (!existsSync(link)) {
      await rm(link, { force: true });
      await symlink(target, link);
    }
  }

  async #configFiles(
    { metadata }: Pod,
    kind: ConfigObjectKind,
    name: string,
    { items, optional = false, defaultMode: mode = defaultMode }: ConfigSource,
  ): Promise<Map<string, VolumeFile>> {
    const data = await this.#options.configObjects.read(kind, metadata?.namespace ?? '', name);
    if (data === undefined && !optional) throw new Error(`${kind} "${name}" not found`);
    const content: ConfigData = data ?? new Map();
    const paths = items ?? [...content.keys()].map((key) => ({ key, path: key, mode: undefined }));
    const files = new Map<string, VolumeFile>();
    for (const item of paths) {
      const value = content.get(item.key);
      if (value !== undefined)
        files.set(pathInVolume(item.path), { data: value, mode: (item.mode ?? mode) & ownerBits });
      else if (!optional) throw new Error(`references non-existent config key: ${item.key}`);
    }
    return files;
  }
}

/** The API server refuses paths that lead out of a volume, but a static pod does not come from there. */
function pathInVolume(path: string): string {
  const normal = posix.normalize(path);
  if (normal.startsWith('..') || normal.startsWith('/')) throw new Error('a path must not lead out of its volume');
  return normal;
}

/** The total size of all files; a file that is removed in the meantime counts as empty. */
async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  const sizes = entries.map(async (entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return bytesIn(path);
    return (await lstat(path).catch(() => undefined))?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
