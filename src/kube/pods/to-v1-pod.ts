import { isObject } from '../../shared/json.ts';
import type { Pod } from '../objects/types.ts';

const timeFields = new Set([
  'creationTimestamp',
  'deletionTimestamp',
  'finishedAt',
  'lastProbeTime',
  'lastTransitionTime',
  'startTime',
  'startedAt',
  'time',
]);
/** Maps whose keys are chosen by users. */
const maps = new Set(['annotations', 'labels', 'fieldsV1']);

/**
 * A copy of a pod for the functions of client-node, whose generated classes have times as `Date`s. The type is inferred
 * from where the pod is passed: `api.createNamespacedPod({ namespace, body: toV1Pod(pod) })`. The other direction needs no
 * conversion: every function of this package accepts a `V1Pod`.
 *
 * @example
 * ```ts
 * import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
 * import { toV1Pod } from 'kubelet-status-manager';
 *
 * const kubeConfig = new KubeConfig();
 * kubeConfig.loadFromDefault();
 * const api = kubeConfig.makeApiClient(CoreV1Api);
 * for (const pod of podManager.getPods()) await api.createNamespacedPod({ namespace: 'copies', body: toV1Pod(pod) });
 * ```
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- inferred from where the pod is passed
export function toV1Pod<V1Pod>({ metadata, status, ...pod }: Pod): V1Pod {
  return {
    ...structuredClone(pod),
    ...(metadata && { metadata: withDates(metadata) }),
    ...(status && { status: withDates(status) }),
  } as V1Pod;
}

function withDates(value: unknown, name = ''): unknown {
  // oxlint-disable-next-line no-restricted-globals -- as client-node does
  if (typeof value === 'string') return timeFields.has(name) ? new Date(value) : value;
  if (Array.isArray(value)) return value.map((item) => withDates(item));
  if (!isObject(value) || maps.has(name)) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withDates(field, key)]));
}
