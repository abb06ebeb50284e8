import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from './json-object.ts';

/** Volumes that need the API server, and the text for them in the error message. */
const volumeReferences: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
};

/** Sources of a projected volume that need the API server, and the text for them. */
const projectedReferences: Readonly<Record<string, string>> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
};

/**
 * The kind of API object that a pod refers to, or undefined. Static pods and their mirror pods may not refer to any,
 * because they run without an API server. Source: `HasAPIObjectReference`.
 */
export function apiObjectReference(spec: JSONObject): string | undefined {
  if (stringOf(spec, 'serviceAccountName') !== '' || stringOf(spec, 'serviceAccount') !== '') return 'serviceaccounts';
  if (podSecretNames(spec).length > 0) return 'secrets';
  if (podConfigMapNames(spec).length > 0) return 'configmaps';
  if (objectsOf(spec, 'resourceClaims').length > 0) return 'resourceclaims';
  for (const volume of objectsOf(spec, 'volumes')) {
    const sources = objectsOf(objectOf(volume, 'projected'), 'sources');
    const reference =
      referenceIn(volume, volumeReferences) ??
      sources.map((one) => referenceIn(one, projectedReferences)).find(Boolean);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

function referenceIn(source: JSONObject, table: Readonly<Record<string, string>>): string | undefined {
  const field = Object.keys(table).find((name) => isJSONObject(source[name]));
  return field && table[field];
}

/** The names of the Secrets that a pod's spec refers to. Source: `VisitPodSecretNames`. */
export function podSecretNames(spec: JSONObject): string[] {
  const inVolumes = volumeSourcesOf(spec).flatMap((source) => [
    stringOf(source, 'secretName'),
    ...['secretRef', 'nodePublishSecretRef', 'secret'].map((field) => stringOf(objectOf(source, field), 'name')),
  ]);
  const pulls = objectsOf(spec, 'imagePullSecrets').map((reference) => stringOf(reference, 'name'));
  return [...pulls, ...namesInVariables(spec, 'secret'), ...inVolumes].filter((name) => name !== '');
}

/** The names of the ConfigMaps that a pod's spec refers to. Source: `VisitPodConfigmapNames`. */
export function podConfigMapNames(spec: JSONObject): string[] {
  const volumes = [...objectsOf(spec, 'volumes'), ...volumeSourcesOf(spec)];
  const inVolumes = volumes.map((volume) => stringOf(objectOf(volume, 'configMap'), 'name'));
  return [...namesInVariables(spec, 'configMap'), ...inVolumes].filter((name) => name !== '');
}

/** The source of each volume, and those of a projected one. */
function volumeSourcesOf(spec: JSONObject): JSONObject[] {
  const sources = objectsOf(spec, 'volumes').flatMap((volume) => Object.values(volume).filter(isJSONObject));
  return [...sources, ...sources.flatMap((source) => objectsOf(source, 'sources'))];
}

function namesInVariables(spec: JSONObject, kind: 'secret' | 'configMap'): string[] {
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => objectsOf(spec, list));
  return containers.flatMap((container) => [
    ...objectsOf(container, 'envFrom').map((source) => stringOf(objectOf(source, `${kind}Ref`), 'name')),
    ...objectsOf(container, 'env').map((variable) =>
      stringOf(objectOf(objectOf(variable, 'valueFrom'), `${kind}KeyRef`), 'name'),
    ),
  ]);
}
