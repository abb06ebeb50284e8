import { arch, availableParallelism, platform, release, totalmem, type } from 'node:os';
import type { NodeStatus } from './node-types.ts';

/** Go's names for this platform. Source: Go `runtime.GOOS`, `runtime.GOARCH`. */
export function goPlatform(): { readonly os: string; readonly arch: string } {
  const archs: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };
  return { os: platform() === 'win32' ? 'windows' : platform(), arch: archs[arch()] ?? arch() };
}

/** The labels of a machine with this `nodeInfo`; default: of this machine. Source: kubelet `initialNode`. */
export function defaultNodeLabels(nodeName: string, nodeInfo: NodeStatus['nodeInfo'] = {}): Record<string, string> {
  const platform = goPlatform();
  const { operatingSystem: os = platform.os, architecture: arch = platform.arch } = nodeInfo as Record<string, string>;
  return {
    'beta.kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': os,
    'kubernetes.io/arch': arch,
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': os,
  };
}

/** The status of this machine; unknown fields are empty. */
export function defaultNodeStatus(): NodeStatus {
  const { os, arch } = goPlatform();
  return {
    capacity: { cpu: String(availableParallelism()), memory: `${Math.floor(totalmem() / 1024)}Ki`, pods: '110' },
    nodeInfo: {
      architecture: arch,
      bootID: '',
      containerRuntimeVersion: '',
      kernelVersion: release(),
      kubeProxyVersion: '',
      kubeletVersion: '',
      machineID: '',
      operatingSystem: os,
      osImage: type(),
      systemUUID: '',
    },
  };
}

/**
 * Features that this agent has on every runtime. Resizes of pod-level resources depend on the runtime, web sockets on the
 * kubelet API. Source: component-helpers `nodedeclaredfeatures`.
 */
export const agentFeatures: readonly string[] = [
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];

/** Each feature once, sorted, as the API server demands. */
export function declaredFeatures(...lists: readonly (readonly string[] | null | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))].toSorted();
}
