import type { APIServerOptions } from './api-server-options.ts';
import type { Pod } from '../kube/objects/types.ts';
import { APIServerHandler, type HistoryEntry } from './api-server-handler.ts';
import type { Faults } from './faults/faults.ts';
import type { RequestMatch } from './faults/fault-match.ts';
import { loopback, LoopbackListener } from './http/loopback-listener.ts';
import type { Mutation } from './storage/mutations.ts';
import type { ClusterObjectAccess, NamespacedObjectAccess } from './resources/object-access.ts';
import type { PodAccess } from './resources/pod-access.ts';
import type { RequestRecord } from './http/request-log.ts';
import type { InFlight } from './http/requests-in-flight.ts';

/**
 * An API server in memory that behaves as kube-apiserver v1.37 does for pods, nodes, leases,
 * events, bindings, namespaces, ConfigMaps, Secrets and ServiceAccounts with their tokens: for client-node, for kubectl, and for a node's own user.
 * Listens on 127.0.0.1 only, requires a bearer token and a loopback Host, and rejects requests with
 * an Origin. Schedules, garbage-collects and runs nothing.
 *
 * Unsupported requests return 501 or 415 with a hint. Divergence: no managedFields, no server-side
 * apply, no YAML or protobuf; a request without a token gets 401 instead of being anonymous; some
 * error texts differ. docs/testing.md lists the differences, which a test verifies.
 *
 * @example
 * ```ts
 * import { createPodClient } from 'kubelet-status-manager/http';
 * import { APIServer } from 'kubelet-status-manager/testing';
 *
 * await using server = await APIServer.start();
 * server.pods.create({ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } });
 * const client = createPodClient(server.kubeconfig());
 * // … after the test:
 * console.log(server.pods.get('default', 'web')?.status);
 * ```
 */
export class APIServer implements AsyncDisposable {
  /** Reads and writes pods without HTTP, as the admin. */
  readonly pods: PodAccess;
  /** The same for Nodes. Initially empty, even with `nodeUsers`. */
  readonly nodes: ClusterObjectAccess;
  /** The same for Namespaces. Initially `default` and those that begin with `kube-`. */
  readonly namespaces: ClusterObjectAccess;
  /** Reads and writes ConfigMaps as `pods` does pods. Each namespace has `kube-root-ca.crt`. */
  readonly configMaps: NamespacedObjectAccess;
  /** The same for Secrets. */
  readonly secrets: NamespacedObjectAccess;
  /** The same for ServiceAccounts. Each namespace has `default`. */
  readonly serviceAccounts: NamespacedObjectAccess;
  /** Fault injection for HTTP requests. */
  readonly faults: Faults;
  /** The certificate to trust, PEM; `''` without TLS. */
  readonly certificateAuthority: string;
  readonly #handler: APIServerHandler;
  readonly #listener: LoopbackListener;
  /** Defined while it listens in node:test. */
  #unclosed: UnclosedWarning | undefined;
  #closed: Promise<void> | undefined;

  /** Resolves when the server listens. @throws RangeError for an option out of range; Error with code EADDRINUSE and others, as node:http does */
  static async start(options: APIServerOptions = {}): Promise<APIServer> {
    const server = new APIServer(options);
    await server.#listen(options.port);
    return server;
  }

