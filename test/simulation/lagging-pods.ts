import type { KubeRequestOptions } from '../../src/kube/http/kube-transport.ts';
import type { HistoryEvent } from '../chaos/history.ts';
import type { Random } from '../chaos/random.ts';
import type { World } from './world.ts';

const maxLagMs = 8_000;

/** A version of a pod, and when it was written. */
export interface PodWrite extends HistoryEvent {
  readonly atMs: number;
}

/** The watch cache of an API server that is behind the store, by a time that varies. It never goes back. */
export class LaggingPods {
  readonly #world: World;
  readonly #random: Random;
  readonly #writes: readonly PodWrite[];
  readonly #pods = new Map<string, PodWrite['pod']>();
  #seen = 0;
  #revision = 1;
  #untilMs = 0;

  /** @param writes all writes so far; grows */
  constructor(world: World, writes: readonly PodWrite[]) {
    this.#world = world;
    this.#random = world.random.fork('lag');
    this.#writes = writes;
  }

  /** The text of a list at resource version 0. */
  list(query: KubeRequestOptions['query']): string {
    this.#untilMs = Math.max(this.#untilMs, this.#world.nowMs - this.#random.next() * maxLagMs);
    for (; this.#seen < this.#writes.length && this.#writes[this.#seen]!.atMs <= this.#untilMs; this.#seen++) {
      const { type, pod, resourceVersion } = this.#writes[this.#seen]!;
      this.#revision = resourceVersion;
      if (type === 'DELETED') this.#pods.delete(pod.metadata.uid);
      else this.#pods.set(pod.metadata.uid, pod);
    }
    const [, node] = /^spec\.nodeName=(.+)$/.exec(String(query?.['fieldSelector'] ?? '')) ?? [];
    const items = [...this.#pods.values()].filter(({ spec }) => node === undefined || spec?.nodeName === node);
    const metadata = { resourceVersion: String(this.#revision) };
    return JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata, items });
  }
}
