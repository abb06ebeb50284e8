import type { Pod } from '../../kube/types.ts';
import type { RuntimePodStatus } from '../runtime/runtime-pod-status.ts';

/** Whether a pod needs a new sandbox. */
export interface SandboxChange {
  readonly changed: boolean;
  /** The attempt number of the sandbox to create, or of the newest one if nothing changed. */
  readonly attempt: number;
  /** The sandbox to replace or keep; empty if there is none, or if its network namespace differs from the spec. */
  readonly sandboxID: string;
}

/**
 * A pod needs a new sandbox if it has none, if the newest is not ready or not the only ready one, if
 * its network namespace differs from the spec, or if it has no IP address.
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
