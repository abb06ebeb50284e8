import type { Pod } from '../../kube/objects/types.ts';
import { allBy } from '../../shared/by-field.ts';
import { isObject, type Raw } from '../../shared/json.ts';

/**
 * The field managers that own a part of the status that `changes` touches, according to the object's
 * managedFields; without duplicates. `changes` is a strategic merge patch; an undefined field means
 * its complete subtree.
 */
export function managersOf(pod: Pod, changes: object): string[] {
  const managedFields = pod.metadata?.managedFields;
  if (!Array.isArray(managedFields)) return [];
  const elements = new ElementsByField();
  const owners = managedFields
    .filter(isObject)
    .filter(({ fieldsV1 }) => isObject(fieldsV1) && owns(fieldsV1['f:status'], changes, elements));
  return [...new Set(owners.map(({ manager }) => String(manager)))];
}

/** `fields`: `{}` for a complete value, else `f:FIELD`, and `k:{"KEY":VALUE}` for elements of a list. */
function owns(fields: unknown, change: unknown, elements: ElementsByField): boolean {
  if (!isObject(fields)) return false;
  if (Object.keys(fields).length === 0) return true;
  if (Array.isArray(change))
    return Object.entries(fields).some(([name, inner]) => ownsElement(name, inner, change, elements));
  if (!isObject(change)) return true;
  return Object.entries(change).some(([name, value]) => owns(fields[`f:${name}`], value, elements));
}

function ownsElement(name: string, inner: unknown, changes: readonly unknown[], elements: ElementsByField): boolean {
  const key = keyIn(name);
  const [first] = Object.keys(key ?? {});
  if (key === undefined || first === undefined) return false;
  return elements.find(changes, first, key[first]).some((element) => {
    if (Object.keys(key).some((field) => element[field] !== key[field])) return false;
    // Every writer of an element owns its key.
    const others = Object.entries(element).filter(([field]) => !Object.hasOwn(key, field));
    return element['$patch'] === 'delete' || owns(inner, Object.fromEntries(others), elements);
  });
}

/** Finds elements of lists by the value of a field, in linear time for all managers together. */
class ElementsByField {
  readonly #lists = new Map<readonly unknown[], Map<string, ReadonlyMap<unknown, Raw[]>>>();

  find(list: readonly unknown[], field: string, value: unknown): readonly Raw[] {
    const byField = this.#lists.get(list) ?? new Map<string, ReadonlyMap<unknown, Raw[]>>();
    this.#lists.set(list, byField);
    const byValue = byField.get(field) ?? allBy(list.filter(isObject), field);
    byField.set(field, byValue);
    return byValue.get(value) ?? [];
  }
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
