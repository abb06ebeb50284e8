import type { Pod } from '../../index.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/** Whether a pod needs a new sandbox. */
export interface SandboxChange {
  readonly changed: boolean;
  /** The attempt of the sandbox to create, or of the newest one when nothing changed. */
  readonly attempt: number;
  /** The sandbox to be replaced or kept; empty when there is none, or its network is not the spec's. */
  readonly sandboxID: string;
}

/**
 * A pod needs a new sandbox when it has none, when the newest is not ready or not the only ready
 * one, when it is in another network namespace than the spec says, and when it has no IP address.
 * Source: kubelet `PodSandboxChanged`.
 */
export function podSandboxChanged(pod: Pod, { sandboxes }: RuntimePodStatus): SandboxChange {
  const [newest] = sandboxes;
  if (newest === undefined) return { changed: true, attempt: 0, sandboxID: '' };

  const lastAttempt = Math.max(...sandboxes.map(({ attempt = 0 }) => attempt));
  const replaced = { changed: true, attempt: lastAttempt + 1, sandboxID: newest.id };
  const readyCount = sandboxes.filter(({ ready }) => ready).length;
  if (readyCount > 1 || !newest.ready) return replaced;

  const wantsHostNetwork = pod.spec?.hostNetwork ?? false;
  if ((newest.hostNetwork ?? false) !== wantsHostNetwork) return { ...replaced, sandboxID: '' };
  if (!wantsHostNetwork && newest.network != null && !newest.network.ip) return replaced;
  return { changed: false, attempt: lastAttempt, sandboxID: newest.id };
}
