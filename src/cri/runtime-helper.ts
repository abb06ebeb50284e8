import type { Container, EphemeralContainer, Pod } from '../kube/types.ts';

/** A file or folder of the machine in a container. Source: kubelet `kubecontainer.Mount`. */
export interface ContainerMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: boolean | undefined;
  /** Default: private. */
  readonly propagation?:
    | 'PROPAGATION_PRIVATE'
    | 'PROPAGATION_HOST_TO_CONTAINER'
    | 'PROPAGATION_BIDIRECTIONAL'
    | undefined;
}

/** What a container gets besides its spec. Source: kubelet `kubecontainer.RunContainerOptions`. */
export interface RunContainerOptions {
  readonly envs: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly ContainerMount[];
}

/** Source: CRI `DNSConfig`. */
export interface PodDNS {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Source: CRI `AuthConfig`. */
export interface PullCredentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly serverAddress?: string | undefined;
  readonly identityToken?: string | undefined;
}

/**
 * What the runtime needs of the rest of an agent, which knows the API server, the volumes and the machine.
 * Source: kubelet `kubecontainer.RuntimeHelper`.
 */
export interface RuntimeHelper {
  /** Environment and mounts of a container that is about to be created. @throws ContainerConfigError */
  generateRunContainerOptions(
    pod: Pod,
    container: Container | EphemeralContainer,
    podIPs: readonly string[],
  ): Promise<RunContainerOptions>;
  /** The resolver configuration of the pod, by its dnsPolicy and dnsConfig. */
  getPodDNS(pod: Pod): Promise<PodDNS>;
  /** The hostname of a pod with a network of its own; at most 63 characters. */
  generatePodHostName(pod: Pod): string;
  /** The handler of a RuntimeClass. */
  lookupRuntimeHandler(runtimeClassName: string): Promise<string>;
  /** Credentials for an image, tried in this order; none: the image is pulled without. */
  pullCredentials(pod: Pod, image: string): Promise<readonly PullCredentials[]>;
}
