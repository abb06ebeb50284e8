import { APIError } from '../../kube/client/api-error.ts';
import type { Clock } from '../../shared/clock.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import { boundedCall } from '../../shared/deadline.ts';
import type { Lease, Node } from './node-types.ts';

/** Source: kubelet `heartbeatClientConfig.Timeout`, which is `nodeStatusUpdateFrequency`. */
const requestTimeoutMs = 10_000;
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** The requests of a node for its Node and its Lease. Each has a time-out of 10 s; `signal` aborts them. */
export class NodeClient {
  readonly #transport: APIRequests;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #nodePath: string;
  readonly #leasePath: string;

  constructor(transport: APIRequests, nodeName: string, clock: Clock, signal: AbortSignal) {
    this.#transport = transport;
    this.#clock = clock;
    this.#signal = signal;
    this.#nodePath = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
    this.#leasePath = `${leasesPath}/${encodeURIComponent(nodeName)}`;
  }

  createNode(node: Node): Promise<Node> {
    return this.#request('POST', '/api/v1/nodes', node);
  }

  /** `fromCache` allows the API server to respond from its watch cache (resourceVersion 0). */
  getNode({ fromCache = false } = {}): Promise<Node> {
    return this.#request('GET', this.#nodePath, undefined, undefined, fromCache ? { resourceVersion: '0' } : undefined);
  }

  /** A JSON merge patch of the Node's metadata and spec. */
  patchNode(patch: object): Promise<Node> {
    return this.#request('PATCH', this.#nodePath, patch, 'application/merge-patch+json');
  }

  /** A strategic merge patch of the status, and of the metadata. */
  patchNodeStatus(patch: object): Promise<Node> {
    return this.#request('PATCH', `${this.#nodePath}/status`, patch, 'application/strategic-merge-patch+json');
  }

  getLease(): Promise<Lease> {
    return this.#request('GET', this.#leasePath);
  }

  createLease(lease: Lease): Promise<Lease> {
    return this.#request('POST', leasesPath, lease);
  }

  updateLease(lease: Lease): Promise<Lease> {
    return this.#request('PUT', this.#leasePath, lease);
  }

  /** For use after repeated failures: an idle connection may be dead without having been closed. */
  async closeIdle(): Promise<void> {
    await this.#transport.closeIdle?.();
  }

  #request<T>(
    method: string,
    path: string,
    body?: object,
    contentType?: string,
    query?: Readonly<Record<string, string>>,
  ): Promise<T> {
    const bounds = { clock: this.#clock, timeoutMs: requestTimeoutMs, signals: [this.#signal] };
    return boundedCall(`${method} ${path}`, bounds, async ({ signal }) => {
      const response = await this.#transport.request(method, path, { body, contentType, query, signal });
      return response.json() as T;
    });
  }
}

/** True for a response with this status code. */
export function isResponse(error: unknown, statusCode: number): boolean {
  return error instanceof APIError && error.statusCode === statusCode;
}
