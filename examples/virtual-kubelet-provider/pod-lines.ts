import type { KubeTransport } from 'kubelet-status-manager/http';

interface PodItem {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string };
  readonly status?: { readonly phase?: string; readonly podIP?: string; readonly reason?: string };
}

/** Creates the pods of the example, and prints each change of a pod. */
export class PodLines {
  readonly #transport: KubeTransport;
  readonly #isTerminal: boolean;
  readonly #shown = new Map<string, string>();

  constructor(transport: KubeTransport, isTerminal: boolean) {
    this.#transport = transport;
    this.#isTerminal = isTerminal;
  }

  /** One pod that runs, and one that ends, for each node. */
  async createPods(nodeNames: readonly string[]): Promise<void> {
    for (const nodeName of nodeNames) {
      await this.#create(`web-${nodeName}`, { nodeName, containers: [{ name: 'app', image: 'web:1' }] });
      const job = { nodeName, restartPolicy: 'Never', containers: [{ name: 'app', image: 'job:ends-after-5s' }] };
      await this.#create(`job-${nodeName}`, job);
    }
  }

  /** Prints what has changed since the last call. */
  async print(): Promise<void> {
    const response = await this.#transport.request('GET', '/api/v1/pods');
    const { items } = response.json() as { items: readonly PodItem[] };
    const rows = new Map(items.map((pod) => [pod.metadata.name, rowOf(pod)]));
    for (const [name, row] of rows) this.#show(name, row);
    for (const name of this.#shown.keys()) if (!rows.has(name)) this.#show(name, { phase: 'Deleted' });
  }

  async #create(name: string, spec: object): Promise<void> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
    await this.#transport.request('POST', '/api/v1/namespaces/default/pods', { body: pod });
  }

  #show(name: string, row: object): void {
    const text = JSON.stringify(row);
    if (this.#shown.get(name) === text) return;
    if ('phase' in row && row.phase === 'Deleted') this.#shown.delete(name);
    else this.#shown.set(name, text);
    console.log(
      this.#isTerminal ? `${name.padEnd(16)}${Object.values(row).join('  ')}` : JSON.stringify({ name, ...row }),
    );
  }
}

function rowOf({ metadata, spec, status = {} }: PodItem): object {
  const phase = metadata.deletionTimestamp === undefined ? status.phase : 'Terminating';
  return {
    node: spec.nodeName,
    phase,
    ...(status.podIP && { ip: status.podIP }),
    ...(status.reason && { reason: status.reason }),
  };
}
