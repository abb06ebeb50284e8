import { setTimeout as delay } from 'node:timers/promises';
import type { Json, KubeHTTP } from '../../support/kube-http.ts';
import type { Violation } from '../invariants.ts';

const pollMs = 1_000;
/** After this time, the node lifecycle controller makes a Node unready, and its pods are evicted later. */
const monitorGraceMs = 40_000;

/**
 * Looks at the Nodes and their Leases as the node lifecycle controller does: once ready, a Node stays so, and each Lease is
 * renewed in time, counted from the end of the last outage of the API server.
 */
export class NodeWatcher {
  readonly violations: Violation[] = [];
  longestLeaseAgeMs = 0;
  readonly #http: KubeHTTP;
  readonly #leases = new Map<string, { readonly version: string; readonly ageMs: number }>();
  readonly #ready = new Set<string>();
  #running: Promise<void> | undefined;
  #isStopped = false;
  #lastPollMs: number | undefined;

  constructor(http: KubeHTTP) {
    this.#http = http;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#poll();
      } catch {
        // The API server is down, and so is what renews Leases: their time begins again.
        this.#lastPollMs = undefined;
        for (const [name, { version }] of this.#leases) this.#leases.set(name, { version, ageMs: 0 });
      }
      await delay(pollMs);
    }
  }

  async #poll(): Promise<void> {
    const leases = await this.#list('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
    const nodes = await this.#list('/api/v1/nodes');
    const nowMs = Date.now();
    const passedMs = this.#lastPollMs === undefined ? 0 : nowMs - this.#lastPollMs;
    this.#lastPollMs = nowMs;
    for (const { metadata } of leases) {
      const version = String(metadata.resourceVersion);
      const last = this.#leases.get(metadata.name);
      const ageMs = last?.version === version ? last.ageMs + passedMs : 0;
      this.#leases.set(metadata.name, { version, ageMs });
      this.longestLeaseAgeMs = Math.max(this.longestLeaseAgeMs, ageMs);
      if (ageMs > monitorGraceMs && last!.ageMs <= monitorGraceMs)
        this.violations.push({ invariant: 'Node Leases are renewed in time', details: metadata.name });
    }
    for (const { metadata, status } of nodes) {
      const ready = status?.conditions?.find(({ type }: Json) => type === 'Ready');
      if (ready?.status === 'True') this.#ready.add(metadata.name);
      else if (this.#ready.delete(metadata.name))
        this.violations.push({ invariant: 'Nodes stay ready', details: `${metadata.name}: ${JSON.stringify(ready)}` });
    }
  }

  async #list(path: string): Promise<Json[]> {
    const { status, body } = await this.#http.request('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status}`);
    return body.items;
  }
}
