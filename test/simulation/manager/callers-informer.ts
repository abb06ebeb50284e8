import type { InformerLike, InformerPodManager } from '../../../src/kube/informer/index.ts';
import type { Timer } from '../../../src/shared/clock.ts';
import type { Pod } from '../../../src/status-manager/index.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';

/**
 * An informer that the caller has made itself, as with client-node: it ends with an error, and has changed when it is
 * started again. Its pods are those of another pod manager.
 */
export class CallersInformer implements InformerLike {
  /** By UID; mirror pods, too. */
  readonly #pods = new Map<string, Pod>();
  readonly #callbacks = new Map<string, Set<(value: never) => void>>();
  /** Undefined while it has ended: what it would have sent. */
  #missed: (() => void)[] | undefined;
  /** Until it is started again. */
  #restart: Timer | undefined;

  constructor(inner: InformerPodManager, process: SimulatedProcess, random: Random) {
    inner.subscribe(
      {
        onPodAdded: (pod) => this.#send('add', pod),
        onPodUpdated: (pod) => this.#send('update', pod),
        onPodRemoved: (pod) => this.#send('delete', pod),
      },
      { includeMirrorPods: true },
    );
    this.#endSometimes(process, random);
  }

  on(verb: string, callback: (value: never) => void): void {
    const callbacks = this.#callbacks.get(verb) ?? new Set();
    this.#callbacks.set(verb, callbacks.add(callback));
  }

  off(verb: string, callback: (value: never) => void): void {
    this.#callbacks.get(verb)?.delete(callback);
    // The caller ends it when nobody listens any longer.
    if (!this.#hasListeners) this.#restart?.stop();
  }

  get #hasListeners(): boolean {
    return [...this.#callbacks.values()].some(({ size }) => size > 0);
  }

  list(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  #endSometimes({ clock, world }: SimulatedProcess, random: Random): void {
    world.at(random.integer(5_000, 20_000), () => {
      if (!world.happens('the informer of the caller ends') || !this.#hasListeners) return;
      this.#call('error', Object.assign(new Error('410 Gone (simulated)'), { statusCode: 410 }));
      this.#missed = [];
      this.#restart = clock.afterFunc(random.integer(10, 3_000), () => {
        const missed = this.#missed ?? [];
        this.#missed = undefined;
        this.#call('connect', undefined);
        for (const send of missed) send();
      });
    });
  }

  #send(verb: 'add' | 'delete' | 'update', pod: Pod): void {
    const { uid = '' } = pod.metadata ?? {};
    if (verb === 'delete') this.#pods.delete(uid);
    else this.#pods.set(uid, pod);
    const send = (): void => this.#call(verb, pod);
    if (this.#missed === undefined) send();
    else this.#missed.push(send);
  }

  #call(verb: string, value: unknown): void {
    for (const callback of this.#callbacks.get(verb) ?? []) callback(value as never);
  }
}
