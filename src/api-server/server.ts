import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Faults } from './faults/faults.ts';
import { HTTPFaults } from './faults/http-faults.ts';
import type { RequestMatch } from './faults/fault-match.ts';
import { type Mutation, Mutations } from './mutations.ts';
import type { InFlight } from './requests-in-flight.ts';
import { reviewResources } from './review-resource.ts';
import type { Pod } from '../kube/types.ts';
import { APIStatusError, unknownPath } from './api-status.ts';
import { ClusterObjectAccess } from './cluster-object-access.ts';
import { discoveryDocument, version } from './discovery.ts';
import { Handlers, type JSONResponse } from './handlers.ts';
import { impersonated } from './impersonation.ts';
import { isTrue } from './list.ts';
import { closeAfterResponse, failure, send } from './http-response.ts';
import { loopback, LoopbackListener } from './loopback-listener.ts';
import { openAPIDocument } from './openapi.ts';
import { addNamespaceObjects } from './namespace-objects.ts';
import { NamespacedObjectAccess } from './namespaced-object-access.ts';
import { PodAccess } from './pod-access.ts';
import { directRequest, Registry } from './registry.ts';
import { parseResourcePath, type RecordedMessage } from './request.ts';
import { RequestLog, type RequestRecord } from './request-log.ts';
import { resourceNamed } from './resources.ts';
import { kubernetesService } from './kubernetes-service.ts';
import { ObjectStore } from './store.ts';
import { UnclosedWarning } from './unclosed-warning.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { Tokens } from './tokens.ts';
import { admin, nodeUser, type User } from './users.ts';

const httpDate = (epochMs: number): string => new Date(epochMs).toUTCString();
const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const openPaths = new Set(['/healthz', '/livez', '/readyz', '/version']);

/** Options of `APIServer.start`. */
export interface APIServerOptions {
  /** For timestamps, ages, watch timeouts, bookmarks and `latencyMs`. Default: the real clock. */
  readonly clock?: Clock | undefined;
  /** The port on 127.0.0.1. Default 0: a free port. */
  readonly port?: number | undefined;
  /** The admin's bearer token. Default: a random one. */
  readonly token?: string | undefined;
  /** Names of Nodes that get a user with the permissions of a kubelet; see `nodeToken`. */
  readonly nodeUsers?: readonly string[] | undefined;
  /** Serves HTTPS with a self-signed certificate; kubectl sends tokens over HTTPS only. Default true. */
  readonly tls?: boolean | undefined;
  /** Delay of each response in milliseconds. Default 0. */
  readonly latencyMs?: number | undefined;
  /** Minimum number of writes that are kept for watches and `history`. Default 10,000; Infinity keeps all. */
  readonly historyLimit?: number | undefined;
  /** Called once per request, when its response is complete. If it throws, a process warning is emitted. */
  readonly onRequest?: ((request: RequestRecord) => void) | undefined;
}

