import { allBy } from '../../shared/by-field.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { RuntimeContainerStatus, RuntimePod, RuntimePodStatus, RuntimeSandboxStatus } from '../../node/index.ts';

/** True when the pods of a runtime have sandboxes. */
function hasSandboxes(runtime: { readonly runPodSandbox?: unknown }): boolean {
  return runtime.runPodSandbox !== undefined;
}

/**
 * The runtime status of a pod, newest first. In a runtime without sandboxes, each pod is treated as if
 * it had one that is ready and matches its spec, with the ID `''`.
 * Source: kubelet `GetPodStatus`.
 *
 * Divergence: the newest run or sandbox is the one with the highest `attempt`. The kubelet sorts by creation time, so
 * after the wall clock is set back it considers a new container old, and starts a duplicate beside it.
 */
export function podStatusFromRuntime(
  pod: Pod,
  runtimePod: RuntimePod | undefined,
  runtime: { readonly runPodSandbox?: unknown },
): RuntimePodStatus {
  const containers = newestFirst(runtimePod?.containers ?? []);
  if (!hasSandboxes(runtime)) {
    const sandbox: RuntimeSandboxStatus = { id: '', ready: true, hostNetwork: pod.spec?.hostNetwork };
    return { sandboxes: [sandbox], containers, ips: runtimePod?.ips ?? [] };
  }
  const sandboxes = newestSandboxesFirst(runtimePod?.sandboxes ?? []);
  return { sandboxes, containers, ips: sandboxIPs(sandboxes[0]) };
}

export function newestSandboxesFirst(sandboxes: readonly RuntimeSandboxStatus[]): RuntimeSandboxStatus[] {
  return sandboxes.toSorted((a, b) => byAttempt(a, b) || (b.createdAtMs ?? 0) - (a.createdAtMs ?? 0));
}

/** Newest first, and the runs of each container by their attempts. */
export function newestFirst(containers: readonly RuntimeContainerStatus[]): RuntimeContainerStatus[] {
  const byCreation = containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const runs = [...allBy(byCreation, 'name')];
  const inOrder = new Map(runs.map(([name, list]) => [name, list.sort(byAttempt).values()]));
  return byCreation.map(({ name }) => inOrder.get(name)!.next().value!);
}

function byAttempt(a: { readonly attempt?: number | undefined }, b: { readonly attempt?: number | undefined }): number {
  return (b.attempt ?? 0) - (a.attempt ?? 0);
}

/** The addresses of a sandbox that is ready, the primary one first. Source: kubelet `determinePodSandboxIPs`. */
export function sandboxIPs(sandbox: RuntimeSandboxStatus | undefined): readonly string[] {
  if (sandbox?.ready !== true || sandbox.network == null) return [];
  const { ip, additionalIPs = [] } = sandbox.network;
  return ip ? [ip, ...additionalIPs] : additionalIPs;
}
