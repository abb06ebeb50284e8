import type { PodManager } from '../../kube/pod-manager.ts';
import { isPodPhaseTerminal } from '../status/phase.ts';
import type { PodStatus } from '../../kube/types.ts';
import type { APIPod } from './api-pod.ts';

/**
 * With `when-stale`: the API objects as our last requests left them. An object is trusted until the
 * next sync takes it. Of each, only what that sync needs is kept.
 * Divergence, on request only: the kubelet reads before each patch.
 */
export class TrustedPods {
  /** By the UID of the cached status: of a static pod its own, not its mirror's. */
  readonly #pods = new Map<string, APIPod>();
  readonly #podManager: PodManager;
  readonly #keepsRawStatus: boolean;

  /** @param keepsRawStatus also keep the status in the API server's own format, which a JSON patch tests */
  constructor(podManager: PodManager, keepsRawStatus: boolean) {
    this.#podManager = podManager;
    this.#keepsRawStatus = keepsRawStatus;
  }

  trust(uid: string, { pod, uid: apiUID }: APIPod, status: PodStatus): void {
    const { annotations, generation, deletionTimestamp, name, namespace, resourceVersion } = pod.metadata ?? {};
    const metadata = { name, namespace, uid: apiUID, annotations, generation, deletionTimestamp, resourceVersion };
    const rawStatus = this.#keepsRawStatus ? pod.status : undefined;
    this.#pods.set(uid, { pod: { metadata, status: rawStatus }, uid: apiUID, status });
  }

  /** Hands out the object once, with the pod manager's pod for the safety provider; undefined: read first. */
  take(uid: string): APIPod | undefined {
    const trusted = this.#pods.get(uid);
    if (trusted === undefined) return undefined;
    this.#pods.delete(uid);
    const pod = this.#podManager.getPodByUID(uid);
    if (pod === undefined) return undefined;
    const podOfManager = this.#podManager.getMirrorPodByPod(pod) ?? pod;
    // Another writer may have reset the phase, which decides what may be written.
    if (isPodPhaseTerminal(podOfManager.status?.phase) !== isPodPhaseTerminal(trusted.status.phase)) return undefined;
    return { ...trusted, trustedAs: podOfManager };
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }
}
