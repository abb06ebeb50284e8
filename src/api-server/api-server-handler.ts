import type { KeyPairKeyObjectResult } from 'node:crypto';
import type { APIServerOptions } from './api-server-options.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { type Entropy, systemEntropy } from '../shared/entropy.ts';
import type { Pod } from '../kube/objects/types.ts';
import { APIStatusError, unknownPath } from './api-status.ts';
import { discoveryDocument, versionInfo } from './discovery/discovery.ts';
import type { ServerRequest, ServerResponse } from './http/exchange.ts';
import { HTTPFaults } from './faults/http-faults.ts';
import type { RequestMatch } from './faults/fault-match.ts';
import { Handlers, type JSONResponse } from './handlers.ts';
import { closeAfterResponse, failure, send } from './http/http-response.ts';
import { impersonated } from './access/impersonation.ts';
import { kubernetesService } from './resources/kubernetes-service.ts';
import { isTrue } from './storage/list.ts';
import { type Mutation, Mutations } from './storage/mutations.ts';
import { addNamespaceObjects } from './resources/namespace-objects.ts';
import { ClusterObjectAccess, NamespacedObjectAccess } from './resources/object-access.ts';
import { openAPIDocument } from './discovery/openapi.ts';
import { PodAccess } from './resources/pod-access.ts';
import { directRequest, Registry } from './registry.ts';
import { parseResourcePath } from './http/request.ts';
import { RequestLog } from './http/request-log.ts';
import { resourceNamed } from './resources/resources.ts';
import { reviewAt } from './access/review-resource.ts';
import { ServiceAccountTokens } from './access/token-issuer.ts';
import { ObjectStore } from './storage/store.ts';
import { Tokens } from './access/tokens.ts';
import { admin, nodeUser, type User } from './access/users.ts';

const httpDate = (epochMs: number): string => new Date(epochMs).toUTCString();
const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const openPaths = new Set(['/healthz', '/livez', '/readyz', '/version']);

/** Options of a handler: the options of `APIServer.start` that need no listener. */
export interface APIServerHandlerOptions extends Omit<APIServerOptions, 'port' | 'tls'> {
  readonly entropy?: Entropy | undefined;
  /** Sign the tokens of ServiceAccounts. Default: new ones. */
  readonly signingKeys?: KeyPairKeyObjectResult | undefined;
  /** Whether a Host header names this server; requests with another are refused. Default: each does. */
  readonly isOwnHost?: ((host: string) => boolean) | undefined;
  /** The CA certificate of the listener, for `kube-root-ca.crt`. Default `''`. */
  readonly certificateAuthority?: string | undefined;
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
 * The API server without its listener: stores the objects and responds to requests. Uses no socket.
 * Source: `apiserver/pkg/server` `APIServerHandler`.
 */
export class APIServerHandler {
  readonly pods: PodAccess;
  readonly nodes: ClusterObjectAccess;
  readonly namespaces: ClusterObjectAccess;
  readonly configMaps: NamespacedObjectAccess;
  readonly secrets: NamespacedObjectAccess;
  readonly serviceAccounts: NamespacedObjectAccess;
  readonly faults: HTTPFaults;
  readonly requests: RequestLog;
  /** The admin's bearer token. */
  readonly token: string;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #latencyMs: number;
  readonly #isOwnHost: (host: string) => boolean;
  readonly #store: ObjectStore;
  readonly #handlers: Handlers;
  readonly #tokens: Tokens;
  readonly #nodeTokens = new Map<string, string>();
  readonly #mutations = new Mutations();

