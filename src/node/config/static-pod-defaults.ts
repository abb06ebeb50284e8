import { createHash } from 'node:crypto';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { configHashAnnotation } from '../../kube/pods/static-pods.ts';
import { withAnnotations } from './check-and-update-pod.ts';

/** Where a manifest was read from. */
export interface ManifestOrigin {
  /** The path or the URL. */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
}

const toleratesAllNoExecute = { operator: 'Exists', effect: 'NoExecute' };

/**
 * A decoded manifest, with the API server's defaults, as the pod on this node: its name ends with the node's name,
 * its UID changes with the manifest unless the manifest has one, and it has the annotation
 * `kubernetes.io/config.hash`. Source: kubelet `applyDefaults`.
 *
 * Divergence: the UID is a different hash than the kubelet's, which hashes Go's debug output.
 */
export function applyDefaults(manifest: Pod, { source, isFile, nodeName }: ManifestOrigin): ValidPod {
  const { metadata = {}, spec } = manifest;
  const origin = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  const uid =
    metadata.uid || createHash('sha256').update(canonicalText(manifest)).update(origin).digest('hex').slice(0, 32);
  const pod = {
    ...manifest,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace || 'default',
    },
    spec: {
      ...spec,
      nodeName,
      ...(isFile && { tolerations: withToleration(spec?.tolerations) }),
    },
    status: { ...manifest.status, phase: 'Pending' },
  } as ValidPod;
  return withAnnotations(pod, { [configHashAnnotation]: uid });
}

/** Replaces the same toleration with other seconds in its place, else appends. Source: kubelet `AddOrUpdateTolerationInPod`. */
function withToleration(tolerations: readonly object[] = []): object[] {
  const isSame = (toleration: object): boolean => {
    const { key = '', operator, effect, value = '' } = toleration as Record<string, unknown>;
    return key === '' && value === '' && operator === 'Exists' && effect === 'NoExecute';
  };
  if (!tolerations.some(isSame)) return [...tolerations, toleratesAllNoExecute];
  return tolerations.map((toleration) => (isSame(toleration) ? toleratesAllNoExecute : toleration));
}

/** A text that does not depend on the order of the manifest's fields. */
function canonicalText(manifest: Pod): string {
  return JSON.stringify(manifest, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
