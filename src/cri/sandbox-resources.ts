import { quantityValue } from '../kube/objects/quantity.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { CRIError } from './cri-error.ts';
import type { CRICallOptions, CRIConnection } from './cri-connection.ts';
import type { CRIRequest } from './cri-messages.ts';
import { milliCPUToQuota, milliCPUToShares, overheadLinuxResources, quotaPeriod } from './linux-resources.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Tells the runtime which resources a pod gets when it is resized; does nothing if the runtime does not implement it.
 * Rejects if the runtime refuses them. Source: kubelet `updatePodSandboxResources`.
 */
export async function updatePodSandboxResources(
  client: Pick<CRIConnection, 'call'>,
  request: CRIRequest<'UpdatePodSandboxResourcesRequest'>,
  options: CRICallOptions,
): Promise<void> {
  try {
    await client.call('UpdatePodSandboxResources', request, options);
  } catch (error) {
    if (error instanceof CRIError && isUnimplemented(error)) return;
    const message = error instanceof CRIError ? error.goMessage : (error as Error).message;
    // As the kubelet writes it.
    throw new Error(`updatePodSandboxResources failed for sanboxID "${request.pod_sandbox_id}": ${message}`, {
      cause: error,
    });
  }
}

/** containerd 2.2 responds with the code Unknown. */
function isUnimplemented({ code, message }: CRIError): boolean {
  return code === 'Unimplemented' || (code === 'Unknown' && message.includes('not implemented'));
}

/** Source: kubelet `generateUpdatePodSandboxResourcesRequest`. */
export function updateSandboxResourcesRequest(
  pod: ValidPod,
  sandboxID: string,
  { cpuShares, cpuQuota, memory }: ResourceConfig,
): CRIRequest<'UpdatePodSandboxResourcesRequest'> {
  const { cpu, memory: overheadMemory }: Readonly<Record<string, string | undefined>> = pod.spec?.overhead ?? {};
  const overheadCPU = quantityValue(cpu ?? 0, 'm') ?? 0;
  const isLimited = cpuQuota !== undefined && cpuQuota > 0;
  return {
    pod_sandbox_id: sandboxID,
    ...(pod.spec?.overhead != null && { overhead: overheadLinuxResources(pod) }),
    resources: {
      cpu_shares: milliCPUToShares(Math.ceil((cpuShares * 1000) / 1024) - overheadCPU),
      cpu_period: quotaPeriod,
      ...(cpuQuota !== undefined && { cpu_quota: isLimited ? cpuQuota - milliCPUToQuota(overheadCPU) : cpuQuota }),
      ...(memory !== undefined && { memory_limit_in_bytes: memory - (quantityValue(overheadMemory ?? 0) ?? 0) }),
    },
  };
}