  /** @throws RangeError for an option out of range */
  constructor(options: APIServerHandlerOptions = {}) {
    const { clock = systemClock, entropy = systemEntropy, latencyMs = 0, historyLimit = 10_000 } = options;
    if (!(latencyMs >= 0)) throw new RangeError(`Expected \`latencyMs\` to be a number ≥ 0, got \`${latencyMs}\``);
    if (!(historyLimit >= 1))
      throw new RangeError(`Expected \`historyLimit\` to be a number ≥ 1, got \`${historyLimit}\``);
    this.#clock = clock;
    this.#entropy = entropy;
    this.faults = new HTTPFaults(clock);
    this.#latencyMs = latencyMs;
    this.#isOwnHost = options.isOwnHost ?? (() => true);
    this.requests = new RequestLog(options.onRequest);
    this.#store = new ObjectStore(historyLimit);
    const registry = new Registry(this.#store, clock, this.#mutations, entropy);
    const serviceAccounts = new ServiceAccountTokens(this.#store, clock, entropy, options.signingKeys);
    this.#tokens = new Tokens(serviceAccounts, entropy);
    this.#handlers = new Handlers(this.#store, registry, clock, { tokens: this.#tokens, serviceAccounts });
    this.pods = new PodAccess(this.#store, registry, clock);
    this.nodes = new ClusterObjectAccess('nodes', this.#store, registry);
    this.namespaces = new ClusterObjectAccess('namespaces', this.#store, registry);
    this.configMaps = new NamespacedObjectAccess('configmaps', this.#store, registry);
    this.secrets = new NamespacedObjectAccess('secrets', this.#store, registry);
    this.serviceAccounts = new NamespacedObjectAccess('serviceaccounts', this.#store, registry);
    this.token = this.#tokens.add(admin, options.token);
    for (const node of options.nodeUsers ?? []) {
      this.#nodeTokens.set(node, this.#tokens.add(nodeUser(node)));
    }
    addNamespaceObjects(this.#store, registry, options.certificateAuthority ?? '');
    createNamespaces(registry);
  }

  /** The bearer token of a node's user. @throws RangeError if `nodeUsers` does not contain the node */
  nodeToken(node: string): string {
    const token = this.#nodeTokens.get(node);
    if (token === undefined) throw new RangeError(`Expected \`nodeUsers\` to name ${JSON.stringify(node)}`);
    return token;
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

  /** Forgets all writes so far. */
  compact(): void {
    this.#store.compact();
  }

  /** Ends watches, and abandons the requests in flight. The objects stay, and new requests are served. */
  close(): void {
    this.#handlers.close();
    this.faults.abandonAll();
  }

  /** Creates the Service `kubernetes` unless it exists, as kube-apiserver does before the first request. */
  addKubernetesService(address: string, port: number): void {
    if (this.#store.get('services', 'default', 'kubernetes') !== undefined) return;
    const service = kubernetesService(address, port, this.#clock.now(), this.#entropy.uuid());
    this.#store.put('services', service, { verb: 'create', user: 'system:apiserver' });
  }

  /** Serves a request. Resolves when it has been processed, and when a watch has started. Never rejects. */
  async serve(request: ServerRequest, response: ServerResponse): Promise<void> {
    // From the injected clock, so that a client with the same clock sees no skew.
    response.setHeader('date', httpDate(this.#clock.now()));
    const user = this.#tokens.userOf(request.headers.authorization);
    response.on('close', () => this.requests.add(request, response, user));
    response.on('error', () => {});
    await this.faults.serve(request, response, this.#latencyMs, () => this.#respond(request, response, user));
  }

  async #respond(request: ServerRequest, response: ServerResponse, user: User | undefined): Promise<void> {
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
    request: ServerRequest,
    response: ServerResponse,
    user: User | undefined,
  ): Promise<JSONResponse | undefined> {
    this.#refuseBrowsers(request);
    const url = new URL(request.url ?? '', 'http://localhost');
    const { pathname, searchParams: query } = url;
    const method = request.method ?? '';
    const effective = user === undefined ? undefined : impersonated(user, request.headers, this.#tokens);
    const isOpen = openPaths.has(pathname.replace(/\/$/, ''));
    if (effective === undefined && !isOpen) throw new APIStatusError(401, 'Unauthorized', 'Unauthorized');
    if (method === 'GET') {
      if (pathname === '/healthz' || pathname === '/livez' || pathname === '/readyz') {
        return send(response, 200, 'text/plain; charset=utf-8', 'ok');
      }
      if (pathname === '/version' || pathname === '/version/') return { code: 200, body: versionInfo };
      const discovery = discoveryDocument(pathname.replace(/\/$/, ''), request.headers.accept ?? '');
      if (discovery !== undefined) return send(response, 200, discovery.type, JSON.stringify(discovery.body));
      const openAPI = pathname.startsWith('/openapi/v3') ? openAPIDocument(pathname) : undefined;
      if (openAPI !== undefined) return { code: 200, body: openAPI };
    }
    if (user === undefined || effective === undefined) throw unknownPath();
    const call = { request, response, query, user: effective, authenticated: user };
    const review = method === 'POST' ? reviewAt(pathname) : undefined;
    if (review !== undefined) return this.#handlers.review(review.kind, call);
    const resource = parseResourcePath(method, pathname, isTrue(query.get('watch')));
    if (resource === undefined) throw unknownPath();
    return this.#handlers.handle({ ...call, resource });
  }

  /** Rejects requests of web pages: their scripts can reach a loopback port but cannot set these headers. */
  #refuseBrowsers({ headers }: ServerRequest): void {
    if (headers.origin !== undefined || !this.#isOwnHost(headers.host ?? '')) {
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
