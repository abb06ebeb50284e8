import type { Pod } from '../../kube/objects/types.ts';
import { isObject } from '../../shared/json.ts';

/**
 * The field managers that own a part of the status that `changes` touches, according to the object's
 * managedFields; without duplicates. `changes` is a strategic merge patch; an undefined field means
 * its complete subtree.
 */
export function managersOf(pod: Pod, changes: object): string[] {
  const managedFields = pod.metadata?.managedFields;
  if (!Array.isArray(managedFields)) return [];
  const owners = managedFields
    .filter(isObject)
    .filter(({ fieldsV1 }) => isObject(fieldsV1) && owns(fieldsV1['f:status'], changes));
  return [...new Set(owners.map(({ manager }) => String(manager)))];
}

/** `fields`: `{}` for a complete value, else `f:FIELD`, and `k:{"KEY":VALUE}` for elements of a list. */
function owns(fields: unknown, change: unknown): boolean {
  if (!isObject(fields)) return false;
  if (Object.keys(fields).length === 0) return true;
  if (Array.isArray(change)) return change.filter(isObject).some((element) => ownsElement(fields, element));
  if (!isObject(change)) return true;
  return Object.entries(change).some(([name, value]) => owns(fields[`f:${name}`], value));
}

function ownsElement(fields: Readonly<Record<string, unknown>>, element: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).some(([name, inner]) => {
    const key = keyIn(name);
    if (key === undefined || Object.keys(key).some((name) => element[name] !== key[name])) return false;
    // Every writer of an element owns its key.
    const changes = Object.entries(element).filter(([name]) => !Object.hasOwn(key, name));
    return element['$patch'] === 'delete' || owns(inner, Object.fromEntries(changes));
  });
}

function keyIn(name: string): Readonly<Record<string, unknown>> | undefined {
  if (!name.startsWith('k:')) return undefined;
  try {
    const key: unknown = JSON.parse(name.slice(2));
    return isObject(key) ? key : undefined;
  } catch {
    return undefined;
  }
}
