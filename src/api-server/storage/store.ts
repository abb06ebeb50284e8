import { type StoredObject, withResourceVersion } from './objects.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One write, as recorded in the watch cache and the history. */
export interface WriteRecord {
  readonly revision: number;
  /** The key of the table: `pods`, `leases.coordination.k8s.io`. */
  readonly resource: string;
  readonly type: WatchEventType;
  /** The request's verb: create, update, patch, delete, bind. */
  readonly verb: string;
  readonly user: string;
  /** The object after the write; for a deletion its last state, with the deletion's resourceVersion. */
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

export interface Writer {
  readonly verb: string;
  readonly user: string;
}

type Listener = (record: WriteRecord) => void;

/** The objects that have this value, before or after a write. */
export interface Trigger {
  readonly value: string;
  /** Reads the value of an object; the same function in all triggers by a field. */
  readonly valueOf: (object: StoredObject) => string;
}

/**
 * The listeners of a resource. Those with a trigger are found by it, because each node watches only its own pods. Source:
 * apiserver `indexedTrigger`.
 */
class Listeners {
  readonly #ofAll = new Set<Listener>();
  readonly #triggered = new Map<Trigger['valueOf'], Map<string, Set<Listener>>>();

  add(listener: Listener, trigger: Trigger | undefined): () => void {
    if (trigger === undefined) {
      this.#ofAll.add(listener);
      return () => void this.#ofAll.delete(listener);
    }
    const { value, valueOf } = trigger;
    let byValue = this.#triggered.get(valueOf);
    if (byValue === undefined) this.#triggered.set(valueOf, (byValue = new Map<string, Set<Listener>>()));
    const listeners = byValue.get(value) ?? new Set<Listener>();
    byValue.set(value, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && byValue.get(value) === listeners) byValue.delete(value);
    };
  }

  call(record: WriteRecord): void {
    for (const listener of this.#ofAll) listener(record);
    const { object, previous = object } = record;
    for (const [valueOf, byValue] of this.#triggered)
      for (const value of new Set([valueOf(object), valueOf(previous)]))
        for (const listener of byValue.get(value) ?? []) listener(record);
  }
}

/**
 * All objects, the counter of resourceVersions, and a bounded log of writes. Synchronous: a read and
 * the write that follows it are one transaction.
 */
export class ObjectStore {
  /** Objects by `namespace/name`, by resource. */
  readonly #tables = new Map<string, Map<string, StoredObject>>();
  readonly #listeners = new Map<string, Listeners>();
  readonly #limit: number;
  #log: WriteRecord[] = [];
  #forgottenRevision = 0;
  #revision = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The newest revision that the log no longer contains. */
  get forgottenRevision(): number {
    return this.#forgottenRevision;
  }

  get(resource: string, namespace: string, name: string): StoredObject | undefined {
    return this.#tables.get(resource)?.get(keyOf(namespace, name));
  }

  /** The selected objects of one namespace, or of all, in the order of their keys. */
  list(
    resource: string,
    namespace: string,
    isSelected: (object: StoredObject) => boolean = () => true,
  ): StoredObject[] {
    const objects: { readonly key: string; readonly object: StoredObject }[] = [];
    for (const [key, object] of this.#tables.get(resource) ?? []) {
      if (namespace !== '' && !key.startsWith(`${namespace}/`)) continue;
      if (isSelected(object)) objects.push({ key, object });
    }
    return objects.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ object }) => object);
  }

  /** Creates or replaces an object, and sets its resourceVersion. */
  put(resource: string, object: StoredObject, writer: Writer): StoredObject {
    const key = keyOf(object.metadata.namespace ?? '', object.metadata.name);
    let table = this.#tables.get(resource);
    if (table === undefined) this.#tables.set(resource, (table = new Map<string, StoredObject>()));
    const previous = table.get(key);
    const stored = withResourceVersion(object, String(++this.#revision));
    table.set(key, stored);
    this.#record({
      resource,
      type: previous === undefined ? 'ADDED' : 'MODIFIED',
      object: stored,
      previous,
      ...writer,
    });
    return stored;
  }

  /** Removes the object; `last` is the state that its watchers see. */
  remove(resource: string, last: StoredObject, writer: Writer): StoredObject {
    const { namespace = '', name } = last.metadata;
    const table = this.#tables.get(resource);
    const previous = table?.get(keyOf(namespace, name));
    table?.delete(keyOf(namespace, name));
    const object = withResourceVersion(last, String(++this.#revision));
    this.#record({ resource, type: 'DELETED', object, previous, ...writer });
    return object;
  }

  /** The remembered writes after a revision, oldest first. */
  writesSince(revision: number): WriteRecord[] {
    const first = this.#log.findIndex((record) => record.revision > revision);
    return first < 0 ? [] : this.#log.slice(first);
  }

  /** Calls `listener` after every write to the resource, or to objects of the trigger, until the returned function is called. */
  subscribe(resource: string, listener: Listener, trigger?: Trigger): () => void {
    let listeners = this.#listeners.get(resource);
    if (listeners === undefined) this.#listeners.set(resource, (listeners = new Listeners()));
    return listeners.add(listener, trigger);
  }

  /** Forgets all writes so far: watches from an older resourceVersion get 410. */
  compact(): void {
    this.#log = [];
    this.#forgottenRevision = this.#revision;
  }

  #record(write: Omit<WriteRecord, 'revision'>): void {
    const record = { revision: this.#revision, ...write };
    this.#log.push(record);
    // Truncated only at twice the limit, so that the amortized cost of a write is constant.
    if (this.#log.length >= 2 * this.#limit) {
      const forgotten = this.#log.splice(0, this.#log.length - this.#limit);
      this.#forgottenRevision = forgotten.at(-1)?.revision ?? this.#forgottenRevision;
    }
    this.#listeners.get(write.resource)?.call(record);
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
