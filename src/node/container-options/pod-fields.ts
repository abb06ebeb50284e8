import type { Container, EnvVar, Pod, PodSpec } from '../../kube/objects/types.ts';

/* Fields of a pod's spec that only containers and their environment need, typed as far as they are used. */

interface Optional {
  readonly name?: string | undefined;
  /** Unless true, the object and the key must exist. */
  readonly optional?: boolean | undefined;
}

/** Source: `v1.ObjectFieldSelector`. */
export interface ObjectFieldSelector {
  readonly apiVersion?: string | undefined;
  readonly fieldPath: string;
}

/** Source: `v1.ResourceFieldSelector`. */
export interface ResourceFieldSelector {
  readonly containerName?: string | undefined;
  readonly resource: string;
  readonly divisor?: string | undefined;
}

interface KeySelector extends Optional {
  readonly key: string;
}

/** Source: `v1.FileKeySelector`. */
export interface FileKeySelector {
  readonly volumeName: string;
  /** In the volume. */
  readonly path: string;
  readonly key: string;
  /** Unless true, the file must have the key. */
  readonly optional?: boolean | undefined;
}

/** Source: `v1.EnvVarSource`. */
interface EnvVarSource {
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
  readonly configMapKeyRef?: KeySelector | undefined;
  readonly secretKeyRef?: KeySelector | undefined;
  readonly fileKeyRef?: FileKeySelector | undefined;
}

interface EnvFromSource {
  readonly prefix?: string | undefined;
  readonly configMapRef?: Optional | undefined;
  readonly secretRef?: Optional | undefined;
}

/** A container with the sources of its environment. */
export interface ContainerWithEnvironment extends Container {
  readonly env?: readonly (EnvVar & { readonly valueFrom?: EnvVarSource | undefined })[] | undefined;
  readonly envFrom?: readonly EnvFromSource[] | undefined;
}

/** Source: `v1.HostAlias`. */
export interface HostAlias {
  readonly ip: string;
  readonly hostnames?: readonly string[] | undefined;
}

/** Source: `v1.PodDNSConfig`. */
export interface PodDNSConfig {
  readonly nameservers?: readonly string[] | undefined;
  readonly searches?: readonly string[] | undefined;
  readonly options?: readonly { readonly name: string; readonly value?: string | undefined }[] | undefined;
}

interface NamedReference {
  readonly name?: string | undefined;
}

interface PodSpecForContainers extends PodSpec {
  readonly dnsConfig?: PodDNSConfig | undefined;
  readonly dnsPolicy?: string | undefined;
  readonly enableServiceLinks?: boolean | undefined;
  readonly hostAliases?: readonly HostAlias[] | undefined;
  readonly hostname?: string | undefined;
  readonly hostnameOverride?: string | undefined;
  readonly imagePullSecrets?: readonly NamedReference[] | undefined;
  readonly serviceAccountName?: string | undefined;
  readonly setHostnameAsFQDN?: boolean | undefined;
  readonly subdomain?: string | undefined;
}

export function podSpecOf({ spec }: Pod): PodSpecForContainers {
  return (spec ?? {}) as PodSpecForContainers;
}
