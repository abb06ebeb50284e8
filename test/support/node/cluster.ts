import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { type Json, KubeHTTP, type WatchStream } from '../kube-http.ts';
import { nodeName } from './machine.ts';

export const namespace = 'side-by-side';

/** Requests as the user of a kubeconfig. */
export function httpOf(kubeConfigFile: string): KubeHTTP {
  const { clusters, users } = parse(readFileSync(kubeConfigFile, 'utf8'));
  const { server, 'certificate-authority-data': caData } = clusters[0].cluster;
  return new KubeHTTP({ url: server, caData, token: users[0].user.token });
}

/** The API server, as its admin. */
export class Cluster {
  readonly #http: KubeHTTP;

  constructor(kubeConfigFile: string) {
    this.#http = httpOf(kubeConfigFile);
  }

  /** Resolves with the object; undefined after 404. Rejects with the message of every other error. */
  async request(method: string, path: string, body?: object, contentType?: string): Promise<Json> {
    const response = await this.#http.request(method, path, { body, ...(contentType && { contentType }) });
    if (response.status === 404) return undefined;
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${response.body?.message}`);
    return response.body;
  }

  watch(path: string): Promise<WatchStream> {
    return this.#http.watch(path);
  }

  /** Makes the namespace and waits for what every pod needs of it. */
  async createNamespace(): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}`;
    if ((await this.request('GET', path)) === undefined) {
      await this.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    }
    await this.#waitFor(`${path}/serviceaccounts/default`, (object) => object !== undefined);
    await this.#waitFor(`${path}/configmaps/kube-root-ca.crt`, (object) => object !== undefined);
  }

  /** Waits until an agent that was started at `sinceMs` has renewed the Lease of the node, and the Node is ready. */
  async waitForNode(sinceMs: number): Promise<void> {
    await this.#waitFor(
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`,
      (lease) => Date.parse(lease?.spec?.renewTime ?? '') >= sinceMs,
    );
    await this.#waitFor(`/api/v1/nodes/${nodeName}`, (node) =>
      node?.status?.conditions?.some(({ type, status }: Json) => type === 'Ready' && status === 'True'),
    );
  }

  async deleteNode(): Promise<void> {
    await this.request('DELETE', `/api/v1/nodes/${nodeName}`);
    await this.request('DELETE', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #waitFor(path: string, matches: (object: Json) => boolean): Promise<void> {
    for (let waitedMs = 0; !matches(await this.request('GET', path)); waitedMs += 200) {
      if (waitedMs > 90_000) throw new Error(`Waited 90 s for ${path}`);
      await sleep(200);
    }
  }
}
