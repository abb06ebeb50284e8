import { createRuntimeHelperOn } from '../../../src/agent/runtime-helper/create-runtime-helper.ts';
import type { APIClientSource } from '../../../src/kube/http/resolve-transport.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { type Volume, volumePath, volumesOf } from '../../../src/node/volumes/volume-sources.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Random } from '../../chaos/random.ts';
import type { Call } from '../network.ts';
import type { FileChange, Inode, SimulatedFiles } from '../simulated-files.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Machine } from './node-runtime.ts';

export const rootDirectory = '/var/lib/kubelet';
const podsDirectory = `${rootDirectory}/pods`;
/** Of a volume that API objects fill. */
const dataName = '..data';
/** What is unmounted with a pod: its volumes, those of one plugin, one volume. */
const unmounted = /^\/var\/lib\/kubelet\/pods\/([^/]+)(\/volumes(?:\/[^/]+)?)?$/;

export type SimulatedHelper = ReturnType<typeof createRuntimeHelperOn>;

interface TokenRequestBody {
  readonly spec: { readonly boundObjectRef: { readonly name: string; readonly uid: string } };
}

interface DeletionBody {
  readonly preconditions?: { readonly uid?: string };
}

/** When the volumes of a pod were unmounted, and by which agent. */
interface Unmounted {
  readonly process: string;
  readonly atMs: number;
}

