/**
 * A frozen deep copy with the semantics of JSON: Dates become strings, undefined fields are dropped.
 * Unlike JSON.stringify it supports any depth.
 */
export function frozenCopy<T extends object>(value: T): T {
  const root = emptyLike(value);
  const open: { readonly from: object; readonly to: object }[] = [{ from: value, to: root }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    for (const [name, field] of Object.entries(pair.from)) {
      const plain: unknown = field instanceof Date ? field.toJSON() : field;
      if (plain === undefined) continue;
      const isNested = typeof plain === 'object' && plain !== null;
      const copy = isNested ? emptyLike(plain) : plain;
      // Not an assignment, because a field may be called `__proto__`.
      Object.defineProperty(pair.to, name, { value: copy, enumerable: true, writable: true, configurable: true });
      if (isNested) open.push({ from: plain, to: copy as object });
    }
    Object.freeze(pair.to);
  }
  return root as T;
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}
