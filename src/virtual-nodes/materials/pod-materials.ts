import type { EnvironmentVariable } from '../../node/index.ts';

/** A file of a volume. */
export interface VolumeFile {
  /** Relative to the mount point, with `/`; never outside of it. */
  readonly path: string;
  readonly content: Uint8Array;
  /** Permissions: `0o644`. */
  readonly mode: number;
  /** The UID of its owner: for a token, the user of the containers. Default: any user. */
  readonly uid?: number | undefined;
}

/** The credentials of a registry, from an image pull secret. */
export interface RegistryCredentials {
  /** As in the secret: `registry.example`, `https://index.docker.io/v1/`. */
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** What a container is started with. */
export interface ContainerMaterials {
  /** Its `command` with `$(NAME)` expanded; empty: the command of the image. */
  readonly command: readonly string[];
  /** Its `args`, expanded likewise; empty: those of the image. */
  readonly args: readonly string[];
  /** Each name once: `envFrom`, then `env`, then the variables of Services. */
  readonly env: readonly EnvironmentVariable[];
}

/** What the pod needs from the API server. Contains secrets. */
export interface PodMaterials {
  /** By name: all containers and init containers. */
  readonly containers: ReadonlyMap<string, ContainerMaterials>;
  /** By name of the volume: the files of configMap, secret, downwardAPI and projected volumes, tokens included. */
  readonly volumes: ReadonlyMap<string, readonly VolumeFile[]>;
  /** From the pod's imagePullSecrets, in their order. */
  readonly pullSecrets: readonly RegistryCredentials[];
  /** The names of imagePullSecrets that could not be read: the image may be public. */
  readonly missingPullSecrets: readonly string[];
}
