/** The first element of a list for each value of a field: what `find` returns for each, in linear time. */
export function firstBy<Element, Field extends keyof Element>(
  list: Iterable<Element> | null | undefined,
  field: Field,
): ReadonlyMap<Element[Field], Element> {
  const first = new Map<Element[Field], Element>();
  for (const element of list ?? []) if (!first.has(element[field])) first.set(element[field], element);
  return first;
}

/** All elements of a list for each value of a field, in their order. */
export function allBy<Element, Field extends keyof Element>(
  list: Iterable<Element>,
  field: Field,
): ReadonlyMap<Element[Field], Element[]> {
  const all = new Map<Element[Field], Element[]>();
  for (const element of list) {
    const same = all.get(element[field]);
    if (same === undefined) all.set(element[field], [element]);
    else same.push(element);
  }
  return all;
}
