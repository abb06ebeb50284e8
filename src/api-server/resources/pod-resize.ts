import { quantityNanos } from '../../kube/objects/quantity.ts';
import { forbidden, type Subject } from '../api-status.ts';
import { objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import type { ObjectStore } from '../storage/store.ts';

/** The units of the amounts in the error message, in billionths. */
const units = [
  ['cpu', 1_000_000n],
  ['memory', 1_000_000_000n],
] as const;

/**
 * Rejects a resize beyond the allocatable resources of the node.
 * @throws APIStatusError 403
 * Source: `plugin/pkg/admission/podresize`.
 */
export function refuseResize(subject: Subject, next: StoredObject, old: StoredObject, store: ObjectStore): void {
  const nodeName = stringOf(specOf(next), 'nodeName');
  if (nodeName === '' || next.metadata.generation === old.metadata.generation) return;
  const { name } = next.metadata;
  const node = store.get('nodes', '', nodeName);
  if (node === undefined) throw forbidden(subject, name, `node ${JSON.stringify(nodeName)} not found`);
  const allocatable = objectOf(statusOf(node), 'allocatable');
  const missing = units.flatMap(([resource, unit]) => {
    const [asked, available] = [requested(next, resource), quantityNanos(stringOf(allocatable, resource) || '0') ?? 0n];
    return asked > available ? [`${resource}, requested: ${asked / unit}, allocatable: ${available / unit}`] : [];
  });
  if (missing.length === 0) return;
  throw forbidden(subject, name, `node didn't have enough allocatable resources: ${missing.join('; ')}`, [
    { reason: 'NodeCapacity' },
  ]);
}

/** The effective request: the sum of the containers, or a larger init container. */
function requested(pod: StoredObject, resource: string): bigint {
  const requestsOf = (list: string) =>
    objectsOf(specOf(pod), list).map((container) => {
      const requests = objectOf(objectOf(container, 'resources'), 'requests');
      return quantityNanos(stringOf(requests, resource) || '0') ?? 0n;
    });
  const together = requestsOf('containers').reduce((sum, nanos) => sum + nanos, 0n);
  return requestsOf('initContainers').reduce((max, nanos) => (nanos > max ? nanos : max), together);
}
