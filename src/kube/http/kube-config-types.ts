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

/** The cluster entry in use, whichever form it came in; file names are absolute. */
export interface KubeCluster {
  readonly server: string;
  /** Base64 of PEM; wins over the file. */
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify: boolean;
  readonly proxyUrl?: string | undefined;
  readonly disableCompression: boolean;
  /** What the cluster entry has for exec plugins, under the extension `client.authentication.k8s.io/exec`. */
  readonly execExtension?: unknown;
}

/** The user entry in use, whichever form it came in; file names are absolute. */
export interface KubeUser {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
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

/** What is read of client-node's `Cluster`. */
export type ClientNodeCluster = Pick<KubeCluster, 'server' | 'caData' | 'caFile' | 'tlsServerName' | 'proxyUrl'> &
  Partial<Pick<KubeCluster, 'skipTLSVerify'>>;

/** What is read of client-node's `User`. */
export interface ClientNodeUser extends Pick<
  KubeUser,
  'token' | 'username' | 'password' | 'certData' | 'certFile' | 'keyData' | 'keyFile'
> {
  readonly exec?: unknown;
  readonly authProvider?: unknown;
  readonly impersonateUser?: string | undefined;
}

/** A `KubeConfig` of `@kubernetes/client-node`, 1.x or 2.x, by what is used of it. */
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

/** Which API server to talk to, and as whom: a `KubeConfig` of client-node, or a kubeconfig as a plain object. */
export type KubeConfigSource = ClientNodeKubeConfig | KubeConfigObject;

/** Reads cluster and user at each call, so that changes to the configuration take effect. */
export interface ResolvedKubeConfig {
  cluster(): KubeCluster;
  user(): KubeUser;
}
