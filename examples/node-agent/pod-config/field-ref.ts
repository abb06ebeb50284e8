import type { Pod } from 'kubelet-status-manager';

/** The values for `fieldRef` that are not in the pod object. */
export interface NodeFacts {
  readonly nodeName: string;
  /** The addresses of the node, which its pods share. Primary first. */
  readonly addresses: readonly string[];
}

/**
 * The value of a `fieldRef`.
 * @throws Error when the path is not one that a pod can read
 * Source: kubelet `podFieldSelectorRuntimeValue`.
 */
export function fieldValue({ metadata, spec }: Pod, fieldPath: string, { nodeName, addresses }: NodeFacts): string {
  const [, map, key] = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(fieldPath) ?? [];
  if (map !== undefined) return metadata?.[map as 'labels' | 'annotations']?.[key!] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return metadata?.name ?? '';
    case 'metadata.namespace':
      return metadata?.namespace ?? '';
    case 'metadata.uid':
      return metadata?.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata?.labels);
    case 'metadata.annotations':
      return formatMap(metadata?.annotations);
    case 'spec.nodeName':
      return spec?.nodeName ?? nodeName;
    case 'spec.serviceAccountName':
      return typeof spec?.serviceAccountName === 'string' ? spec.serviceAccountName : '';
    case 'status.podIP':
    case 'status.hostIP':
      return addresses[0] ?? '';
    case 'status.podIPs':
    case 'status.hostIPs':
      return addresses.join(',');
    default:
      throw new Error(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** Source: apimachinery `fieldpath.FormatMap`. */
function formatMap(map: { readonly [key: string]: string } = {}): string {
  return Object.entries(map)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}
