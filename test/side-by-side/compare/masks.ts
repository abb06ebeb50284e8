import type { Json } from '../../support/kube-http.ts';

/** Something that cannot be the same in two runs. */
export interface Mask {
  readonly what: string;
  readonly reason: string;
  /** Removes the fields with these paths. */
  readonly removes?: RegExp;
  /** Removes only fields with this value, and then objects that are empty because of it. */
  readonly value?: string;
  /** Replaces what matches in each string. With `numbered`, equal texts get equal numbers, counted for each pod. */
  readonly replaces?: RegExp;
  readonly numbered?: boolean;
}

/** All of them. Whatever is not here is compared. */
const masks: readonly Mask[] = [
  {
    what: 'managed fields',
    reason: 'They contain the name of the client and the time.',
    removes: /^metadata\.managedFields$/,
  },
  {
    what: 'resource version',
    reason: 'The API server counts all writes to it.',
    removes: /^metadata\.resourceVersion$/,
  },
  {
    what: 'no memory limit',
    reason:
      'cgroup v1 has a number for it. When the first status with it is written depends on when the agent sees the phase Running on the API server; the last one may come after the cgroup.',
    removes: /^status\.resources(\.limits(\.memory)?)?$/,
    value: '9007199254740988Ki',
  },
  { what: 'uid', reason: 'Random.', replaces: /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, numbered: true },
  { what: 'id', reason: 'containerd makes them at random.', replaces: /\b[0-9a-f]{64}\b/g, numbered: true },
  {
    what: 'address',
    reason: 'The next free one of the bridge.',
    replaces: /\b10\.(8[89]|9[0-8]|1[0-8]\d)\.\d+\.\d+\b/g,
    numbered: true,
  },
  { what: 'node address', reason: 'It contains the --index.', replaces: /\b10\.99\.\d+\.1\b/g },
  { what: 'time', reason: 'The clock.', replaces: /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g },
  {
    what: 'token volume',
    reason: 'The API server chooses its suffix at random.',
    replaces: /\bkube-api-access-[a-z0-9]{5}\b/g,
  },
  {
    what: 'hash of a static pod',
    reason: 'The kubelet hashes the debug text of a Go struct.',
    replaces: /\b[0-9a-f]{32}\b/g,
    numbered: true,
  },
  {
    what: 'duration',
    reason: 'Measured.',
    replaces: /\b(\d+m)?\d+(\.\d+)?(ms|µs|s)\b(?= \(|\)| including)/g,
  },
  {
    what: 'memory of the node',
    reason: 'It depends on the other pods, and on what an agent reserves for evictions.',
    replaces: /\bused: \d+, capacity: \d+/g,
  },
  { what: 'memory usage', reason: 'Measured.', replaces: /(?<=below current usage \()\d+/g },
  { what: 'local port', reason: 'The next free one.', replaces: /(?<=->|read tcp |dial tcp )[\d.]+:\d{5}\b/g },
];

function isRemoved(field: Json, path: string): boolean {
  return masks.some(
    ({ removes, value }) =>
      removes?.test(path) === true && (value === undefined || field === value || hasOnly(field, value)),
  );
}

/** True for an object whose only field has the value, at any depth; also for an empty one. */
function hasOnly(object: Json, value: string): boolean {
  if (object === null || typeof object !== 'object') return false;
  return Object.values(object).every((field) => field === value || hasOnly(field, value));
}

/** Only removes what is masked as a whole: IDs, addresses and times stay. */
export function removeMasked(object: Json, path = ''): Json {
  if (object === null || typeof object !== 'object' || Array.isArray(object)) return object;
  return Object.fromEntries(
    Object.entries(object)
      .map(([name, field]) => [name, field, path === '' ? name : `${path}.${name}`] as const)
      .filter(([, field, path]) => !isRemoved(field, path))
      .map(([name, field, path]) => [name, removeMasked(field, path)]),
  );
}

/** Masks the objects of one pod: equal IDs get equal numbers throughout. */
export function createMasker(): (object: Json) => Json {
  const numbers = new Map<string, Map<string, number>>();
  const replace = (text: string): string =>
    masks.reduce((result, { what, replaces, numbered }) => {
      if (replaces === undefined) return result;
      if (numbered !== true) return result.replaceAll(replaces, `<${what}>`);
      return result.replaceAll(replaces, (match) => {
        if (!numbers.has(what)) numbers.set(what, new Map());
        const known = numbers.get(what)!;
        if (!known.has(match)) known.set(match, known.size + 1);
        return `<${what} ${known.get(match)}>`;
      });
    }, text);
  const mask = (value: Json, path: string): Json => {
    if (typeof value === 'string') return replace(value);
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map((item, index) => mask(item, `${path}[${index}]`));
    return Object.fromEntries(
      Object.entries(value)
        .map(([name, field]) => [name, field, path === '' ? name : `${path}.${name}`] as const)
        .filter(([, field, path]) => !isRemoved(field, path))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, field, path]) => [name, mask(field, path)]),
    );
  };
  return (object) => mask(object, '');
}
