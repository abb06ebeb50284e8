import type { Json } from '../../support/kube-http.ts';

/** One field that two objects do not have in common. */
export interface PathDifference {
  /** `status.containerStatuses[app].state.waiting.reason`: entries of lists by name or type where they have one. */
  readonly path: string;
  /** Undefined: absent. */
  readonly kubelet: Json;
  readonly agent: Json;
}

export function differingPaths(kubelet: Json, agent: Json): PathDifference[] {
  const [a, b] = [flatten(kubelet), flatten(agent)];
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((path) => a.get(path) !== b.get(path))
    .map((path) => ({ path, kubelet: a.get(path), agent: b.get(path) }));
}

/** Path → scalar; the order of a list's entries is a field of its own. */
function flatten(root: Json): Map<string, Json> {
  const flat = new Map<string, Json>();
  const walk = (value: Json, path: string): void => {
    if (value === null || typeof value !== 'object') {
      if (value !== undefined) flat.set(path, value);
      return;
    }
    const keys = Object.keys(value).map((key) => (Array.isArray(value) ? entryKey(value[Number(key)], key) : key));
    if (keys.length === 0) flat.set(path, Array.isArray(value) ? '[]' : '{}');
    if (Array.isArray(value) && keys.length > 1) flat.set(`${path} (order)`, keys.join(', '));
    for (const [index, field] of Object.values(value).entries()) {
      const key = keys[index]!;
      walk(field, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`);
    }
  };
  walk(root, '');
  return flat;
}

function entryKey(entry: Json, index: string): string {
  return entry?.type ?? entry?.name ?? index;
}
