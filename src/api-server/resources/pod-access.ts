import type { PodStatus, ValidPod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { NamespacedObjectAccess, type ObjectPatch, requireFields, throughJSON } from './object-access.ts';
import type { PodWatchEvent, PodEvents } from './pod-events.ts';
import type { Registry } from '../registry.ts';
import type { ObjectStore } from '../storage/store.ts';

/** A strategic merge patch of a pod's status; null removes a field. */
export interface StatusPatch {
  readonly metadata?: object;
  readonly status: { readonly [Field in keyof PodStatus]?: unknown };
}

/** Reads and writes pods without HTTP, as the admin, to simulate other writers in a test. */
export class PodAccess extends NamespacedObjectAccess<ValidPod> implements PodEvents {
  /** The clock of the server. */
  readonly clock: Clock;
  readonly #store: ObjectStore;

  constructor(store: ObjectStore, registry: Registry, clock: Clock) {
    super('pods', store, registry);
    this.clock = clock;
    this.#store = store;
  }

  /** Calls `listener` right after every write to a pod, with a copy of it, until the returned function is called. */
  subscribe(listener: (event: PodWatchEvent) => void): () => void {
    return this.#store.subscribe('pods', ({ type, object }) =>
      listener({ type, pod: throughJSON(object) as ValidPod }),
    );
  }

  /** Applies a strategic merge patch to metadata and spec. Throws for a field that a pod does not have, and for `status`. */
  override patch(namespace: string, name: string, patch: ObjectPatch): ValidPod {
    requireFields(patch, ['metadata', 'spec'], 'patch');
    return super.patch(namespace, name, patch);
  }

  /**
   * Applies a strategic merge patch to the status: `{ status: { phase: 'Running' } }`. Throws for a
   * field that a status does not have, and for any other part of the pod.
   */
  patchStatus(namespace: string, name: string, patch: StatusPatch): ValidPod {
    requireFields(patch, ['metadata', 'status'], 'patchStatus');
    return this.patchIn('status', namespace, name, patch);
  }
}
