/** What a log line says of a pod: `pod` is `namespace/name`. */
export interface PodFields {
  readonly pod: string;
  readonly podUID: string;
}

/** As `PodFields`, of one version of the pod's status. */
export interface StatusFields extends PodFields {
  readonly statusVersion: number;
}

interface NamedPod {
  readonly podNamespace: string;
  readonly podName: string;
}

/** Every log line about a pod starts with these fields. */
export function podFields(podUID: string, { podNamespace, podName }: NamedPod): PodFields {
  return { pod: `${podNamespace}/${podName}`, podUID };
}

/** Every log line about one version of a status starts with these fields. */
export function statusFields(podUID: string, versioned: NamedPod & { readonly version: number }): StatusFields {
  return { pod: `${versioned.podNamespace}/${versioned.podName}`, podUID, statusVersion: versioned.version };
}
