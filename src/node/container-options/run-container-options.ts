import type { ImagePullSecret } from '../runtime/container-runtime.ts';

/** A host path that is mounted into a container. Source: kubelet `kubecontainer.Mount`. */
export interface ContainerMount {
  readonly containerPath: string;
  /** Empty for an image. */
  readonly hostPath: string;
  /** The image that is mounted: its reference, the name in the spec, and the path below its root. */
  readonly image?:
    | { readonly imageRef: string; readonly userSpecifiedImage: string; readonly subPath: string }
    | undefined;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: boolean | undefined;
  /** Where SELinux is enabled, what is at the host path gets the label of the container. */
  readonly seLinuxRelabel?: boolean | undefined;
  /** Default: private. */
  readonly propagation?:
    | 'PROPAGATION_PRIVATE'
    | 'PROPAGATION_HOST_TO_CONTAINER'
    | 'PROPAGATION_BIDIRECTIONAL'
    | undefined;
}

/** Settings of a container that its spec does not contain as such. Source: kubelet `kubecontainer.RunContainerOptions`. */
export interface RunContainerOptions {
  /** The container's `command` with its `$(NAME)` expanded; empty: that of the image. */
  readonly command: readonly string[];
  /** The same of its `args`. */
  readonly args: readonly string[];
  readonly envs: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly ContainerMount[];
}

/** An environment variable of a container, with its value. */
export type EnvironmentVariable = RunContainerOptions['envs'][number];

/** Source: CRI `DNSConfig`. */
export interface PodDNS {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/**
 * What the registry is sent; an address of the registry would keep the runtime from using it for that of a mirror. Source:
 * kubelet `credentialprovider.TrackedAuthConfig`.
 */
export interface PullCredentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Where they come from; undefined if every pod of the node has them. */
  readonly secret?: ImagePullSecret | undefined;
}

/** What the imagePullSecrets of a pod give for an image. */
export interface PodPullCredentials {
  /** Tried in this order; none: the image is pulled without. */
  readonly credentials: readonly PullCredentials[];
  /** The names of imagePullSecrets that could not be read. */
  readonly missingSecrets: readonly string[];
}
