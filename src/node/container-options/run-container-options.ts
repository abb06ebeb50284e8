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
  /** Where SELinux is enabled, the host path gets the label of the container. */
  readonly seLinuxRelabel?: boolean | undefined;
  /** Default: private. */
  readonly propagation?:
    | 'PROPAGATION_PRIVATE'
    | 'PROPAGATION_HOST_TO_CONTAINER'
    | 'PROPAGATION_BIDIRECTIONAL'
    | undefined;
}

/** Settings of a container that its spec does not contain literally. Source: kubelet `kubecontainer.RunContainerOptions`. */
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
 * What is sent to the registry. It has no address, so that the runtime can also use it for a mirror. Source: kubelet
 * `credentialprovider.TrackedAuthConfig`.
 */
export interface PullCredentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** The Secret that contains them; undefined if every pod of the node may use them. */
  readonly secret?: ImagePullSecret | undefined;
}

/** The credentials of a pod's imagePullSecrets for an image. */
export interface PodPullCredentials {
  /** Tried in this order; if empty, the image is pulled without credentials. */
  readonly credentials: readonly PullCredentials[];
  /** The names of imagePullSecrets that could not be read. */
  readonly missingSecrets: readonly string[];
}
