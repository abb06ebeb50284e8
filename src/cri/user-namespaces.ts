import { constants } from 'node:fs';
import { join } from 'node:path';
import { codeOf, type HostFiles, makingUntil, requireName, undefinedIfMissing } from '../node/index.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { makeDirectories } from '../shared/make-directories.ts';
import { OneAtATime } from '../shared/one-at-a-time.ts';
import type { CRIRequest } from './cri-messages.ts';
import { idCount, type IDRange, idsPerPod } from './id-range.ts';

const mappingsFile = 'userns';
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;

/** As the kubelet writes it. Source: kubelet `userNamespace`. */
interface UserNamespaceFile {
  readonly uidMappings: readonly FileMapping[];
  readonly gidMappings: readonly FileMapping[];
}

interface FileMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/**
 * The user namespaces of pods with `hostUsers: false`: 65,536 IDs of the machine for each pod, which no other pod has. They
 * are kept in the pod's folder, where the kubelet keeps them, so a restarted agent knows them. Source: kubelet
 * `UsernsManager`.
 */
export class UserNamespaces {
  readonly #files: HostFiles;
  readonly #rootDirectory: string;
  readonly #range: IDRange;
  /** No two pods get the same IDs. */
  readonly #lock = new OneAtATime();
  /** The first ID of each pod. */
  readonly #usedBy = new Map<string, number>();
  /** Those of failed writes that may be in a file nevertheless: an agent does not start with two pods of the same IDs. */
  readonly #inDoubt = new Set<number>();

  private constructor(files: HostFiles, rootDirectory: string, range: IDRange) {
    this.#files = files;
    this.#rootDirectory = rootDirectory;
    this.#range = range;
  }

  /**
   * Reads the namespaces of the pods of earlier agents. Rejects for a range that is not a multiple of a pod's, or contains
   * the IDs of the machine's users, and for a pod whose file is invalid: its IDs could be given to another pod.
   */
  static async load(files: HostFiles, rootDirectory: string, range: IDRange): Promise<UserNamespaces> {
    const { firstID, length } = range;
    if (firstID % idsPerPod !== 0 || length % idsPerPod !== 0 || firstID < idsPerPod || firstID + length > idCount)
      throw new Error(
        `The subordinate IDs ${firstID}:${length} of the user kubelet must start at a multiple of ${idsPerPod} that is not 0, and have a multiple of ${idsPerPod} IDs`,
      );
    const namespaces = new UserNamespaces(files, rootDirectory, range);
    const folders = await files.opendir(join(rootDirectory, 'pods')).catch(undefinedIfMissing);
    for await (const { name } of folders ?? []) await namespaces.#recorded(name.toString());
    return namespaces;
  }

  /**
   * The namespace of a pod whose sandbox is being created; the same until it is released. Allocates nothing when the signal
   * is aborted. Source: kubelet `GetOrCreateUserNamespaceMappings`.
   */
  async getOrCreate({ metadata }: ValidPod, signal: AbortSignal | undefined): Promise<CRIRequest<'UserNamespace'>> {
    return namespaceFrom(await this.#lock.run(signal, () => this.#idsOf(metadata.uid, signal)));
  }

  /** The namespace of a pod that has a sandbox. Rejects for a pod that was released or was never given one. */
  async get({ metadata }: ValidPod): Promise<CRIRequest<'UserNamespace'>> {
    const hostId = await this.#lock.run(undefined, () => this.#recorded(metadata.uid));
    if (hostId === undefined) throw new Error(`the pod ${metadata.uid} has no user namespace`);
    return namespaceFrom(hostId);
  }

  /** The pod has ended: another pod may get its IDs. */
  release(podUID: string): Promise<void> {
    return this.#lock.run(undefined, async () => {
      if (!this.#usedBy.has(podUID)) return;
      await this.#files.unlink(this.#fileOf(podUID)).catch(undefinedIfNoFile);
      this.#usedBy.delete(podUID);
    });
  }

