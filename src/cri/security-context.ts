import { join } from 'node:path';
import { formatPod } from '../kube/pods/pod-log-fields.ts';
import { allContainersOf } from '../kube/pods/pod-containers.ts';
import { type KubeObject, podSpecOf } from '../kube/objects/kube-object.ts';
import type { Pod, ValidPod } from '../kube/objects/types.ts';
import { appArmorProfile, ContainerConfigError, deprecatedAppArmorProfile } from '../node/index.ts';
import type { CRIRequest } from './cri-messages.ts';
import type { MachineResources } from './linux-resources.ts';

/** The user of an image: a number, or a name that only the image's files can resolve. */
export interface ImageUser {
  readonly uid?: number | undefined;
  readonly username?: string | undefined;
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Source: kubelet `NamespacesForPod`. */
export function namespacesForPod(
  spec: KubeObject<'PodSpec'>,
  userNamespace: CRIRequest<'UserNamespace'>,
): CRIRequest<'NamespaceOption'> {
  return {
    network: spec.hostNetwork === true ? 'NODE' : 'POD',
    pid: spec.hostPID === true ? 'NODE' : spec.shareProcessNamespace === true ? 'POD' : 'CONTAINER',
    ipc: spec.hostIPC === true ? 'NODE' : 'POD',
    userns_options: userNamespace,
  };
}

/** Source: kubelet `generatePodSandboxLinuxConfig`. */
export function sandboxSecurityContext(
  pod: Pod,
  userNamespace: CRIRequest<'UserNamespace'>,
): CRIRequest<'LinuxSandboxSecurityContext'> {
  const spec = podSpecOf(pod);
  const { securityContext: context = {} } = spec;
  return {
    privileged: allContainersOf(spec).some(({ securityContext }) => securityContext?.privileged === true),
    // Independent of the containers' profiles: the sandbox runs no user code.
    seccomp: { profile_type: 'RuntimeDefault' },
    namespace_options: namespacesForPod(spec, userNamespace),
    run_as_user: int64(context.runAsUser),
    run_as_group: int64(context.runAsGroup),
    supplemental_groups: supplementalGroups(context),
    supplemental_groups_policy: context.supplementalGroupsPolicy as 'Merge' | 'Strict' | undefined,
    selinux_options: context.seLinuxOptions && selinuxOption(context.seLinuxOptions),
  };
}

/** Source: kubelet `determineEffectiveSecurityContext`. @throws ContainerConfigError */
export function containerSecurityContext(
  pod: Pod,
  container: KubeObject<'Container'>,
  imageUser: ImageUser,
  options: {
    readonly seccompProfileRoot: string;
    /** Whether a container without a profile gets that of the runtime. */
    readonly seccompDefault: boolean;
    /** The container whose processes an ephemeral container sees. */
    readonly targetID: string | undefined;
    readonly userNamespace: CRIRequest<'UserNamespace'>;
    readonly machine: Pick<MachineResources, 'thermalThrottlePaths'>;
  },
): CRIRequest<'LinuxContainerSecurityContext'> {
  const spec = podSpecOf(pod);
  const podContext = spec.securityContext ?? {};
  const context = effectiveSecurityContext(podContext, container.securityContext);
  const isUnmasked = context.procMount === 'Unmasked';
  const namespaces = namespacesForPod(spec, options.userNamespace);
  const isTargeted = options.targetID !== undefined && namespaces.pid === 'CONTAINER';
  const { capabilities } = context;
  const profile = appArmorProfile(pod, container);
  return {
    capabilities: capabilities && {
      add_capabilities: capabilities.add ?? [],
      drop_capabilities: capabilities.drop ?? [],
    },
    selinux_options: context.seLinuxOptions && selinuxOption(context.seLinuxOptions),
    run_as_user: int64(context.runAsUser ?? imageUser.uid),
    run_as_username: context.runAsUser === undefined ? (imageUser.username ?? '') : '',
    run_as_group: int64(context.runAsGroup),
    privileged: context.privileged ?? false,
    readonly_rootfs: context.readOnlyRootFilesystem ?? false,
    namespace_options: isTargeted ? { ...namespaces, pid: 'TARGET', target_id: options.targetID } : namespaces,
    supplemental_groups: supplementalGroups(podContext),
    supplemental_groups_policy: podContext.supplementalGroupsPolicy as 'Merge' | 'Strict' | undefined,
    no_new_privs: context.allowPrivilegeEscalation === false,
    masked_paths: isUnmasked ? [] : [...maskedPaths, ...options.machine.thermalThrottlePaths],
    readonly_paths: isUnmasked ? [] : readonlyPaths,
    seccomp: securityProfile(
      context.seccompProfile ?? (options.seccompDefault ? { type: 'RuntimeDefault' } : undefined),
      options.seccompProfileRoot,
    ),
    apparmor: profile && securityProfile(profile, ''),
    apparmor_profile: profile && deprecatedAppArmorProfile(profile),
  };
}

/** Source: kubelet `verifyRunAsNonRoot`. @throws ContainerConfigError */
export function verifyRunAsNonRoot(
  pod: ValidPod,
  container: KubeObject<'Container'>,
  { uid, username }: ImageUser,
): void {
  const context = effectiveSecurityContext(podSpecOf(pod).securityContext ?? {}, container.securityContext);
  if (context.runAsNonRoot !== true) return;
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  const refuse = (message: string): never => {
    throw new ContainerConfigError(`${message} ${where}`);
  };
  if (context.runAsUser !== undefined) {
    if (context.runAsUser === 0) refuse("container's runAsUser breaks non-root policy");
  } else if (uid === 0) {
    refuse('container has runAsNonRoot and image will run as root');
  } else if (uid === undefined && username) {
    refuse(`container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root`);
  }
}

/** The container's fields, with those of the pod as defaults. Source: `DetermineEffectiveSecurityContext`. */
function effectiveSecurityContext(
  podContext: KubeObject<'PodSecurityContext'>,
  context: KubeObject<'SecurityContext'> = {},
): KubeObject<'SecurityContext'> {
  return {
    ...context,
    seLinuxOptions: context.seLinuxOptions ?? podContext.seLinuxOptions,
    runAsUser: context.runAsUser ?? podContext.runAsUser,
    runAsGroup: context.runAsGroup ?? podContext.runAsGroup,
    runAsNonRoot: context.runAsNonRoot ?? podContext.runAsNonRoot,
    seccompProfile: context.seccompProfile ?? podContext.seccompProfile,
  };
}

function supplementalGroups({
  fsGroup,
  supplementalGroups: groups = [],
}: KubeObject<'PodSecurityContext'>): readonly number[] {
  return fsGroup === undefined ? groups : [fsGroup, ...groups];
}

function securityProfile(
  profile: KubeObject<'SeccompProfile'> | undefined,
  root: string,
): CRIRequest<'SecurityProfile'> {
  switch (profile?.type) {
    case 'RuntimeDefault':
      return { profile_type: 'RuntimeDefault' };
    case 'Localhost':
      if (!profile.localhostProfile)
        throw new ContainerConfigError('localhostProfile must be set if seccompProfile type is Localhost.');
      return { profile_type: 'Localhost', localhost_ref: join(root, profile.localhostProfile) };
    default:
      return { profile_type: 'Unconfined' };
  }
}

function int64(value: number | undefined): CRIRequest<'Int64Value'> | undefined {
  return value === undefined ? undefined : { value };
}

function selinuxOption({ user, role, type, level }: KubeObject<'SELinuxOptions'>): CRIRequest<'SELinuxOption'> {
  return { user, role, type, level };
}
