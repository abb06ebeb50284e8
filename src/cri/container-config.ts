import type { ContainerConfig, RunContainerOptions } from '../node/index.ts';
import type { Pod } from '../kube/objects/types.ts';
import type { CRIRequest } from './cri-messages.ts';
import { newContainerAnnotations, newContainerLabels } from './labels.ts';
import { containerLinuxResources, type MachineResources } from './linux-resources.ts';
import { containerSecurityContext, type ImageUser, verifyRunAsNonRoot } from './security-context.ts';

/** Settings of a container that depend on the node and on other objects. */
export interface ContainerSettings {
  readonly options: RunContainerOptions;
  /** Of the termination message, among others. */
  readonly moreMounts: readonly CRIRequest<'Mount'>[];
  readonly imageUser: ImageUser;
  readonly userNamespace: CRIRequest<'UserNamespace'>;
  readonly targetID: string | undefined;
  readonly seccompProfileRoot: string;
  readonly seccompDefault: boolean;
  readonly machine: MachineResources;
}

/** Source: kubelet `generateContainerConfig`. @throws ContainerConfigError */
export function generateContainerConfig(
  { pod, container, attempt, hash, imageRef }: ContainerConfig,
  settings: ContainerSettings,
): CRIRequest<'ContainerConfig'> {
  verifyRunAsNonRoot(pod, container, settings.imageUser);
  const { command, args, envs, mounts } = settings.options;
  const stopSignal = container.lifecycle?.stopSignal;
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageRef ?? container.image, user_specified_image: container.image },
    command,
    args,
    working_dir: container.workingDir,
    envs: envs.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: [...mounts.map((mount) => toCRIMount(pod, mount)), ...settings.moreMounts].map((mount) => ({
      ...mount,
      selinux_relabel: mount.selinux_relabel === true && settings.machine.hasSELinux,
      // Files that belong to the machine's root belong to root in the container.
      uidMappings: settings.userNamespace.uids,
      gidMappings: settings.userNamespace.gids,
    })),
    labels: newContainerLabels(pod, container),
    annotations: newContainerAnnotations(pod, container, { attempt, hash }),
    log_path: `${container.name}/${attempt}.log`,
    stdin: container.stdin,
    stdin_once: container.stdinOnce,
    tty: container.tty,
    stop_signal: stopSignal === undefined ? undefined : (`SIGNAL_${stopSignal}` as 'SIGNAL_SIGTERM'),
    linux: {
      resources: containerLinuxResources(pod, container, settings.machine),
      security_context: containerSecurityContext(pod, container, settings.imageUser, settings),
    },
  };
}

function toCRIMount({ metadata }: Pod, mount: RunContainerOptions['mounts'][number]): CRIRequest<'Mount'> {
  const { image } = mount;
  return {
    container_path: mount.containerPath,
    host_path: mount.hostPath,
    ...(image && {
      image: {
        image: image.imageRef,
        user_specified_image: image.userSpecifiedImage,
        annotations: metadata?.annotations ?? {},
      },
      image_sub_path: image.subPath,
    }),
    readonly: mount.readOnly,
    recursive_read_only: mount.recursiveReadOnly,
    propagation: mount.propagation,
    selinux_relabel: mount.seLinuxRelabel,
  };
}