  /** Source: kubelet `CleanupOrphanedPodUsernsAllocations`. */
  async releaseOrphans(shouldPodContentBeRemoved: (podUID: string) => boolean): Promise<void> {
    for (const podUID of this.#usedBy.keys()) if (shouldPodContentBeRemoved(podUID)) await this.release(podUID);
  }

  async #idsOf(podUID: string, signal: AbortSignal | undefined): Promise<number> {
    const recorded = await this.#recorded(podUID);
    if (recorded !== undefined) return recorded;
    signal?.throwIfAborted();
    const hostId = this.#freeID();
    this.#inDoubt.add(hostId);
    try {
      await this.#write(makingUntil(this.#files, signal), podUID, hostId);
    } catch (error) {
      await this.#files
        .unlink(this.#fileOf(podUID))
        .catch(undefinedIfNoFile)
        .then(
          () => this.#inDoubt.delete(hostId),
          () => {},
        );
      throw error;
    }
    this.#inDoubt.delete(hostId);
    this.#usedBy.set(podUID, hostId);
    return hostId;
  }

  #freeID(): number {
    const used = new Set([...this.#usedBy.values(), ...this.#inDoubt]);
    const { firstID, length } = this.#range;
    for (let id = firstID; id < firstID + length; id += idsPerPod) if (!used.has(id)) return id;
    throw new Error('create user namespace: could not find an empty slot to allocate a user namespace');
  }

  /** The first ID of a pod; undefined if it has none. */
  async #recorded(podUID: string): Promise<number | undefined> {
    const known = this.#usedBy.get(podUID);
    if (known !== undefined) return known;
    const text = await this.#files.readFile(this.#fileOf(podUID)).catch(undefinedIfNoFile);
    if (!text) return undefined;
    const hostId = parseMappings(text);
    const { firstID, length } = this.#range;
    const isInRange = hostId >= firstID && hostId < firstID + length && hostId % idsPerPod === 0;
    if (!isInRange) throw new Error(`user namespace of pod ${podUID}: id ${hostId} is out of range`);
    if ([...this.#usedBy.values()].includes(hostId))
      throw new Error(`user namespace: range picked for pod ${JSON.stringify(podUID)} already taken`);
    this.#usedBy.set(podUID, hostId);
    return hostId;
  }

  /** Resolves when the file is durable. */
  async #write(files: HostFiles, podUID: string, hostId: number): Promise<void> {
    const mappings = [{ hostId, containerId: 0, length: idsPerPod }];
    const content: UserNamespaceFile = { uidMappings: mappings, gidMappings: mappings };
    const path = this.#fileOf(podUID);
    const folder = join(path, '..');
    await makeDirectories(folder, 0o750, files);
    const temporary = `${path}.new`;
    const file = await files.open(temporary, newFile, 0o600);
    try {
      await file.writeFile(JSON.stringify(content));
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(temporary, path);
    const directory = await files.open(folder, constants.O_RDONLY);
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  #fileOf(podUID: string): string {
    return join(this.#rootDirectory, 'pods', requireName(podUID), mappingsFile);
  }
}

/** @throws Error for other errors */
function undefinedIfNoFile(error: unknown): undefined {
  if (codeOf(error) !== 'ENOTDIR') undefinedIfMissing(error);
}

function namespaceFrom(hostId: number): CRIRequest<'UserNamespace'> {
  const ids = [{ host_id: hostId, container_id: 0, length: idsPerPod }];
  return { mode: 'POD', uids: ids, gids: ids };
}

/** Source: kubelet `parseUserNsFileAndRecord`. */
function parseMappings(text: string): number {
  const { uidMappings: uids = [], gidMappings: gids = [] } = JSON.parse(text) as Partial<UserNamespaceFile>;
  const [uid, gid] = [uids[0], gids[0]];
  const isOurs =
    uids.length === 1 &&
    gids.length === 1 &&
    uid!.containerId === 0 &&
    uid!.length === idsPerPod &&
    (['hostId', 'containerId', 'length'] as const).every((field) => uid![field] === gid![field]);
  if (!isOurs) throw new Error(`invalid user namespace configuration: ${JSON.stringify(text.slice(0, 200))}`);
  return uid!.hostId;
}
