import { boundedCall } from '../../shared/deadline.ts';
import type { Lease } from '../../node/index.ts';
import { pathSegment } from '../../kube/http/api-path.ts';
import type { KubeRequestOptions, KubeTransport } from '../../kube/http/kube-transport.ts';
import { isJSONObject } from '../../kube/objects/json-object.ts';
import type { Clock } from '../../shared/clock.ts';

export interface ReplicaLeasesOptions {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
  /** Value of the label, and prefix of the names. */
  readonly name: string;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** Aborts all requests. */
  readonly signal: AbortSignal;
}

/** A Lease says that a process lives, or which process owns a node. */
export type LeaseKind = 'member' | 'node';

const label = 'kubelet-status-manager/replicas';
/** Thousands of Leases; whoever creates more in the namespace must not fill the memory. */
const maxListBytes = 16 * 1024 * 1024;

/** The requests for the Leases of all replicas. Each is bounded in time, and rejects with an `APIError` or an Error. */
export class ReplicaLeases {
  readonly #options: ReplicaLeasesOptions;
  readonly #path: string;

  constructor(options: ReplicaLeasesOptions) {
    this.#options = options;
    const namespace = pathSegment(options.namespace, 'namespace');
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  }

  /** A Lease that does not exist yet. */
  newLease(kind: LeaseKind, of: string, spec: Lease['spec']): Lease {
    const { namespace, name } = this.#options;
    const metadata = { name: `${name}.${kind}.${of}`, namespace, labels: { [label]: name } };
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  }

  /** What the Lease is for; undefined if it is not one of the replicas. */
  subjectOf({ metadata }: Lease): { readonly kind: LeaseKind; readonly of: string } | undefined {
    const { name } = this.#options;
    for (const kind of ['member', 'node'] as const) {
      const prefix = `${name}.${kind}.`;
      if (metadata.name.startsWith(prefix)) return { kind, of: metadata.name.slice(prefix.length) };
    }
    return undefined;
  }

  /** All Leases of the replicas, as of one moment. What is not a Lease is left out. */
  async list(): Promise<readonly Lease[]> {
    const query = { labelSelector: `${label}=${this.#options.name}` };
    const list = await this.#request('GET', this.#path, { query, maxResponseBytes: maxListBytes });
    const items: unknown = isJSONObject(list) ? list['items'] : undefined;
    if (!Array.isArray(items)) throw new Error('The response is not a list of Leases');
    return items.filter(isLease);
  }

  get(name: string): Promise<Lease> {
    return this.#requestLease('GET', this.#pathOf(name));
  }

  create(lease: Lease): Promise<Lease> {
    return this.#requestLease('POST', this.#path, lease);
  }

  /** Rejects with 409 if the Lease has another resourceVersion by now. */
  update(lease: Lease): Promise<Lease> {
    // Items of a list lack both fields.
    const body = { ...lease, apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;
    return this.#requestLease('PUT', this.#pathOf(lease.metadata.name), body);
  }

  /** Rejects with 409 if the Lease has changed. */
  async delete({ metadata: { name, uid, resourceVersion } }: Lease): Promise<void> {
    await this.#request('DELETE', this.#pathOf(name), { body: { preconditions: { uid, resourceVersion } } });
  }

  async #requestLease(method: string, path: string, body?: Lease): Promise<Lease> {
    const lease = await this.#request(method, path, { body });
    if (!isLease(lease)) throw new Error(`${method} ${path}: the response is not a Lease`);
    return lease;
  }

  #request(method: string, path: string, options: KubeRequestOptions): Promise<unknown> {
    const { transport, requestTimeoutMs: timeoutMs, clock, signal } = this.#options;
    const bounds = { clock, timeoutMs, signals: [signal] };
    return boundedCall(`${method} ${path}`, bounds, async (bounded) => {
      const response = await transport.request(method, path, { ...options, ...bounded });
      return response.json();
    });
  }

  #pathOf(name: string): string {
    return `${this.#path}/${pathSegment(name, 'name')}`;
  }
}

function isLease(value: unknown): value is Lease {
  if (!isJSONObject(value) || !isJSONObject(value['metadata']) || !isJSONObject(value['spec'])) return false;
  const { name, resourceVersion } = value['metadata'];
  return typeof name === 'string' && typeof resourceVersion === 'string';
}