/** One write to an object. */
export interface HistoryEntry<T extends object = Pod> {
  readonly resourceVersion: string;
  /** create, update, patch, delete or bind; a graceful deletion consists of several writes. */
  readonly verb: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly user: string;
  /** The object after the write; for a deletion its last state. */
  readonly object: T;
}

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
  readonly #clock: Clock;
  readonly #latencyMs: number;
  readonly #requests: RequestLog;
  readonly #store: ObjectStore;
  readonly #handlers: Handlers;
  readonly #tokens: Tokens;
  readonly #adminToken: string;
  readonly #nodeTokens = new Map<string, string>();
  readonly #listener: LoopbackListener;
  readonly #faults: HTTPFaults;
  readonly #mutations = new Mutations();
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
    const { clock = systemClock, latencyMs = 0, historyLimit = 10_000 } = options;
    if (!(latencyMs >= 0)) throw new RangeError(`Expected \`latencyMs\` to be a number ≥ 0, got \`${latencyMs}\``);
    if (!(historyLimit >= 1))
      throw new RangeError(`Expected \`historyLimit\` to be a number ≥ 1, got \`${historyLimit}\``);
    this.#clock = clock;
    this.#faults = new HTTPFaults(clock);
    this.faults = this.#faults.plan;
    this.#latencyMs = latencyMs;
    this.#requests = new RequestLog(options.onRequest);
    this.#store = new ObjectStore(historyLimit);
    const registry = new Registry(this.#store, this.#clock, this.#mutations);
    const serviceAccounts = new ServiceAccountTokens(this.#store, clock);
    this.#tokens = new Tokens(serviceAccounts);
    this.#handlers = new Handlers(this.#store, registry, clock, { tokens: this.#tokens, serviceAccounts });
    this.pods = new PodAccess(this.#store, registry, clock);
    this.nodes = new ClusterObjectAccess('nodes', this.#store, registry);
    this.namespaces = new ClusterObjectAccess('namespaces', this.#store, registry);
    this.configMaps = new NamespacedObjectAccess('configmaps', this.#store, registry);
    this.secrets = new NamespacedObjectAccess('secrets', this.#store, registry);
    this.serviceAccounts = new NamespacedObjectAccess('serviceaccounts', this.#store, registry);
    this.#adminToken = this.#tokens.add(admin, options.token);
    for (const node of options.nodeUsers ?? []) {
      this.#nodeTokens.set(node, this.#tokens.add(nodeUser(node)));
    }
    this.#listener = new LoopbackListener(options.tls !== false, (request, response) => {
      // From the injected clock, so that a client with the same clock sees no skew.
      response.setHeader('date', httpDate(this.#clock.now()));
      void this.#serve(request, response);
    });
    this.certificateAuthority = this.#listener.certificateAuthority;
    addNamespaceObjects(this.#store, registry, this.certificateAuthority);
    createNamespaces(registry);
  }

  /** `https://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    return this.#listener.url;
  }

  /** The admin's bearer token. Not shown by `util.inspect`. */
  get token(): string {
    return this.#adminToken;
  }

  /** The last 1,000 requests, oldest first. */
  get requests(): readonly RequestRecord[] {
    return this.#requests.newest;
  }

  /** Requests and watches that are being served now. */
  get inFlight(): InFlight {
    return this.#faults.inFlight.counts;
  }

  /** Bytes received and sent so far, over all connections. */
  get bytesTransferred(): number {
    return this.#listener.bytesTransferred;
  }

  /** The bearer token of a node's user. @throws RangeError if `nodeUsers` does not contain the node */
  nodeToken(node: string): string {
    const token = this.#nodeTokens.get(node);
    if (token === undefined) throw new RangeError(`Expected \`nodeUsers\` to name ${JSON.stringify(node)}`);
    return token;
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
    return this.#store
      .writesSince(0)
      .filter((write) => {
        const { uid, namespace, name } = write.object.metadata;
        return uid === object || (write.resource === 'pods' && `${namespace ?? ''}/${name}` === object);
      })
      .map(({ revision, verb, type, user, object }) => ({
        resourceVersion: String(revision),
        verb,
        type,
        user,
        object: object as object as T,
      }));
  }

  /**
   * Modifies the objects of matching creates, updates and patches before they are stored, as a mutating
   * webhook does, with and without HTTP. The result is validated.
   * @returns removes the hook
   * @throws RangeError for a match that no request can satisfy
   */
  mutate<T extends object = Pod>(match: RequestMatch, mutation: Mutation<T>): () => void {
    return this.#mutations.add(match, mutation as unknown as Mutation<object>);
  }

  /** Forgets all writes so far, as etcd's compaction does: a watch from an older resourceVersion gets 410. */
  compact(): void {
    this.#store.compact();
  }

  /** Ends the server as a crash would: watches and connections are cut, and it no longer listens. Its objects stay. */
  kill(): Promise<void> {
    this.#unclosed?.stop();
    this.#handlers.close();
    this.#faults.abandonAll();
    return this.#listener.close();
  }

  /** Starts a killed server again on its port. Earlier writes are forgotten, as after a restart of the watch cache. */
  async startAgain(): Promise<void> {
    this.#store.compact();
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
    // As in kube-apiserver, it exists before the first request.
    if (this.#store.get('services', 'default', 'kubernetes') !== undefined) return;
    const service = kubernetesService(loopback, this.#listener.port, this.#clock.now());
    this.#store.put('services', service, { verb: 'create', user: 'system:apiserver' });
  }

  async #serve(request: RecordedMessage, response: ServerResponse): Promise<void> {
    this.#unclosed?.postpone();
    const user = this.#tokens.userOf(request.headers.authorization);
    response.on('close', () => this.#requests.add(request, response, user));
    response.on('error', () => {});
    await this.#faults.serve(request, response, this.#latencyMs, () => this.#respond(request, response, user));
  }

  async #respond(request: IncomingMessage, response: ServerResponse, user: User | undefined): Promise<void> {
    let outcome: JSONResponse | undefined;
    try {
      outcome = await this.#route(request, response, user);
    } catch (error) {
      outcome = failure(error);
    }
    if (outcome === undefined) return;
    if (!request.complete && outcome.code === 413) closeAfterResponse(request, response);
    send(response, outcome.code, 'application/json', `${JSON.stringify(outcome.body)}\n`);
    // Drains the unread body of a rejected request, so that the next request on the connection can be parsed.
    if (!request.complete) request.resume();
  }

  /** The response; undefined if it was already written or is a stream. */
  async #route(
    request: IncomingMessage,
    response: ServerResponse,
    user: User | undefined,
  ): Promise<JSONResponse | undefined> {
    this.#refuseBrowsers(request);
    const url = new URL(request.url ?? '', this.url);
    const { pathname, searchParams: query } = url;
    const method = request.method ?? '';
    const effective = user === undefined ? undefined : impersonated(user, request.headers, this.#tokens);
    const isOpen = openPaths.has(pathname.replace(/\/$/, ''));
    if (effective === undefined && !isOpen) throw new APIStatusError(401, 'Unauthorized', 'Unauthorized');
    if (method === 'GET') {
      if (pathname === '/healthz' || pathname === '/livez' || pathname === '/readyz') {
        return send(response, 200, 'text/plain; charset=utf-8', 'ok');
      }
      if (pathname === '/version' || pathname === '/version/') return { code: 200, body: version };
      const discovery = discoveryDocument(pathname.replace(/\/$/, ''), request.headers.accept ?? '');
      if (discovery !== undefined) return send(response, 200, discovery.type, JSON.stringify(discovery.body));
      const openAPI = pathname.startsWith('/openapi/v3') ? openAPIDocument(pathname) : undefined;
      if (openAPI !== undefined) return { code: 200, body: openAPI };
    }
    if (user === undefined || effective === undefined) throw unknownPath();
    const call = { request, response, query, user: effective, authenticated: user };
    const review = reviewResources.find(({ path }) => method === 'POST' && path === pathname);
    if (review !== undefined) return this.#handlers.review(review.kind, call);
    const resource = parseResourcePath(method, pathname, isTrue(query.get('watch')));
    if (resource === undefined) throw unknownPath();
    return this.#handlers.handle({ ...call, resource });
  }

  /** Rejects requests of web pages: their scripts can reach a loopback port but cannot set these headers. */
  #refuseBrowsers({ headers }: IncomingMessage): void {
    if (headers.origin !== undefined || !this.#listener.isOwnHost(headers.host ?? '')) {
      throw new APIStatusError(403, 'Forbidden', 'only requests to a loopback Host without an Origin are served');
    }
  }
}

function createNamespaces(registry: Registry): void {
  const definition = resourceNamed('', 'v1', 'namespaces')!;
  const request = directRequest('create', 'system:apiserver');
  for (const name of namespaces) {
    registry.create({ definition, namespace: '', name, subresource: '' }, { metadata: { name } }, request);
  }
}
