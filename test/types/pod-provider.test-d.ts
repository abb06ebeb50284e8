/** Compiles, or a provider cannot name each type of `PodProvider` where it finds `PodProvider`. Nothing here runs. */
import type { Duplex } from 'node:stream';
import {
  type ContainerIO,
  type ContainerLogOptions,
  type ContainerMaterials,
  createVirtualNodes,
  type PodMaterials,
  type PodProvider,
  type PodStats,
  type ProviderCallOptions,
  type ProviderCapabilities,
  type ProviderContainer,
  ProviderError,
  type ProviderPod,
  type ProviderPodOptions,
  type ProviderPodReference,
  type RegistryCredentials,
  type ValidPod,
  type VirtualNodes,
  type VolumeFile,
} from 'kubelet-status-manager/virtual-nodes';

declare const cloud: {
  run(pod: ValidPod, env: ContainerMaterials[], files: VolumeFile[], secrets: readonly RegistryCredentials[]): void;
  pods(): ProviderPod[];
  stats(): PodStats[];
  containers(pod: ProviderPodReference): ProviderContainer[];
};

class Provider implements Required<PodProvider> {
  readonly capabilities: ProviderCapabilities = { probes: 'provider', volumes: ['emptyDir'] };

  async createPod(pod: ValidPod, { materials }: ProviderPodOptions): Promise<void> {
    const { containers, volumes, pullSecrets }: PodMaterials = await materials();
    cloud.run(pod, [...containers.values()], [...volumes.values()].flat(), pullSecrets);
  }

  async updatePod(pod: ValidPod, previous: ValidPod | undefined, { podHash }: ProviderPodOptions): Promise<void> {
    throw new ProviderError(`${pod.metadata.name} ${previous?.metadata.uid} ${podHash}`, { retryAfterMs: 1000 });
  }

  async deletePod(pod: ProviderPodReference, options: ProviderCallOptions & { gracePeriodSeconds: number }) {
    options.signal.throwIfAborted();
    throw new ProviderError(`${pod.name} ${options.epoch} ${options.gracePeriodSeconds}`, { permanent: true });
  }

  async killContainer(
    pod: ProviderPodReference,
    containerName: string,
    options: ProviderCallOptions & { readonly restartCount: number; readonly gracePeriodSeconds: number },
  ): Promise<void> {
    throw new ProviderError(`${pod.name} ${containerName} ${options.restartCount} ${options.gracePeriodSeconds}`);
  }

  async getPod(pod: ProviderPodReference, _options: ProviderCallOptions): Promise<ProviderPod | undefined> {
    return { ...pod, state: 'running', containers: cloud.containers(pod) };
  }

  async listPods({ signal }: { readonly signal: AbortSignal }): Promise<readonly ProviderPod[]> {
    signal.throwIfAborted();
    return cloud.pods();
  }

  notifyPods(listener: (pod: ProviderPod) => void, onGap: () => void): () => void {
    cloud.pods().forEach(listener);
    return onGap;
  }

  async logs(
    _pod: ProviderPodReference,
    _containerName: string,
    log: ContainerLogOptions & { readonly previous: boolean },
    _options: ProviderCallOptions,
  ): Promise<AsyncIterable<Uint8Array>> {
    return (async function* lines() {
      yield Buffer.from(`${log.follow} ${log.tailLines} ${log.previous}`);
    })();
  }

  async exec(
    _pod: ProviderPodReference,
    _containerName: string,
    command: readonly string[],
    { stdout }: ContainerIO,
    _options: ProviderCallOptions,
  ): Promise<number> {
    stdout?.end(command.join(' '));
    return 0;
  }

  async attach(_pod: ProviderPodReference, _containerName: string, { stdin, stdout }: ContainerIO): Promise<void> {
    if (stdout !== undefined) stdin?.pipe(stdout);
  }

  async portForward(_pod: ProviderPodReference, _port: number, stream: Duplex): Promise<void> {
    stream.end();
  }

  async stats(_options: { readonly signal: AbortSignal }): Promise<readonly PodStats[]> {
    return cloud.stats();
  }
}

export const nodes: VirtualNodes = createVirtualNodes({ client: {}, provider: new Provider() });
