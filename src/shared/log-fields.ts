interface NamedPod {
  readonly podNamespace: string;
  readonly podName: string;
}

/** Every log line about a pod starts with these fields. */
export function podFields(podUID: string, { podNamespace, podName }: NamedPod) {
  return { pod: `${podNamespace}/${podName}`, podUID };
}

/** Every log line about one version of a status starts with these fields. */
export function statusFields(podUID: string, versioned: NamedPod & { readonly version: number }) {
  return { pod: `${versioned.podNamespace}/${versioned.podName}`, podUID, statusVersion: versioned.version };
}
