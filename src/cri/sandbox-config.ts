import { join } from 'node:path';
import { normalizeSysctl } from '../kube/pods/normalize-sysctl.ts';
import { type KubeObject, podSpecOf } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import type { CRIRequest } from './cri-messages.ts';
import { newPodLabels, podLogsDirectoryName } from './labels.ts';
import { overheadLinuxResources, sandboxLinuxResources } from './linux-resources.ts';
import { sandboxSecurityContext } from './security-context.ts';

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
