import type { PodDNS, PodPullCredentials, RunContainerOptions } from './run-container-options.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../kube/objects/types.ts';

/**
 * Data from other components of the agent that know the API server, the volumes and the machine. Source: kubelet
 * `kubecontainer.RuntimeHelper`.
 */
export interface RuntimeHelper {
  /**
   * Command, environment and mounts of a container that is about to be created. Creates nothing for a pod whose volumes are
   * not mounted. @throws ContainerConfigError
   */
  generateRunContainerOptions(
    pod: ValidPod,
    container: Container | EphemeralContainer,
    podIPs: readonly string[],
    options?: {
      /** That of the container's configuration. */
      readonly imageVolumes?: ReadonlyMap<string, string> | undefined;
      /** Of the runtime. Default: false; a mount with `recursiveReadOnly: Enabled` is then refused. */
      readonly supportsRecursiveReadOnly?: boolean | undefined;
      /** Aborted when the container is no longer wanted: then nothing is mounted for it. Default: never. */
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<RunContainerOptions>;
  /** The resolver configuration of the pod, by its dnsPolicy and dnsConfig. */
  getPodDNS(pod: ValidPod): Promise<PodDNS>;
  /**
   * The hostname of a pod with a network of its own; at most 64 characters. Throws when the name that `setHostnameAsFQDN`
   * asks for is longer.
   */
  generatePodHostName(pod: ValidPod): string;
  /** The handler of a RuntimeClass. */
  lookupRuntimeHandler(runtimeClassName: string): Promise<string>;
  /** The credentials for an image. */
  pullCredentials(pod: ValidPod, image: string): Promise<PodPullCredentials>;
}
