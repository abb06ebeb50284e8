import type { Json, KubeHTTP, WatchStream } from '../support/kube-http.ts';

/** One version of a pod on the API server. */
export interface HistoryEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resourceVersion: number;
  readonly pod: Json;
}

const podsPath = '/api/v1/pods';
const retryMs = 100;

/**
 * Records every version of every pod with a watch that starts at the beginning and is resumed where
 * it was interrupted. Versions that a restarted API server no longer sends in a watch are read from
 * etcd's history, one resourceVersion at a time.
 */
export class HistoryRecorder {
  readonly events: HistoryEvent[] = [];
  readonly #http: KubeHTTP;
  readonly #known = new Map<string, Json>();
  #lastVersion = 0;
  #watch: WatchStream | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(http: KubeHTTP) {
    this.#http = http;
  }

  async start(): Promise<void> {
    const list = await this.#http.request('GET', podsPath);
    this.#lastVersion = Number(list.body.metadata.resourceVersion);
    this.#running = this.#run();
  }

  /** Resolves when everything that has happened until now is recorded. */
  async stop(): Promise<void> {
    const { body } = await this.#http.request('GET', podsPath);
    this.#isStopped = true;
    this.#watch?.close();
    await this.#running;
    await this.#readHistory(Number(body.metadata.resourceVersion));
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#follow();
      } catch {
        // The API server is down.
      }
      if (!this.#isStopped) await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  async #follow(): Promise<void> {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#lastVersion}`;
    this.#watch = await this.#http.watch(`${podsPath}?${query}`);
    for await (const { type, object } of this.#watch) {
      if (type === 'ERROR') {
        if (object.code === 410) await this.#readHistory();
        return;
      }
      if (type === 'BOOKMARK') this.#lastVersion = Number(object.metadata.resourceVersion);
      else this.#record(type, object);
    }
  }

  async #readHistory(until?: number): Promise<void> {
    const end = until ?? Number((await this.#http.request('GET', podsPath)).body.metadata.resourceVersion);
    while (this.#lastVersion < end) {
      const version = this.#lastVersion + 1;
      const query = `resourceVersion=${version}&resourceVersionMatch=Exact`;
      const { status, body } = await this.#http.request('GET', `${podsPath}?${query}`);
      if (status !== 200) throw new Error(`Cannot read the pods at resourceVersion ${version}: ${status}`);
      const present = new Map<string, Json>();
      for (const pod of body.items) present.set(pod.metadata.uid, pod);
      for (const [uid, pod] of this.#known) if (!present.has(uid)) this.#record('DELETED', pod, version);
      for (const [uid, pod] of present) {
        const { resourceVersion } = this.#known.get(uid)?.metadata ?? {};
        if (resourceVersion !== pod.metadata.resourceVersion) {
          this.#record(resourceVersion === undefined ? 'ADDED' : 'MODIFIED', pod);
        }
      }
      this.#lastVersion = version;
    }
  }

  #record(type: HistoryEvent['type'], pod: Json, version = Number(pod.metadata.resourceVersion)): void {
    this.events.push({ type, resourceVersion: version, pod });
    if (type === 'DELETED') this.#known.delete(pod.metadata.uid);
    else this.#known.set(pod.metadata.uid, pod);
    this.#lastVersion = version;
  }
}
