import type { RuntimeContainerState, RuntimeContainerStatus, RuntimeSandboxStatus } from '../node/index.ts';
import type { CRIMessage } from './cri-messages.ts';
import { containerNameLabel, hashAnnotation, restartCountAnnotation } from './labels.ts';
import { resourcesFromStatus } from './linux-resources.ts';

const states: Readonly<Record<CRIMessage<'ContainerStatus'>['state'], RuntimeContainerState>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

/**
 * A container as the agent sees it; `terminationMessage` is what `readTerminationMessage` gave.
 * Source: kubelet `toKubeContainerStatus`.
 */
export function toRuntimeContainerStatus(
  status: CRIMessage<'ContainerStatus'>,
  {
    runtimeName,
    sandboxID,
    terminationMessage,
  }: { readonly runtimeName: string; readonly sandboxID: string; readonly terminationMessage: string },
): RuntimeContainerStatus {
  const { labels, annotations, image, resources, user } = status;
  const hasStarted = status.state !== 'CONTAINER_CREATED';
  return {
    id: `${runtimeName}://${status.id}`,
    name: labels[containerNameLabel] ?? '',
    sandboxID,
    state: states[status.state],
    attempt: Number(annotations[restartCountAnnotation] ?? 0),
    hash: annotations[hashAnnotation],
    createdAtMs: toMs(status.created_at),
    // A container that could not be started has the time 0, which the kubelet shows as 1970.
    startedAtMs: hasStarted ? toMs(status.started_at) : undefined,
    image: image?.image,
    // containerd before 2.0 does not report the ID.
    imageID: status.image_id || status.image_ref,
    imageRef: status.image_ref,
    ...(status.state === 'CONTAINER_EXITED' && {
      finishedAtMs: toMs(status.finished_at),
      exitCode: status.exit_code,
      reason: status.reason,
      message: [status.message, terminationMessage].filter(Boolean).join(': '),
    }),
    resources: resources?.linux ? resourcesFromStatus(resources.linux) : undefined,
    user: user?.linux
      ? {
          linux: {
            uid: user.linux.uid,
            gid: user.linux.gid,
            supplementalGroups: [...user.linux.supplemental_groups],
          },
        }
      : undefined,
    mountedImageIDs: status.mounts.flatMap((mount) => (mount.image?.image ? [mount.image.image] : [])),
    recursiveReadOnlyMounts: status.mounts
      .filter((mount) => mount.recursive_read_only)
      .map((mount) => mount.container_path),
    stopSignal:
      status.stop_signal === 'SIGNAL_RUNTIME_DEFAULT' ? undefined : status.stop_signal.slice('SIGNAL_'.length),
  };
}

/** A sandbox as the agent sees it. */
export function toRuntimeSandboxStatus(status: CRIMessage<'PodSandboxStatus'>): RuntimeSandboxStatus {
  const { network, linux, metadata } = status;
  return {
    id: status.id,
    ready: status.state === 'SANDBOX_READY',
    attempt: metadata?.attempt ?? 0,
    createdAtMs: toMs(status.created_at),
    hostNetwork: linux?.namespaces?.options?.network === 'NODE',
    network: network ? { ip: network.ip, additionalIPs: network.additional_ips.map(({ ip }) => ip) } : undefined,
  };
}

function toMs(nanoseconds: number): number {
  return Math.floor(nanoseconds / 1e6);
}
