/** How to run a credential plugin. Source: client.authentication.k8s.io `ExecConfig`. */
export interface ExecConfig {
  readonly apiVersion?: string | undefined;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly installHint?: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode?: string | undefined;
}

/** The current cluster entry of either form of a kubeconfig; file names are absolute. */
export interface KubeCluster {
  readonly server: string;
  /** Base64 of PEM; takes precedence over the file. */
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string | undefined;
  readonly disableCompression: boolean;
  /** The cluster's configuration for exec plugins: the extension `client.authentication.k8s.io/exec`. */
  readonly execExtension?: unknown;
}

/** The current user entry of either form of a kubeconfig; file names are absolute. */
export interface KubeUser {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The user comes from a `KubeConfig` of client-node, which drops fields that it does not know. */
  readonly isOfClientNode?: boolean | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly certData?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyData?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly exec?: ExecConfig | undefined;
  readonly impersonate?: Impersonation | undefined;
  /** Asks client-node's own authenticator (gcp, azure, oidc, custom ones). */
  readonly delegate?: (() => Promise<DelegatedCredentials>) | undefined;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface DelegatedCredentials {
  readonly authorization?: string | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/** The subset of client-node's `Cluster` that is read. */
export type ClientNodeCluster = Pick<KubeCluster, 'server' | 'caData' | 'caFile' | 'tlsServerName' | 'proxyUrl'> &
  Partial<Pick<KubeCluster, 'skipTLSVerify'>>;

/** The subset of client-node's `User` that is read. */
export interface ClientNodeUser extends Pick<
  KubeUser,
  'token' | 'username' | 'password' | 'certData' | 'certFile' | 'keyData' | 'keyFile'
> {
  readonly exec?: unknown;
  readonly authProvider?: unknown;
  readonly impersonateUser?: string | undefined;
}

/** The subset of `KubeConfig` of `@kubernetes/client-node` (1.x or 2.x) that is used. */
export interface ClientNodeKubeConfig {
  /** The cluster of the current context. */
  getCurrentCluster(): ClientNodeCluster | null;
  /** The user of the current context. */
  getCurrentUser(): ClientNodeUser | null;
  /** Adds the credentials to request options. */
  applyToHTTPSOptions?(options: object): Promise<void>;
}

/** A kubeconfig as parsed from its YAML or JSON. */
export interface KubeConfigObject {
  readonly clusters?: readonly { readonly name: string; readonly cluster: object }[] | null | undefined;
  readonly users?: readonly { readonly name: string; readonly user?: object | null | undefined }[] | null | undefined;
  readonly contexts?: readonly { readonly name: string; readonly context: object }[] | null | undefined;
  readonly 'current-context'?: string | undefined;
}

/** The API server and the user: a `KubeConfig` of client-node, or a kubeconfig as a plain object. */
export type KubeConfigSource = ClientNodeKubeConfig | KubeConfigObject;

/** Reads cluster and user at each call, so that changes to the configuration take effect. */
export interface ResolvedKubeConfig {
  cluster(): KubeCluster;
  user(): KubeUser;
}
