import type { Pod } from '../../index.ts';
import type { ContainerRuntime, RuntimePod } from './container-runtime.ts';
import type { RuntimePodStatus, RuntimeSandboxStatus } from './runtime-pod-status.ts';

/** True when the pods of a runtime have sandboxes. */
function hasSandboxes(runtime: Pick<ContainerRuntime, 'runPodSandbox'>): boolean {
  return runtime.runPodSandbox !== undefined;
}

/**
 * The runtime status of a pod, newest first. In a runtime without sandboxes, each pod is treated as if
 * it had one that is ready and matches its spec, with the ID `''`.
 * Source: kubelet `GetPodStatus`, `determinePodSandboxIPs`.
 */
export function podStatusFromRuntime(
  pod: Pod,
  runtimePod: RuntimePod | undefined,
  runtime: Pick<ContainerRuntime, 'runPodSandbox'>,
): RuntimePodStatus {
  const containers = (runtimePod?.containers ?? []).toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  if (!hasSandboxes(runtime)) {
    const sandbox: RuntimeSandboxStatus = { id: '', ready: true, hostNetwork: pod.spec?.hostNetwork };
    return { sandboxes: [sandbox], containers, ips: runtimePod?.ips ?? [] };
  }
  const sandboxes = (runtimePod?.sandboxes ?? []).toSorted((a, b) => (b.createdAtMs ?? 0) - (a.createdAtMs ?? 0));
  return { sandboxes, containers, ips: sandboxIPs(sandboxes[0]) };
}

function sandboxIPs(newest: RuntimeSandboxStatus | undefined): readonly string[] {
  if (newest?.ready !== true || newest.network == null) return [];
  const { ip, additionalIPs = [] } = newest.network;
  return ip ? [ip, ...additionalIPs] : additionalIPs;
}
