import type { Pod } from './types.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Volumes that need the API server, and the text for them in the error message. */
export const volumeReferences: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
};

/** Sources of a projected volume that need the API server, and the text for them. */
export const projectedReferences: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
};

/**
 * The kind of API object that the pod refers to, or undefined. Static pods may not refer to any, because they run
 * without an API server. Source: kubelet `HasAPIObjectReference`.
 */
export function apiObjectReference(pod: Pod): string | undefined {
  const spec: Fields = (pod.spec ?? {}) as unknown as Fields;
  if (spec.serviceAccountName || spec.serviceAccount) return 'serviceaccounts';
  const containers = [...listOf(spec.initContainers), ...listOf(spec.containers)];
  const envFrom = containers.flatMap((container) => listOf(container.envFrom));
  const valueFrom = containers.flatMap((container) => listOf(container.env)).map((env) => fieldsOf(env.valueFrom));
  const sources = listOf(spec.volumes);
  const hasSecretRef = sources.some((volume) => Object.values(volume).some((source) => has(source, 'secretRef')));
  if (
    listOf(spec.imagePullSecrets).length > 0 ||
    hasSecretRef ||
    envFrom.some((source) => has(source, 'secretRef')) ||
    valueFrom.some((source) => has(source, 'secretKeyRef'))
  )
    return 'secrets';
  if (
    envFrom.some((source) => has(source, 'configMapRef')) ||
    valueFrom.some((source) => has(source, 'configMapKeyRef'))
  )
    return 'configmaps';
  if (listOf(spec.resourceClaims).length > 0) return 'resourceclaims';
  for (const volume of sources) {
    const projected = listOf(fieldsOf(volume.projected).sources);
    const reference =
      referenceOf(volume, volumeReferences) ??
      projected.map((one) => referenceOf(one, projectedReferences)).find(Boolean);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

function referenceOf(source: Fields, table: Readonly<Record<string, string>>): string | undefined {
  const field = Object.keys(table).find((name) => has(source, name));
  return field && table[field];
}

function has(value: unknown, field: string): boolean {
  return fieldsOf(value)[field] != null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
