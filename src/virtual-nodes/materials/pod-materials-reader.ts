import {
  APIObjects,
  collectPayload,
  expandContainerCommandAndArgs,
  type FileProjection,
  makeEnvironmentVariables,
  type PodScope,
  readPullSecrets,
  requireSupportedVolume,
  ServiceLister,
  type ServiceListerOptions,
  setUpFailure,
  volumesOf,
} from '../../node/index.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { containersOf } from '../../kube/pods/pod-containers.ts';
import { untilAborted } from '../../shared/abort.ts';
import { ProviderError } from '../pod-provider.ts';
import type { ContainerMaterials, PodMaterials, VolumeFile } from './pod-materials.ts';

/** Much more than a pod needs, and little enough for a process that runs the pods of many nodes. */
const maxBytes = 64 * 1024 * 1024;
/** What is missing may be there soon. Source: kubelet `backOffPeriod`. */
const retryAfterMs = 10_000;

export interface PodMaterialsReaderOptions extends ServiceListerOptions {
  /** For everything but the watch of Services. */
  readonly requests: APIRequests;
}

/** The facts about its node that a pod's materials may contain. */
export interface NodeFieldValues {
  /** Addresses, primary first. */
  readonly hostIPs: readonly string[];
  /** Allocatable resources, for `resourceFieldRef`. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/**
 * Reads what pods need from the API server, as the agent does: ConfigMaps and Secrets by GET, at most a second old, or their
 * last version while it does not respond. Tokens are reused for 80 % of their lifetime. All nodes of a process share one
 * reader. With the first pod, it begins to watch the Services of the cluster.
 */
export class PodMaterialsReader {
  readonly #objects: APIObjects;
  readonly #services: ServiceLister;
  readonly #closed = new AbortController();

  constructor(options: PodMaterialsReaderOptions) {
    this.#objects = new APIObjects(options.requests, options.clock, this.#closed.signal);
    this.#services = new ServiceLister(options);
  }

  /**
   * The materials of a pod that has no address yet. Its volumes are read one after the other, so that a large pod is refused
   * before it needs much memory. Rejects when the pod has ended; its tokens are then forgotten.
   *
   * @throws ProviderError with the kubelet's reason and message: `FailedMount`, `CreateContainerConfigError`, `ErrImagePull`
   */
  async read(pod: ValidPod, node: NodeFieldValues, scope: PodScope): Promise<PodMaterials> {
    scope.signal.throwIfAborted();
    return untilAborted(this.#read(pod, node, scope), scope.signal);
  }

  /** Resolves when no request and no timer of the watch is left. Idempotent. */
  close(): Promise<void> {
    this.#closed.abort(new Error('the virtual nodes are being stopped'));
    return this.#services.close();
  }

  async #read(pod: ValidPod, node: NodeFieldValues, scope: PodScope): Promise<PodMaterials> {
    const limit = new ByteLimit();
    const volumes = await this.#readVolumes(pod, node, limit, scope);
    const containers = await this.#readContainers(pod, node, limit);
    const { entries, missingSecrets } = await readPullSecrets(pod, this.#objects).catch((cause) =>
      refuse('ErrImagePull', cause),
    );
    const pullSecrets = entries.map(({ address, credentials: { username = '', password = '' } }) => {
      return { registry: address, username, password };
    });
    return { containers, volumes, pullSecrets, missingPullSecrets: missingSecrets };
  }

  async #readVolumes(
    pod: ValidPod,
    { allocatable }: NodeFieldValues,
    limit: ByteLimit,
    scope: PodScope,
  ): Promise<ReadonlyMap<string, readonly VolumeFile[]>> {
    const files = new Map<string, readonly VolumeFile[]>();
    for (const volume of volumesOf(pod)) {
      if ((volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected) === undefined) continue;
      const sources = { objects: this.#objects, allocatable, countBytes: (bytes: number) => limit.count(bytes) };
      try {
        requireSupportedVolume(volume);
        const payload = await collectPayload(pod, volume, scope, sources);
        const toFile = ([path, { data, mode, uid }]: readonly [string, FileProjection]) => {
          return { path, content: data, mode, uid };
        };
        files.set(volume.name, [...payload].map(toFile));
      } catch (cause) {
        refuse('FailedMount', cause, setUpFailure(volume, cause));
      }
    }
    return files;
  }

  async #readContainers(
    pod: ValidPod,
    node: NodeFieldValues,
    limit: ByteLimit,
  ): Promise<ReadonlyMap<string, ContainerMaterials>> {
    const { objects, services } = { objects: this.#objects, services: this.#services };
    const sources = { ...node, objects, services, podIPs: [], volume: () => undefined };
    const materials = new Map<string, ContainerMaterials>();
    for (const container of containersOf(pod.spec)) {
      try {
        const env = await makeEnvironmentVariables(pod, container, sources);
        const commandAndArgs = expandContainerCommandAndArgs(container, env);
        for (const { name, value } of env) limit.count(name.length + value.length);
        for (const text of [...commandAndArgs.command, ...commandAndArgs.args]) limit.count(text.length);
        materials.set(container.name, { ...commandAndArgs, env });
      } catch (cause) {
        refuse('CreateContainerConfigError', cause);
      }
    }
    return materials;
  }
}

/** Counts the materials of one pod. */
class ByteLimit {
  #bytes = 0;

  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > maxBytes) throw new Error(`the pod's volumes and environment have more than ${maxBytes} bytes`);
  }
}

function refuse(reason: string, cause: unknown, message = (cause as Error).message): never {
  throw new ProviderError(message, { reason, cause, retryAfterMs });
}
