import { join } from 'node:path';
import { normalizeSysctl } from '../kube/pods/normalize-sysctl.ts';
import { type KubeObject, podSpecOf } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import type { CRIRequest } from './cri-messages.ts';
import { newPodLabels, podLogsDirectoryName } from './labels.ts';
import {
  overheadLinuxResources,
  sandboxLinuxResources,
  milliCPUToQuota,
  milliCPUToShares,
  quotaPeriod,
} from './linux-resources.ts';
import { sandboxSecurityContext } from './security-context.ts';
import { quantityValue } from '../kube/objects/quantity.ts';
import { CRIError } from './cri-error.ts';
import type { CRICallOptions, CRIConnection } from './cri-connection.ts';
import type { ResourceConfig } from './resource-config.ts';

/** Node-specific settings of a sandbox. */
export interface SandboxSettings {
  readonly attempt: number;
  readonly dns: CRIRequest<'DNSConfig'>;
  /** Empty for a pod in the node's network. */
  readonly hostname: string;
  readonly podLogsDirectory: string;
  readonly userNamespace: CRIRequest<'UserNamespace'>;
  /** The cgroup of the pod; empty leaves it to the runtime. */
  readonly cgroupParent: string;
}

/** Source: kubelet `generatePodSandboxConfig`. */
export function generatePodSandboxConfig(pod: ValidPod, settings: SandboxSettings): CRIRequest<'PodSandboxConfig'> {
  const spec = podSpecOf(pod);
  const { name, namespace, uid, annotations } = pod.metadata;
  return {
    metadata: { name, namespace, uid, attempt: settings.attempt },
    labels: newPodLabels(pod),
    annotations: annotations ?? {},
    dns_config: settings.dns,
    hostname: settings.hostname,
    log_directory: join(settings.podLogsDirectory, podLogsDirectoryName(pod)),
    port_mappings: portMappings(spec),
    linux: {
      cgroup_parent: settings.cgroupParent,
      sysctls: Object.fromEntries(
        (spec.securityContext?.sysctls ?? []).map((sysctl) => [normalizeSysctl(sysctl.name), sysctl.value]),
      ),
      security_context: sandboxSecurityContext(pod, settings.userNamespace),
      ...(pod.spec?.overhead != null && { overhead: overheadLinuxResources(pod) }),
      resources: sandboxLinuxResources(pod),
    },
  };
}

/** Source: kubelet `MakePortMappings`. */
function portMappings({ containers = [], hostNetwork }: KubeObject<'PodSpec'>): readonly CRIRequest<'PortMapping'>[] {
  if (hostNetwork === true) return [];
  return containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostIP = '', hostPort, containerPort, protocol = 'TCP' }) => {
        return { host_ip: hostIP, host_port: hostPort, container_port: containerPort, protocol: protocol as 'TCP' };
      }),
  );
}

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
