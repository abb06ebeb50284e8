import { type IndexKey, Listeners, Table } from './indexed.ts';
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

/**
 * All objects, the counter of resourceVersions, and a bounded log of writes. Synchronous: a read and
 * the write that follows it are one transaction.
 */
export class ObjectStore {
  /** By resource. */
  readonly #tables = new Map<string, Table>();
  readonly #listeners = new Map<string, Listeners<WriteRecord>>();
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

  /**
   * The selected objects of one namespace, or of all, in the order of their keys.
   * @param indexKey of all of them, if there is one
   */
  list(
    resource: string,
    namespace: string,
    isSelected: (object: StoredObject) => boolean = () => true,
    indexKey?: IndexKey,
  ): StoredObject[] {
    const objects: { readonly key: string; readonly object: StoredObject }[] = [];
    for (const [key, object] of this.#tables.get(resource)?.entries(indexKey) ?? []) {
      if (namespace !== '' && !key.startsWith(`${namespace}/`)) continue;
      if (isSelected(object)) objects.push({ key, object });
    }
    return objects.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ object }) => object);
  }

  /** Creates or replaces an object, and sets its resourceVersion. */
  put(resource: string, object: StoredObject, writer: Writer): StoredObject {
    const key = keyOf(object.metadata.namespace ?? '', object.metadata.name);
    let table = this.#tables.get(resource);
    if (table === undefined) this.#tables.set(resource, (table = new Table()));
    const stored = withResourceVersion(object, String(++this.#revision));
    const previous = table.replace(key, stored);
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
    const previous = this.#tables.get(resource)?.replace(keyOf(namespace, name), undefined);
    const object = withResourceVersion(last, String(++this.#revision));
    this.#record({ resource, type: 'DELETED', object, previous, ...writer });
    return object;
  }

  /** The remembered writes after a revision, oldest first. */
  writesSince(revision: number): WriteRecord[] {
    const first = this.#log.findIndex((record) => record.revision > revision);
    return first < 0 ? [] : this.#log.slice(first);
  }

  /**
   * Calls `listener` after every write to the resource until the returned function is called.
   * @param indexKey of the objects that it is called for, before or after the write. Default: all
   */
  subscribe(resource: string, listener: (record: WriteRecord) => void, indexKey?: IndexKey): () => void {
    let listeners = this.#listeners.get(resource);
    if (listeners === undefined) this.#listeners.set(resource, (listeners = new Listeners<WriteRecord>()));
    return listeners.add(listener, indexKey);
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
