import { projectedReferences, volumeReferences } from '../kube/api-object-reference.ts';
import { isJSONObject, type JSONObject, objectsOf, stringOf } from '../kube/json-object.ts';

/**
 * The resource of an API object that the pod refers to, which a mirror pod may not do; undefined if there is none.
 * Source: `HasAPIObjectReference`.
 */
export function apiReferenceOf(spec: JSONObject): string | undefined {
  if (stringOf(spec, 'serviceAccountName') !== '') return 'serviceaccounts';
  if (objectsOf(spec, 'imagePullSecrets').length > 0 || hasReference(spec, 'secret')) return 'secrets';
  if (hasReference(spec, 'configMap')) return 'configmaps';
  if (objectsOf(spec, 'resourceClaims').length > 0) return 'resourceclaims';
  for (const volume of objectsOf(spec, 'volumes')) {
    const [source = ''] = Object.keys(volume).filter((member) => member !== 'name');
    if (Object.hasOwn(volumeReferences, source)) return volumeReferences[source];
    const { projected } = volume;
    for (const one of isJSONObject(projected) ? objectsOf(projected, 'sources') : []) {
      const [kind = ''] = Object.keys(one);
      if (Object.hasOwn(projectedReferences, kind)) return projectedReferences[kind];
    }
  }
  return undefined;
}

/** Whether an environment variable or a volume takes its values from a Secret or a ConfigMap. */
function hasReference(spec: JSONObject, kind: 'secret' | 'configMap'): boolean {
  const lists = ['containers', 'initContainers', 'ephemeralContainers'];
  const containers = lists.flatMap((list) => objectsOf(spec, list));
  const isInVariables = containers.some(
    (container) =>
      objectsOf(container, 'envFrom').some((source) => source[`${kind}Ref`] !== undefined) ||
      objectsOf(container, 'env').some(({ valueFrom }) => isJSONObject(valueFrom) && `${kind}KeyRef` in valueFrom),
  );
  return isInVariables || objectsOf(spec, 'volumes').some((volume) => volume[kind] !== undefined);
}
