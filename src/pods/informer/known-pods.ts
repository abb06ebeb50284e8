import { Subscribers } from '../../subscribers.ts';
import { StatusManagerError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Pod } from '../../types.ts';
import { requirePod } from '../../validate.ts';
import { BasicPodManager } from '../basic-pod-manager.ts';
import { getPodFullName, isStaticPod } from '../../status/static-pods.ts';

/** Told of every pod of the node; mirror pods too, see `isMirrorPod`. */
export interface PodListener {
  onPodAdded?(pod: Pod): void;
  onPodUpdated?(pod: Pod, previous: Pod): void;
  /** `pod` as it was last seen. */
  onPodRemoved?(pod: Pod): void;
}

/**
 * The pods of a node from both sides, the API server (by name: it has one pod of a name at a time)
 * and static ones (by UID), in a `BasicPodManager`, with every change told to listeners.
 */
export class KnownPods {
  readonly manager = new BasicPodManager();
  readonly #apiPods = new Map<string, Pod>();
  readonly #staticPods = new Map<string, Pod>();
  readonly #subscribers: Subscribers<PodListener>;
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#subscribers = new Subscribers(logger);
  }

  subscribe(listener: PodListener): () => void {
    const known = [...this.#staticPods.values(), ...this.#apiPods.values()];
    const early = new Subscribers<PodListener>(this.#logger);
    early.add(listener);
    for (const pod of known) early.notify((newcomer) => newcomer.onPodAdded?.(pod));
    return this.#subscribers.add(listener);
  }

  replaceApiPods(pods: readonly Pod[]): void {
    const present = new Map<string, Pod>();
    for (const pod of pods) if (this.#isUsable(pod)) present.set(getPodFullName(pod), pod);
    // Removals first: a BasicPodManager that forgets a pod forgets its name, whoever bears it by then.
    for (const [name, known] of this.#apiPods)
      if (uidOf(present.get(name)) !== uidOf(known)) this.#removeApiPod(name, known);
    for (const pod of present.values()) this.upsertApiPod(pod);
  }

  upsertApiPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    const name = getPodFullName(pod);
    let known = this.#apiPods.get(name);
    if (known !== undefined && uidOf(known) !== uidOf(pod)) {
      this.#removeApiPod(name, known);
      known = undefined;
    }
    // The same version again, for example after a relist: the object that was handed out stays.
    if (
      known?.metadata?.resourceVersion !== undefined &&
      known.metadata.resourceVersion === pod.metadata?.resourceVersion
    )
      return;
    this.#apiPods.set(name, pod);
    this.#set(pod, known);
  }

  removeApiPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    const name = getPodFullName(pod);
    const known = this.#apiPods.get(name);
    if (known !== undefined && uidOf(known) === uidOf(pod)) this.#removeApiPod(name, known, pod);
  }

  setStaticPods(pods: Iterable<Pod>): void {
    const present = new Map<string, Pod>();
    for (const pod of pods) {
      const uid = uidOf(pod);
      if (uid === undefined || !isStaticPod(pod)) {
        throw new StatusManagerError(
          'INVALID_ARGUMENT',
          'Expected `pods` to be static pods, with a UID and the annotation `kubernetes.io/config.source` other than `api`',
          { path: 'pods' },
        );
      }
      present.set(uid, pod);
    }
    for (const [uid, known] of this.#staticPods) {
      if (present.has(uid)) continue;
      this.#staticPods.delete(uid);
      this.#remove(known);
    }
    for (const [uid, pod] of present) {
      const known = this.#staticPods.get(uid);
      if (known === pod) continue;
      this.#staticPods.set(uid, pod);
      this.#set(pod, known);
    }
  }

  #removeApiPod(name: string, known: Pod, last = known): void {
    this.#apiPods.delete(name);
    this.#remove(known, last);
  }

  #set(pod: Pod, previous: Pod | undefined): void {
    this.manager.updatePod(pod);
    if (previous === undefined) this.#subscribers.notify((listener) => listener.onPodAdded?.(pod));
    else this.#subscribers.notify((listener) => listener.onPodUpdated?.(pod, previous));
  }

  #remove(known: Pod, last = known): void {
    this.manager.removePod(known);
    this.#subscribers.notify((listener) => listener.onPodRemoved?.(last));
  }

  /** What a server sends is never reason to stop: an object that cannot be a pod is left out. */
  #isUsable(pod: Pod): boolean {
    try {
      requirePod(pod);
      return true;
    } catch (error) {
      const { message: reason } = error as Error;
      this.#logger.warn({ pod: pod?.metadata?.name, reason }, 'An object that is no pod came as one and is left out');
      return false;
    }
  }
}

function uidOf(pod: Pod | undefined): string | undefined {
  const uid: unknown = pod?.metadata?.uid;
  return typeof uid === 'string' && uid !== '' ? uid : undefined;
}
