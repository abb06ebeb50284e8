import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../support/kube-http.ts';
import type { PodEvent } from './recording.ts';
import { type Cluster, namespace } from '../support/node/cluster.ts';

export type PodPredicate = (pod: Json, type: PodEvent['type']) => boolean;

export interface UntilOptions {
  readonly after?: PodEvent | undefined;
  /** Default: that of the recorder. */
  readonly timeoutMs?: number | undefined;
}

/** Records every watch event of the namespace's pods, and their Events. */
export class Recorder {
  readonly #cluster: Cluster;
  readonly #timeoutMs: number;
  readonly #pods = new Map<string, PodEvent[]>();
  readonly #events = new Map<string, Map<string, Json>>();
  readonly #waiting = new Set<() => void>();
  #stop: (() => void) | undefined;

  /** @param timeoutMs how long `until` and `untilEvent` wait */
  constructor(cluster: Cluster, timeoutMs = 60_000) {
    this.#cluster = cluster;
    this.#timeoutMs = timeoutMs;
  }

  async start(): Promise<void> {
    const stops = await Promise.all([
      this.#watch('pods', (type, object) => {
        append(this.#pods, object.metadata.name, { type: type as PodEvent['type'], atMs: Date.now(), object });
        for (const check of this.#waiting) check();
      }),
      this.#watch('events', (type, object) => {
        if (type === 'DELETED') return;
        const { name } = object.involvedObject;
        if (!this.#events.has(name)) this.#events.set(name, new Map());
        this.#events.get(name)!.set(object.metadata.name, object);
      }),
    ]);
    this.#stop = () => stops.forEach((stop) => stop());
  }

  stop(): void {
    this.#stop?.();
  }

  /** The first watch event after a given one that matches, also one of the past. Rejects after the time-out, naming what it waited for. */
  until(pod: string, what: string, matches: PodPredicate, options: UntilOptions = {}): Promise<PodEvent> {
    const { after, timeoutMs = this.#timeoutMs } = options;
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const events = this.#pods.get(pod) ?? [];
        const later = after === undefined ? events : events.slice(events.indexOf(after) + 1);
        const found = later.find(({ object, type }) => matches(object, type));
        if (found === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        reject(new Error(`Pod ${pod} was not ${what} within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      this.#waiting.add(check);
      check();
    });
  }

  /** Waits for an Event of a pod. */
  async untilEvent(pod: string, reason: string, timeoutMs = this.#timeoutMs): Promise<void> {
    for (let waitedMs = 0; !this.eventsOf(pod).some((event) => event.reason === reason); waitedMs += 50) {
      if (waitedMs > timeoutMs) throw new Error(`Pod ${pod} had no Event ${reason} within ${timeoutMs / 1000} s`);
      await sleep(50);
    }
  }

  podEventsOf(pod: string): readonly PodEvent[] {
    return this.#pods.get(pod) ?? [];
  }

  eventsOf(pod: string): readonly Json[] {
    return [...(this.#events.get(pod)?.values() ?? [])];
  }

  async #watch(resource: string, handle: (type: string, object: Json) => void): Promise<() => void> {
    const path = `/api/v1/namespaces/${namespace}/${resource}`;
    const { metadata } = await this.#cluster.request('GET', path);
    const stream = await this.#cluster.watch(`${path}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    let isStopped = false;
    void (async () => {
      for await (const { type, object } of stream) handle(type, object);
    })().catch((error: unknown) => {
      if (!isStopped) throw error;
    });
    return () => {
      isStopped = true;
      stream.close();
    };
  }
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
