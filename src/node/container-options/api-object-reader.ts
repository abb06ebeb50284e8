import type { KubeObject } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodScope } from '../pod-scope.ts';

/** The fields of a Service that environment variables describe. */
export interface Service {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec: {
    readonly clusterIP?: string | undefined;
    readonly ports?: readonly ServicePort[] | undefined;
  };
}

interface ServicePort {
  readonly name?: string | undefined;
  readonly port: number;
  readonly protocol?: string | undefined;
}

/** A projected service account token. */
export interface TokenRequest {
  /** Default: the API server. */
  readonly audience?: string | undefined;
  /** Default: 3,600. */
  readonly expirationSeconds?: number | undefined;
}

/** Objects of the API server that the containers of a pod reference. */
export interface ObjectReader {
  /** Undefined if it does not exist. */
  getConfigMap(namespace: string, name: string): Promise<KubeObject<'ConfigMap'> | undefined>;
  /** Undefined if it does not exist. */
  getSecret(namespace: string, name: string): Promise<KubeObject<'Secret'> | undefined>;
  /** A token of the pod's service account, bound to the pod, and kept as long as its scope. */
  getServiceAccountToken(pod: Pod, request: TokenRequest, scope: PodScope): Promise<string>;
}

/** The Services of the cluster. */
export interface ServiceReader {
  /** Resolves when the Services have been read at least once; rejects if that takes too long. */
  waitForSync(): Promise<void>;
  /** The Services of a namespace that are known now. */
  listServices(namespace: string): readonly Service[];
}