  private constructor(options: APIServerOptions) {
    this.#listener = new LoopbackListener(options.tls !== false, (request, response) => {
      this.#unclosed?.postpone();
      void this.#handler.serve(request, response);
    });
    this.certificateAuthority = this.#listener.certificateAuthority;
    this.#handler = new APIServerHandler({
      ...options,
      certificateAuthority: this.certificateAuthority,
      isOwnHost: (host) => this.#listener.isOwnHost(host),
    });
    this.faults = this.#handler.faults.plan;
    this.pods = this.#handler.pods;
    this.nodes = this.#handler.nodes;
    this.namespaces = this.#handler.namespaces;
    this.configMaps = this.#handler.configMaps;
    this.secrets = this.#handler.secrets;
    this.serviceAccounts = this.#handler.serviceAccounts;
  }

  /** `https://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    return this.#listener.url;
  }

  /** The admin's bearer token. Not shown by `util.inspect`. */
  get token(): string {
    return this.#handler.token;
  }

  /** The last 1,000 requests, oldest first. */
  get requests(): readonly RequestRecord[] {
    return this.#handler.requests.newest;
  }

  /** Requests and watches that are being served now. */
  get inFlight(): InFlight {
    return this.#handler.faults.inFlight.counts;
  }

  /** Bytes received and sent so far, over all connections. */
  get bytesTransferred(): number {
    return this.#listener.bytesTransferred;
  }

  /** The bearer token of a node's user. @throws RangeError if `nodeUsers` does not contain the node */
  nodeToken(node: string): string {
    return this.#handler.nodeToken(node);
  }

  /**
   * A kubeconfig for the admin or a node's user, for `createPodClient`; client-node loads it with
   * `loadFromString(server.kubeconfigYaml())`. It contains the token: do not log it.
   */
  kubeconfig(node?: string): object {
    const name = 'api-server';
    const tls =
      this.certificateAuthority === ''
        ? { 'insecure-skip-tls-verify': true }
        : { 'certificate-authority-data': Buffer.from(this.certificateAuthority).toString('base64') };
    const token = node === undefined ? this.token : this.nodeToken(node);
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: this.url, ...tls } }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
      'current-context': name,
    };
  }

  /** The same as JSON text, which is valid YAML. Write it to a file with mode 0600. */
  kubeconfigYaml(node?: string): string {
    return `${JSON.stringify(this.kubeconfig(node), null, 2)}\n`;
  }

  /**
   * The recorded writes to one object, oldest first: by UID, or by `namespace/name` for all pods that
   * have had this name. Pass the type for objects other than pods.
   */
  history<T extends object = Pod>(object: string): HistoryEntry<T>[] {
    return this.#handler.history(object);
  }

  /**
   * Modifies the objects of matching creates, updates and patches before they are stored, as a mutating
   * webhook does, with and without HTTP. The result is validated.
   * @returns removes the hook
   * @throws RangeError for a match that no request can satisfy
   */
  mutate<T extends object = Pod>(match: RequestMatch, mutation: Mutation<T>): () => void {
    return this.#handler.mutate(match, mutation);
  }

  /** Forgets all writes so far, as etcd's compaction does: a watch from an older resourceVersion gets 410. */
  compact(): void {
    this.#handler.compact();
  }

  /** Ends the server as a crash would: watches and connections are cut, and it no longer listens. Its objects stay. */
  kill(): Promise<void> {
    this.#unclosed?.stop();
    this.#handler.close();
    return this.#listener.close();
  }

  /** Starts a killed server again on its port. Earlier writes are forgotten, as after a restart of the watch cache. */
  async startAgain(): Promise<void> {
    this.#handler.compact();
    await this.#listen();
  }

  /** Ends watches and connections and stops listening. Idempotent; leaves no socket and no timer. */
  close(): Promise<void> {
    this.#closed ??= this.kill();
    return this.#closed;
  }

  /** `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #listen(port?: number): Promise<void> {
    await this.#listener.listen(port);
    this.#unclosed = UnclosedWarning.start(this.url);
    this.#handler.addKubernetesService(loopback, this.#listener.port);
  }
}

const idleMs = 30_000;

/**
 * Says what to do when a run of `node --test` does not end: node:test waits for the end of the event loop without a word,
 * and a listening server keeps it from ending. Other runners say so or end.
 */
class UnclosedWarning {
  readonly #timer: NodeJS.Timeout;

  /** Undefined outside of node:test. */
  static start(url: string): UnclosedWarning | undefined {
    return process.env['NODE_TEST_CONTEXT'] === undefined ? undefined : new UnclosedWarning(url);
  }

  private constructor(url: string) {
    const message =
      `${url} has had no request for ${idleMs / 1000} s. If the tests are over, the process waits for it: call \`close()\` ` +
      'of each APIServer, and `stop()` of each manager and agent';
    this.#timer = setTimeout(() => process.emitWarning(message, { type: 'APIServerWarning' }), idleMs).unref();
  }

  /** The server was used now. */
  postpone(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