/** The folders of pods on a machine, which outlive the agents, with the volumes that the library has set up in them. */
export class SimulatedVolumes {
  readonly files: SimulatedFiles;
  /** By pod UID. */
  readonly unmounted = new Map<string, Unmounted>();
  /** The pods whose folder of volumes was made by a file call that the agent had given up. */
  readonly #madeLate = new Set<string>();
  /** By process and pod UID: when the last set-up was given up. */
  readonly #givenUpMs = new Map<string, number>();
  readonly #machine: Machine;
  readonly #random: Random;
  /** Whether volumes are mounted, as by root. */
  readonly #mounts: boolean;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#random = machine.world.random.fork('volumes');
    this.#mounts = this.#random.chance(0.7);
    this.files = machine.files;
    for (const folder of [rootDirectory, '/proc', '/etc', '/mnt']) this.files.makeFolder(folder);
    this.files.write('/etc/hosts', '127.0.0.1 localhost\n');
    this.files.write('/etc/resolv.conf', 'nameserver 10.0.0.2\nsearch example.org\n');
    this.files.onChange = (change) => this.#check(change);
  }

  /** The pods that have a folder, by UID. */
  get folders(): string[] {
    return [...(this.files.find(podsDirectory)?.entries.keys() ?? [])];
  }

  /** What is missing of the volumes of a pod whose container is created; undefined if nothing is. */
  missing(pod: Pod): string | undefined {
    const { uid = '' } = pod.metadata ?? {};
    if (this.files.find(`${podsDirectory}/${uid}/volumes`) === undefined) return 'its folder';
    return volumesOf(pod).find((volume) => !this.#isSetUp(pod, volume))?.name;
  }

  /** What provides the pods of an agent with volumes, environments and names. */
  helperFor(
    process: SimulatedProcess,
    { client, logger }: { readonly client: APIClientSource; readonly logger: Logger },
  ): SimulatedHelper {
    const random = this.#random.fork(process.name);
    return createRuntimeHelperOn(
      { files: this.files.for(process), random: () => random.next() },
      {
        ...{ client, rootDirectory, mounts: this.#mounts, clock: process.clock, logger },
        ...{ clusterDNS: ['10.96.0.10'], hostIPs: ['10.1.2.3'], allocatable: { cpu: '4', memory: '16Gi' } },
      },
    );
  }

  /** A set-up that was given up makes nothing in a volume any more. */
  async watchSetUp(
    process: string,
    { metadata }: Pod,
    signal: AbortSignal | undefined,
    setUp: () => Promise<void>,
  ): Promise<void> {
    const key = `${process} ${metadata?.uid ?? ''}`;
    const onAbort = (): void => void this.#givenUpMs.set(key, this.#machine.world.nowMs);
    this.#givenUpMs.delete(key);
    signal?.addEventListener('abort', onAbort);
    try {
      await setUp();
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** No agent requests a token for a pod whose volumes it has unmounted. */
  checkTokens(calls: readonly Call[]): { readonly invariant: string; readonly details: string }[] {
    return calls
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/token'))
      .map(({ process, sentMs, body }) => {
        const { name, uid } = (body as TokenRequestBody).spec.boundObjectRef;
        const ended = this.unmounted.get(uid);
        const isLate = ended?.process === process.name && ended.atMs < sentMs;
        return isLate ? `${process.name}: ${name} ${uid} at ${sentMs} ms, unmounted at ${ended.atMs} ms` : undefined;
      })
      .filter((details) => details !== undefined)
      .map((details) => ({ invariant: 'no token is requested after the end of its pod', details }));
  }

  /** The object of a pod is deleted when its volumes are unmounted; what a file call makes later is removed with the orphans. */
  checkDeletions(calls: readonly Call[]): { readonly invariant: string; readonly details: string }[] {
    return calls.flatMap(({ process, method, path, body, sentMs }) => {
      const { uid = '' } = (body as DeletionBody | undefined)?.preconditions ?? {};
      const { atMs = sentMs } = this.unmounted.get(uid) ?? {};
      if (method !== 'DELETE' || atMs <= sentMs || this.#madeLate.has(uid)) return [];
      const details = `${process.name}: ${path} ${uid} at ${sentMs} ms, unmounted at ${atMs} ms`;
      return [{ invariant: 'a pod is deleted when its volumes are unmounted', details }];
    });
  }

  #isSetUp(pod: Pod, volume: Volume): boolean {
    if (volume.hostPath !== undefined || volume.image !== undefined) return true;
    const folder = this.files.find(volumePath(rootDirectory, pod, volume));
    return folder !== undefined && (volume.emptyDir !== undefined || hasData(folder));
  }

  #check({ process, what, folder, name, inode, begunMs }: FileChange): void {
    const { world, runs } = this.#machine;
    const path = this.files.pathOf(folder);
    const uid = path.startsWith(`${podsDirectory}/`) ? path.split('/')[5] : undefined;
    if (uid === undefined) return;
    const where = `${path}/${name}`;
    if (what === 'added') {
      const ended = this.unmounted.get(uid);
      // Nobody can take back a file call that the kernel has begun, however slow it is.
      if (ended?.process === process && ended.atMs <= begunMs && !isOfRemoval(name))
        world.violate('no effect for a pod after its end', `${process}: ${where}, unmounted at ${ended.atMs} ms`);
      const givenUpMs = this.#givenUpMs.get(`${process} ${uid}`);
      if (givenUpMs !== undefined && begunMs <= givenUpMs && where === `${podsDirectory}/${uid}/volumes`)
        this.#madeLate.add(uid);
      if (givenUpMs !== undefined && begunMs > givenUpMs && path.includes('/volumes/') && !isOfRemoval(name))
        world.violate('no effect of a set-up that was given up', `${process}: ${where}, given up at ${givenUpMs} ms`);
      if (isOfWriter(name)) this.#checkOneSetUp(process, folder, inode, where);
      return;
    }
    const running = runs.running(uid);
    const [, , volumes] = unmounted.exec(path) ?? [];
    const isUnmounted = unmounted.test(path) && (volumes !== undefined || name === 'volumes');
    if (isUnmounted && running.length > 0)
      world.violate('volumes are unmounted after the containers have ended', `${where}: ${running[0]!.identity.id}`);
    if (path === `${podsDirectory}/${uid}` && name === 'volumes')
      this.unmounted.set(uid, { process, atMs: world.nowMs });
    if (running.length > 0 && folder.entries.has(dataName) && !hasData(folder))
      world.violate('the files of a volume do not go while a container may read them', where);
  }

  /** An agent writes new files of a volume one after the other: what it has begun, it ends. */
  #checkOneSetUp(process: string, folder: Inode, added: Inode, where: string): void {
    const current = folder.entries.get(dataName)?.target;
    for (const [name, inode] of folder.entries) {
      if (!isOfWriter(name) || inode === added || name === current || inode.madeBy !== process) continue;
      // What could not be removed stays.
      if (this.files.hasFailed) continue;
      this.#machine.world.violate('one set-up of a volume at a time', `${where} beside ${name}`);
    }
  }
}

/** The names that `removeAll` gives to what it removes. */
function isOfRemoval(name: string): boolean {
  return /^[0-9a-f]{8}-/.test(name);
}

/** The names that the writer of a volume gives to folders with all of its files: `..2026_01_02_03_04_05.0123456789`. */
function isOfWriter(name: string): boolean {
  return name.startsWith('..2');
}

function hasData(folder: Inode): boolean {
  const target = folder.entries.get(dataName)?.target;
  return target !== undefined && folder.entries.has(target);
}

/** The Secrets and ConfigMaps of a cluster, which users create late, change and remove. */
export const objectNames = ['objects-0', 'objects-1', 'objects-2'] as const;

/** Volumes of a pod, with their mounts in each container. */
export function makeVolumes(random: Random): { readonly volumes: object[]; readonly volumeMounts: object[] } {
  const name = random.pick(objectNames);
  const optional = random.chance(0.3);
  const kinds: Record<string, object> = {
    secret: { secret: { secretName: name, ...(optional && { optional }) } },
    config: { configMap: { name, ...(random.chance(0.3) && { items: [{ key: 'a', path: 'deep/a', mode: 0o400 }] }) } },
    projected: {
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token', expirationSeconds: 600, audience: 'vault' } },
          { configMap: { name, optional: true } },
          { secret: { name, optional: true } },
          { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
      },
    },
    downward: {
      downwardAPI: {
        items: [
          { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
          { path: 'cpu', resourceFieldRef: { containerName: 'c0', resource: 'limits.cpu' } },
        ],
      },
    },
    disk: { emptyDir: {} },
    memory: { emptyDir: { medium: 'Memory', ...(random.chance(0.5) && { sizeLimit: '1Mi' }) } },
    host: {
      hostPath: { path: `/mnt/${name}`, type: random.pick(['DirectoryOrCreate', 'FileOrCreate', 'Directory', '']) },
    },
  };
  const chosen = Object.entries(kinds).filter(() => random.chance(0.25));
  return {
    volumes: chosen.map(([kind, source]) => ({ name: kind, ...source })),
    volumeMounts: chosen.map(([kind]) => ({
      name: kind,
      mountPath: `/volumes/${kind}`,
      ...(['disk', 'memory'].includes(kind) && random.chance(0.4) && { subPath: 'a/b' }),
      ...(kind === 'config' && random.chance(0.3) && { subPath: 'a' }),
    })),
  };
}
