/** A file of a volume. */
export interface VolumeFile {
  /** Relative to the mount point, with `/`. */
  readonly path: string;
  readonly content: Uint8Array;
  /** Permissions: `0o644`. */
  readonly mode: number;
}

/** The credentials of a registry, from an image pull secret. */
export interface RegistryCredentials {
  /** As in the secret: `registry.example`, `https://index.docker.io/v1/`. */
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** What the pod needs from the API server. Contains secrets. */
export interface PodMaterials {
  /** By name of the container: the variables of `env` and `envFrom`, resolved in order. */
  readonly environments: ReadonlyMap<string, readonly { readonly name: string; readonly value: string }[]>;
  /** By name of the volume: the files of configMap, secret, downwardAPI and projected volumes, tokens included. */
  readonly volumes: ReadonlyMap<string, readonly VolumeFile[]>;
  readonly pullSecrets: readonly RegistryCredentials[];
}
