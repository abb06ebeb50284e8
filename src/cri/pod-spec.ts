import type { Container, LifecycleHandler, Pod, PodSpec } from '../kube/objects/types.ts';

/*
 * The fields of a pod's spec that only a container runtime reads. The API server or the validation of static pods has
 * validated them, so they are read without checks.
 */

export interface SELinuxOptions {
  readonly user?: string | undefined;
  readonly role?: string | undefined;
  readonly type?: string | undefined;
  readonly level?: string | undefined;
}

/** `seccompProfile` and `appArmorProfile`. */
export interface ProfileSource {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostProfile?: string | undefined;
}

export interface PodSecurityContext {
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly supplementalGroups?: readonly number[] | undefined;
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict' | undefined;
  readonly fsGroup?: number | undefined;
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly seccompProfile?: ProfileSource | undefined;
  readonly appArmorProfile?: ProfileSource | undefined;
}

export interface SecurityContext {
  readonly capabilities?:
    | { readonly add?: readonly string[] | undefined; readonly drop?: readonly string[] | undefined }
    | undefined;
  readonly privileged?: boolean | undefined;
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly readOnlyRootFilesystem?: boolean | undefined;
  readonly allowPrivilegeEscalation?: boolean | undefined;
  readonly procMount?: 'Default' | 'Unmasked' | undefined;
  readonly seccompProfile?: ProfileSource | undefined;
  readonly appArmorProfile?: ProfileSource | undefined;
}

export interface ContainerPort {
  readonly name?: string | undefined;
  readonly containerPort: number;
  readonly hostPort?: number | undefined;
  readonly hostIP?: string | undefined;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP' | undefined;
}

export interface RunnableContainer extends Container {
  readonly securityContext?: SecurityContext | undefined;
  readonly ports?: readonly ContainerPort[] | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly tty?: boolean | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: string | undefined;
  readonly targetContainerName?: string | undefined;
  readonly lifecycle?:
    | { readonly preStop?: LifecycleHandler | undefined; readonly stopSignal?: string | undefined }
    | undefined;
}

export interface RunnablePodSpec extends PodSpec {
  readonly containers?: readonly RunnableContainer[] | undefined;
  readonly initContainers?: readonly RunnableContainer[] | undefined;
  readonly ephemeralContainers?: readonly RunnableContainer[] | undefined;
  readonly securityContext?: PodSecurityContext | undefined;
  readonly hostPID?: boolean | undefined;
  readonly hostIPC?: boolean | undefined;
  readonly hostUsers?: boolean | undefined;
  readonly shareProcessNamespace?: boolean | undefined;
  readonly runtimeClassName?: string | undefined;
}

export function runnableSpec({ spec }: Pod): RunnablePodSpec {
  return (spec ?? {}) as RunnablePodSpec;
}

export function runnableContainers(spec: RunnablePodSpec): RunnableContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}
