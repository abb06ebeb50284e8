import type { Pod } from 'kubelet-status-manager';
import type { Json, KubeHTTP } from '../../test/support/kube-http.ts';

const podsPerNode = 20;
/** Ends the name of the last pod of each node. */
export const changedSuffix = `-${podsPerNode - 1}`;

const path = '/api/v1/namespaces/default/pods';
const requestsAtOnce = 16;

/** The pods of the nodes with a prefix, as the API server shows them. */
export class NodePods {
  readonly count: number;
  readonly #http: KubeHTTP;
  readonly #selector: string;
  readonly #nodes: number;
  readonly #prefix: string;
  /** By name. */
  readonly #pods = new Map<string, Pod>();
  #watching: Promise<void> | undefined;
  readonly #stop = new AbortController();
  #onChange: (pod: Pod) => void = () => {};

  constructor(http: KubeHTTP, prefix: string, nodes: number) {
    this.#http = http;
    this.#prefix = prefix;
    this.#nodes = nodes;
    this.#selector = `labelSelector=bench%3D${prefix}`;
    this.count = nodes * podsPerNode;
  }

  /** Creates the pods, bound to their nodes, and watches them. */
  async create(): Promise<void> {
    this.#watching = this.#watchPods();
    let next = 0;
    const createPods = async (): Promise<void> => {
      while (next < this.count) await this.#createPod(next++);
    };
    await Promise.all(Array.from({ length: requestsAtOnce }, createPods));
  }

  /** Deletes the pods and the Nodes immediately. */
  async delete(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#request('DELETE', `${path}?${this.#selector}`, { gracePeriodSeconds: 0 });
    for (let i = 0; i < this.#nodes; i++) await this.#request('DELETE', `/api/v1/nodes/${this.#prefix}-${i}`);
  }

  /** Resolves with the milliseconds until each pod was as expected, or each of those whose names end so. */
  async msUntilEach(isAsExpected: (pod: Pod) => boolean, suffix = ''): Promise<number> {
    const startMs = performance.now();
    const missing = new Set([...this.#pods.keys()].filter((name) => name.endsWith(suffix)));
    return new Promise((resolve) => {
      this.#onChange = (pod) => {
        if (isAsExpected(pod)) missing.delete(pod.metadata!.name!);
        if (missing.size > 0) return;
        this.#onChange = () => {};
        resolve(performance.now() - startMs);
      };
      for (const pod of this.#pods.values()) this.#onChange(pod);
    });
  }

  /** The number of Events about all pods. */
  async countEvents(): Promise<number> {
    const { body } = await this.#http.request('GET', '/api/v1/namespaces/default/events');
    return body.items.filter((event: Json) => event.involvedObject.kind === 'Pod').length;
  }

  async #createPod(index: number): Promise<void> {
    const node = Math.floor(index / podsPerNode);
    const name = `${this.#prefix}-${node}-${index % podsPerNode}`;
    await this.#request('POST', path, {
      metadata: { name, labels: { bench: this.#prefix } },
      spec: {
        nodeName: `${this.#prefix}-${node}`,
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        containers: ['a', 'b'].map((container) => ({ name: container, image: 'none' })),
      },
    });
  }

  /** The API server ends a watch when it is busy; the next one begins with all pods. */
  async #watchPods(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const watch = await this.#http.watch(`${path}?watch=1&${this.#selector}`);
      signal.addEventListener('abort', () => watch.close());
      try {
        for await (const { type, object } of watch) if (type === 'ADDED' || type === 'MODIFIED') this.#see(object);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #see(pod: Pod): void {
    this.#pods.set(pod.metadata!.name!, pod);
    this.#onChange(pod);
  }

  async #request(method: string, url: string, body?: Json): Promise<void> {
    const { status, body: answer } = await this.#http.request(method, url, { body });
    if (status >= 300) throw new Error(`${method} ${url}: ${status} ${JSON.stringify(answer)}`);
  }
}
