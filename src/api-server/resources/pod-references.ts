import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';

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
