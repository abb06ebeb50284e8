import type { ServedCall } from '../network.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

const leases = /\/namespaces\/kube-system\/leases(?:\/|$)/;

/** When each replica sent the requests that keep its membership, by what API servers have served. */
export class ServedLeases {
  readonly #served: readonly ServedCall[];
  readonly #last = new Map<SimulatedProcess, { renewedMs: number; listedMs: number }>();
  #seen = 0;

  /** @param served grows */
  constructor(served: readonly ServedCall[]) {
    this.#served = served;
  }

  /** When a replica sent the older one of its last renewal and its last list; -Infinity if one of them is missing. */
  sentMs(process: SimulatedProcess): number {
    for (; this.#seen < this.#served.length; this.#seen++) this.#add(this.#served[this.#seen]!);
    const { renewedMs, listedMs } = this.#last.get(process) ?? { renewedMs: -Infinity, listedMs: -Infinity };
    return Math.min(renewedMs, listedMs);
  }

  #add({ process, method, path, body, sentMs, servedStatus }: ServedCall): void {
    if (servedStatus >= 300 || !leases.test(path)) return;
    const last = this.#last.get(process) ?? { renewedMs: -Infinity, listedMs: -Infinity };
    this.#last.set(process, last);
    if (method === 'GET' && path.endsWith('/leases')) last.listedMs = Math.max(last.listedMs, sentMs);
    if ((method === 'POST' || method === 'PUT') && isMemberLease(body))
      last.renewedMs = Math.max(last.renewedMs, sentMs);
  }
}

/** Whether a request writes the Lease of a replica, and not that of a node. */
export function isMemberLease(body: unknown): boolean {
  const { metadata } = (body ?? {}) as { readonly metadata?: { readonly name?: string } };
  return /\.member\./.test(metadata?.name ?? '');
}
