import { Subscribers } from '../../shared/subscribers.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import { isSameJSON } from '../../shared/json.ts';
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
 * The pods of a node from both sources, in a `BasicPodManager`: those of the API server, which has one pod of a name at a
 * time, and static ones. Listeners are called for every change.
 */
export class KnownPods {
  readonly manager = new BasicPodManager();
  /** Of `apiPods()`. */
  readonly #apiPodUIDs = new Set<string>();
  readonly #subscribers: Subscribers<Subscription>;
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#subscribers = new Subscribers(logger);
  }

  subscribe(listener: PodListener, { includeMirrorPods = false }: PodSubscribeOptions = {}): () => void {
    const subscription: Subscription = { listener, includeMirrorPods, isActive: false };
    const end = this.#subscribers.add(subscription);
    const known = [...this.#staticPods(), ...this.apiPods()];
    // Queues all pods before the first call, so changes made by the listener are delivered after them.
    this.#subscribers.notify((candidate) => {
      if (candidate !== subscription) return;
      subscription.isActive = true;
      for (const pod of known) this.#notify(pod, (told) => told.onPodAdded?.(pod), subscription);
    });
    return end;
  }

  /** Those of the API server, including mirror pods. */
  apiPods(): ValidPod[] {
    const { pods, mirrorPods } = this.manager.getPodsAndMirrorPods();
    return [...pods.filter((pod) => !isStaticPod(pod)), ...mirrorPods];
  }

  hasAPIPod(uid: string): boolean {
    return this.#apiPodUIDs.has(uid);
  }

  /**
   * The pod, with the spec of the object that is known if nothing in it has changed: the status changes often, and whoever still
   * has an older object then has no second spec.
   */
  withKnownSpec(pod: Pod): Pod {
    const known = this.manager.getPodByUID(pod.metadata?.uid ?? '');
    return known !== undefined && isSameJSON(known.spec, pod.spec) ? { ...pod, spec: known.spec } : pod;
  }

  replaceAPIPods(pods: readonly Pod[]): void {
    const present = new Map<string, ValidPod>();
    for (const pod of pods) if (this.#isUsable(pod)) present.set(getPodFullName(pod), pod);
    // Removals first: removing a pod from a BasicPodManager also removes a newer pod with its name.
    for (const known of this.apiPods())
      if (present.get(getPodFullName(known))?.metadata.uid !== known.metadata.uid) this.#remove(known);
    for (const pod of present.values()) this.upsertAPIPod(pod);
  }

  upsertAPIPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    let known = this.#knownAPIPod(pod);
    if (known !== undefined && (known.metadata.uid !== pod.metadata.uid || isMirrorPod(known) !== isMirrorPod(pod))) {
      this.#remove(known);
      known = undefined;
    }
    // The same version again, for example after a relist: keep the object that was handed out.
    if (
      known?.metadata.resourceVersion !== undefined &&
      known.metadata.resourceVersion === pod.metadata.resourceVersion
    )
      return;
    this.#set(pod, known);
    // Anyone who may create a pod can set the annotation.
    if (known === undefined && isMirrorPod(pod) && this.manager.getPodAndMirrorPod(pod).pod === undefined)
      this.#logger.info(podFieldsOf(pod), 'Not running a mirror pod: its static pod is not known here');
  }

  removeAPIPod(pod: Pod): void {
    if (!this.#isUsable(pod)) return;
    const known = this.#knownAPIPod(pod);
    if (known?.metadata.uid === pod.metadata.uid) this.#remove(known, pod);
  }

  setStaticPods(pods: Iterable<Pod>): void {
    const present = new Map<string, ValidPod>();
    for (const pod of requirePods(pods)) {
      if (!isStaticPod(pod)) {
        throw new StatusManagerError(
          'INVALID_ARGUMENT',
          'Expected `pods` to be static pods, with the annotation `kubernetes.io/config.source` other than `api` and without `resourceVersion`',
          { path: 'pods' },
        );
      }
      present.set(pod.metadata.uid, pod);
    }
    for (const known of this.#staticPods()) if (!present.has(known.metadata.uid)) this.#remove(known);
    for (const pod of present.values()) {
      const known = this.manager.getPodByUID(pod.metadata.uid);
      if (known !== pod) this.#set(pod, known);
    }
  }

  #staticPods(): ValidPod[] {
    return this.manager.getPods().filter(isStaticPod);
  }

  /** The API server's pod with the name of `pod`. A static pod can have the same name, and hide it in the index of names. */
  #knownAPIPod(pod: ValidPod): ValidPod | undefined {
    const { manager } = this;
    const named = manager.getMirrorPodByPod(pod) ?? manager.getPodByFullName(getPodFullName(pod));
    const known = named === undefined || isStaticPod(named) ? manager.getPodByUID(pod.metadata.uid) : named;
    return known === undefined || isStaticPod(known) ? undefined : known;
  }

  #set(pod: ValidPod, previous: ValidPod | undefined): void {
    this.manager.updatePod(pod);
    if (isStaticPod(pod)) this.#apiPodUIDs.delete(pod.metadata.uid);
    else this.#apiPodUIDs.add(pod.metadata.uid);
    if (previous === undefined) this.#notify(pod, (listener) => listener.onPodAdded?.(pod));
    else this.#notify(pod, (listener) => listener.onPodUpdated?.(pod, previous));
  }

  #remove(known: ValidPod, last = known): void {
    this.manager.removePod(known);
    this.#apiPodUIDs.delete(known.metadata.uid);
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
