import type { Container, Pod } from '../../kube/objects/types.ts';

/*
 * The fields of a pod's spec that only admission reads. The API server has validated them, or the validation of
 * static pods.
 */

/** Source: `v1.NodeSelectorRequirement`. */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** Source: `v1.NodeSelectorTerm`. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[] | undefined;
  readonly matchFields?: readonly NodeSelectorRequirement[] | undefined;
}

/** Source: `v1.ContainerPort`. */
export interface HostPort {
  readonly hostPort?: number | undefined;
  readonly hostIP?: string | undefined;
  readonly protocol?: string | undefined;
}

interface SchedulingSpec {
  readonly containers?: readonly ContainerWithPorts[] | undefined;
  readonly initContainers?: readonly ContainerWithPorts[] | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly affinity?:
    | {
        readonly nodeAffinity?:
          | {
              readonly requiredDuringSchedulingIgnoredDuringExecution?:
                | { readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] | undefined }
                | undefined;
            }
          | undefined;
      }
    | undefined;
  readonly os?: { readonly name?: string | undefined } | undefined;
  readonly hostNetwork?: boolean | undefined;
  readonly hostIPC?: boolean | undefined;
  readonly hostUsers?: boolean | undefined;
  readonly securityContext?:
    | {
        readonly supplementalGroupsPolicy?: string | undefined;
        readonly sysctls?: readonly { readonly name: string }[] | undefined;
      }
    | undefined;
}

type ContainerWithPorts = Container & { readonly ports?: readonly HostPort[] | undefined };

export function schedulingSpec({ spec }: Pod): SchedulingSpec {
  return (spec ?? {}) as SchedulingSpec;
}
