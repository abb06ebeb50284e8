import type { ServedCall } from '../network.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

const leases = /\/namespaces\/kube-system\/leases(?:\/|$)/;

/** The deletion of the Lease of a node. */
interface Deletion {
  readonly atMs: number;
  /** How long there had been the Lease. */
  readonly ageMs: number;
}

/** When each replica sent the requests that keep its membership, and when Leases of nodes were deleted, by what API servers have served. */
export class ServedLeases {
  readonly #served: readonly ServedCall[];
  /** By the names of Leases. */
  readonly #createdMs = new Map<string, number>();
  readonly #deletions = new Map<string, Deletion>();
  readonly #last = new Map<SimulatedProcess, { renewedMs: number; listedMs: number }>();
  #seen = 0;

  /** @param served grows */
  constructor(served: readonly ServedCall[]) {
    this.#served = served;
  }

  /** When a replica sent the older one of its last renewal and its last list; -Infinity if one of them is missing. */
  sentMs(process: SimulatedProcess): number {
    this.#read();
    const { renewedMs, listedMs } = this.#last.get(process) ?? { renewedMs: -Infinity, listedMs: -Infinity };
    return Math.min(renewedMs, listedMs);
  }

  /** The last deletion of the Lease of a node. */
  deletionOf(nodeName: string): Deletion | undefined {
    this.#read();
    return this.#deletions.get(`virtual-nodes.node.${nodeName}`);
  }

  #read(): void {
    for (; this.#seen < this.#served.length; this.#seen++) this.#add(this.#served[this.#seen]!);
  }

  #add({ process, method, path, body, sentMs, processedMs: atMs = 0, servedStatus }: ServedCall): void {
    if (servedStatus >= 300 || !leases.test(path)) return;
    if (method === 'POST') this.#createdMs.set(leaseNameOf(body), atMs);
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (method === 'DELETE') this.#deletions.set(name, { atMs, ageMs: atMs - (this.#createdMs.get(name) ?? 0) });
    const last = this.#last.get(process) ?? { renewedMs: -Infinity, listedMs: -Infinity };
    this.#last.set(process, last);
    if (method === 'GET' && path.endsWith('/leases')) last.listedMs = Math.max(last.listedMs, sentMs);
    if ((method === 'POST' || method === 'PUT') && isMemberLease(body))
      last.renewedMs = Math.max(last.renewedMs, sentMs);
  }
}

/** Whether a request writes the Lease of a replica, and not that of a node. */
export function isMemberLease(body: unknown): boolean {
  return /\.member\./.test(leaseNameOf(body));
}

function leaseNameOf(body: unknown): string {
  const { metadata } = (body ?? {}) as { readonly metadata?: { readonly name?: string } };
  return metadata?.name ?? '';
}
