import { Subscribers } from '../../shared/subscribers.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Pod, ValidPod } from '../objects/types.ts';
import { requirePod, requirePods } from '../pods/require-pod.ts';
import { BasicPodManager } from '../pod-manager/basic-pod-manager.ts';
import { podFieldsOf } from '../pods/pod-log-fields.ts';
import { getPodFullName, isMirrorPod, isStaticPod } from '../pods/static-pods.ts';

/** Called for the pods of a node; by default only for those to run, so not for mirror pods. */
export interface PodListener {
  /** A pod that was not known. */
  onPodAdded?(pod: ValidPod): void;
  /** A pod that has changed. */
  onPodUpdated?(pod: ValidPod, previous: ValidPod): void;
  /** `pod` is the last known object. */
  onPodRemoved?(pod: ValidPod): void;
}

/** Selects the pods that a listener is called for. */
export interface PodSubscribeOptions {
  /**
   * Also call the listener for mirror pods, the API server's objects for static pods. An agent that
   * runs every pod of `onPodAdded` would run each static pod twice. Default false.
   */
  readonly includeMirrorPods?: boolean | undefined;
}

interface Subscription {
  readonly listener: PodListener;
  readonly includeMirrorPods: boolean;
  /** False until the listener has been called for the pods that were known at the subscription. */
  isActive: boolean;
}

/**
 * The pods of a node from both sources, in a `BasicPodManager`: those of the API server (by name, because
 * it has one pod of a name at a time) and static ones (by UID). Listeners are called for every change.
 */
export class KnownPods {
  readonly manager = new BasicPodManager();
  readonly #apiPods = new Map<string, ValidPod>();
  readonly #staticPods = new Map<string, ValidPod>();
  readonly #subscribers: Subscribers<Subscription>;
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#subscribers = new Subscribers(logger);
  }

  subscribe(listener: PodListener, { includeMirrorPods = false }: PodSubscribeOptions = {}): () => void {
    const subscription: Subscription = { listener, includeMirrorPods, isActive: false };
    const end = this.#subscribers.add(subscription);
    const known = [...this.#staticPods.values(), ...this.#apiPods.values()];
    // Queues all pods before the first call, so changes made by the listener are delivered after them.
    this.#subscribers.notify((candidate) => {
      if (candidate !== subscription) return;
      subscription.isActive = true;
      for (const pod of known) this.#notify(pod, (told) => told.onPodAdded?.(pod), subscription);
    });
    return end;
  }

  hasAPIPod(uid: string): boolean {
    return [...this.#apiPods.values()].some((pod) => uidOf(pod) === uid);
  }

  replaceAPIPods(pods: readonly Pod[]): void {
    const present = new Map<string, ValidPod>();
    for (const pod of pods) if (this.#isUsable(pod)) present.set(getPodFullName(pod), pod);
    // Removals first: removing a pod from a BasicPodManager also removes a newer pod with its name.
    for (const [name, known] of this.#apiPods)
      if (uidOf(present.get(name)) !== uidOf(known)) this.#removeAPIPod(name, known);
    for (const pod of present.values()) this.upsertAPIPod(pod);
  }

  upsertAPIPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    const name = getPodFullName(pod);
    let known = this.#apiPods.get(name);
    const isReplaced = known !== undefined && (uidOf(known) !== uidOf(pod) || isMirrorPod(known) !== isMirrorPod(pod));
    if (known !== undefined && isReplaced) {
      this.#removeAPIPod(name, known);
      known = undefined;
    }
    // The same version again, for example after a relist: keep the object that was handed out.
    if (
      known?.metadata.resourceVersion !== undefined &&
      known.metadata.resourceVersion === pod.metadata.resourceVersion
    )
      return;
    this.#apiPods.set(name, pod);
    this.#set(pod, known);
    // Anyone who may create a pod can set the annotation.
    if (known === undefined && isMirrorPod(pod) && this.manager.getPodAndMirrorPod(pod).pod === undefined)
      this.#logger.info(podFieldsOf(pod), 'Not running a mirror pod: its static pod is not known here');
  }

  removeAPIPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    const name = getPodFullName(pod);
    const known = this.#apiPods.get(name);
    if (known !== undefined && uidOf(known) === uidOf(pod)) this.#removeAPIPod(name, known, pod);
  }

  setStaticPods(pods: Iterable<Pod>): void {
    const present = new Map<string, ValidPod>();
    for (const pod of requirePods('pods', pods)) {
      if (!isStaticPod(pod)) {
        throw new StatusManagerError(
          'INVALID_ARGUMENT',
          'Expected `pods` to be static pods, with the annotation `kubernetes.io/config.source` other than `api` and without `resourceVersion`',
          { path: 'pods' },
        );
      }
      present.set(pod.metadata.uid, pod);
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

  #removeAPIPod(name: string, known: ValidPod, last = known): void {
    this.#apiPods.delete(name);
    this.#remove(known, last);
  }

  #set(pod: ValidPod, previous: ValidPod | undefined): void {
    this.manager.updatePod(pod);
    if (previous === undefined) this.#notify(pod, (listener) => listener.onPodAdded?.(pod));
    else this.#notify(pod, (listener) => listener.onPodUpdated?.(pod, previous));
  }

  #remove(known: ValidPod, last = known): void {
    this.manager.removePod(known);
    this.#notify(last, (listener) => listener.onPodRemoved?.(last));
  }

  #notify(pod: Pod, tell: (listener: PodListener) => unknown, only?: Subscription): void {
    const isMirror = isMirrorPod(pod);
    this.#subscribers.notify((subscription) => {
      if (!subscription.isActive || (only !== undefined && subscription !== only)) return undefined;
      return isMirror && !subscription.includeMirrorPods ? undefined : tell(subscription.listener);
    });
  }

  /** An invalid object from a server must not stop the informer. */
  #isUsable(pod: Pod): pod is ValidPod {
    try {
      requirePod(pod);
      return true;
    } catch (error) {
      const { message: reason } = error as Error;
      this.#logger.warn({ pod: pod?.metadata?.name, reason }, 'Ignored an object that is not a valid pod');
      return false;
    }
  }
}

function uidOf(pod: ValidPod | undefined): string | undefined {
  return pod?.metadata.uid;
}
