import type { KubeObject } from '../../kube/objects/kube-object.ts';

/** Source: `v1.Taint`. */
export interface Taint extends KubeObject<'Taint'> {}

/** `type` is `InternalIP`, `ExternalIP`, `Hostname`, … Source: `v1.NodeAddress`. */
export interface NodeAddress extends KubeObject<'NodeAddress'> {}

/** Source: `v1.NodeCondition`. */
export interface NodeCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastHeartbeatTime?: string | null | undefined;
  readonly lastTransitionTime?: string | null | undefined;
}

/** Fields that this library does not read are kept and sent as they are. Source: `v1.NodeStatus`. */
export interface NodeStatus {
  readonly addresses?: readonly NodeAddress[] | undefined;
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  readonly conditions?: readonly NodeCondition[] | undefined;
  readonly nodeInfo?: Readonly<Record<string, unknown>> | undefined;
  /** Optional features of a kubelet that the node has; the scheduler and the API server rely on them. */
  readonly declaredFeatures?: readonly string[] | undefined;
  readonly [field: string]: unknown;
}

/** Source: `v1.Node`. */
export interface Node {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: KubeObject<'ObjectMeta'> & { readonly name: string };
  readonly spec?: KubeObject<'NodeSpec'> | undefined;
  readonly status?: NodeStatus | undefined;
}

/** Source: coordination `v1.Lease`. */
export interface Lease {
  readonly apiVersion: 'coordination.k8s.io/v1';
  readonly kind: 'Lease';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
    readonly creationTimestamp?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly ownerReferences?: readonly object[] | undefined;
  };
  readonly spec: {
    readonly holderIdentity?: string | undefined;
    readonly leaseDurationSeconds?: number | undefined;
    /** RFC 3339 with microseconds, as `renewTime`. */
    readonly acquireTime?: string | undefined;
    readonly renewTime?: string | undefined;
    /** How often the holder has changed. */
    readonly leaseTransitions?: number | undefined;
  };
}
