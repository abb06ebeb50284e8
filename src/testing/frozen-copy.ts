/**
 * A frozen copy that shares nothing, as JSON over the wire makes it: times become strings, members
 * that are undefined go. Unlike JSON it takes any depth.
 */
export function frozenCopy<T extends object>(value: T): T {
  const root = emptyLike(value);
  const open: { readonly from: object; readonly to: object }[] = [{ from: value, to: root }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    for (const [name, member] of Object.entries(pair.from)) {
      const plain: unknown = member instanceof Date ? member.toJSON() : member;
      if (plain === undefined) continue;
      const isNested = typeof plain === 'object' && plain !== null;
      const copy = isNested ? emptyLike(plain) : plain;
      // Not by assignment: a member may be called `__proto__`.
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
