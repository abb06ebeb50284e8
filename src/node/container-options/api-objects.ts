import { setMaxListeners } from 'node:events';
import { LRUCache } from '../../shared/lru-cache.ts';
import type { KubeObject } from '../../kube/objects/kube-object.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import { pathSegment } from '../../kube/http/api-path.ts';
import type { Clock } from '../../shared/clock.ts';
import { boundedCall } from '../../shared/deadline.ts';
import { isResponse } from '../registration/node-client.ts';
import type { ObjectReader } from './api-object-reader.ts';
import { TokenManager } from './token-manager.ts';

/**
 * Long enough that a pod's volumes and containers get the same version, and pods that start together share a request.
 */
const maxAgeMs = 1000;
const maxObjects = 1000;
const requestTimeoutMs = 10_000;

interface CachedObject {
  readonly atMs: number;
  readonly object: Promise<unknown>;
}

/**
 * ConfigMaps, Secrets and RuntimeClasses from the API server, at most a second old. While the API server does
 * not respond, the versions that were last read are used, so that a restarting container still gets its environment.
 *
 * Divergence: the kubelet watches each ConfigMap and Secret of its pods, and all RuntimeClasses.
 */
export class APIObjects implements ObjectReader {
  readonly #requests: APIRequests;
  readonly #clock: Clock;
  readonly #tokens: TokenManager;
  /** By path. */
  readonly #objects = new LRUCache<CachedObject>(maxObjects);

  /** @param stopSignal of the owner: aborts all requests, and rejects new ones */
  constructor(requests: APIRequests, clock: Clock, stopSignal: AbortSignal) {
    // No listener limit: many pods start at once.
    setMaxListeners(0, stopSignal);
    this.#requests = bounded(requests, clock, stopSignal);
    this.#clock = clock;
    this.#tokens = new TokenManager(this.#requests, clock);
  }

  async getConfigMap(namespace: string, name: string): Promise<KubeObject<'ConfigMap'> | undefined> {
    return (await this.#read(
      `${namespacePath(namespace)}/configmaps/${pathSegment(name, 'name')}`,
    )) as KubeObject<'ConfigMap'>;
  }

  async getSecret(namespace: string, name: string): Promise<KubeObject<'Secret'> | undefined> {
    return (await this.#read(
      `${namespacePath(namespace)}/secrets/${pathSegment(name, 'name')}`,
    )) as KubeObject<'Secret'>;
  }

  getServiceAccountToken(...request: Parameters<TokenManager['get']>): Promise<string> {
    return this.#tokens.get(...request);
  }

  /** The handler of a RuntimeClass. Source: kubelet `runtimeclass.Manager.LookupRuntimeHandler`. */
  async lookupRuntimeHandler(name: string): Promise<string> {
    const path = `/apis/node.k8s.io/v1/runtimeclasses/${pathSegment(name, 'runtimeClassName')}`;
    const runtimeClass = (await this.#read(path)) as { readonly handler?: string } | undefined;
    if (runtimeClass === undefined)
      throw new Error(`failed to get RuntimeClass ${name}: runtimeclass.node.k8s.io ${JSON.stringify(name)} not found`);
    return runtimeClass.handler ?? '';
  }

  /** Undefined if it does not exist. */
  async #read(path: string): Promise<unknown> {
    const cached = this.#objects.get(path);
    if (cached !== undefined && this.#clock.monotonicMs() - cached.atMs < maxAgeMs) return cached.object;
    // A later read falls back to an earlier one in progress, which falls back to what was read before.
    const object: Promise<unknown> = this.#get(path).catch((error: unknown) => {
      const isNewest = this.#objects.get(path)?.object === object;
      if (isNewest) this.#objects.delete(path);
      if (cached === undefined || isResponse(error, 403)) throw error;
      if (isNewest) this.#remember(path, cached.object);
      return cached.object;
    });
    this.#remember(path, object);
    return object;
  }

  async #get(path: string): Promise<unknown> {
    try {
      return (await this.#requests.request('GET', path)).json();
    } catch (error) {
      if (isResponse(error, 404)) return undefined;
      throw error;
    }
  }

  #remember(path: string, object: Promise<unknown>): void {
    this.#objects.set(path, { atMs: this.#clock.monotonicMs(), object });
  }
}

function bounded(requests: APIRequests, clock: Clock, stopSignal: AbortSignal): APIRequests {
  return {
    request: (method, path, options) => {
      const bounds = { clock, timeoutMs: requestTimeoutMs, signals: [options?.signal, stopSignal] };
      return boundedCall(`${method} ${path}`, bounds, ({ signal }) =>
        requests.request(method, path, { ...options, signal }),
      );
    },
  };
}

function namespacePath(namespace: string): string {
  return `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}`;
}
