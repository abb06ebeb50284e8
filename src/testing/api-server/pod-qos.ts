import { quantityNanos } from '../../status/quantity.ts';
import { type JSONObject, objectOf, objectsOf } from './objects.ts';

const computeResources = ['cpu', 'memory'];

/**
 * The quality of service class of a pod whose spec has its defaults.
 * Source: `apis/core/v1/helper/qos` `ComputePodQOS`.
 */
export function podQOSClass(spec: JSONObject): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const ofPod = objectOf(spec, 'resources');
  const all = hasAny(ofPod)
    ? [ofPod]
    : [...objectsOf(spec, 'initContainers'), ...objectsOf(spec, 'containers')].map((container) =>
        objectOf(container, 'resources'),
      );
  if (!all.some(hasAny)) return 'BestEffort';
  return all.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function amount(resources: JSONObject, list: 'limits' | 'requests', name: string): bigint {
  const quantity = objectOf(resources, list)[name];
  return (typeof quantity === 'string' ? quantityNanos(quantity) : undefined) ?? 0n;
}

function hasAny(resources: JSONObject): boolean {
  return computeResources.some(
    (name) => amount(resources, 'limits', name) > 0n || amount(resources, 'requests', name) > 0n,
  );
}

function isGuaranteed(resources: JSONObject): boolean {
  return computeResources.every((name) => {
    const limit = amount(resources, 'limits', name);
    return limit > 0n && amount(resources, 'requests', name) === limit;
  });
}
