import type { StoredObject } from './objects.ts';

/** A value that objects have in an indexed field. */
export interface IndexKey {
  readonly value: string;
  /** Reads the field of an object; the same function in all keys of a field. */
  readonly valueOf: (object: StoredObject) => string;
}

type Index<Members> = Map<IndexKey['valueOf'], Map<string, Members>>;

/**
 * The objects of a resource, by `namespace/name`. Those with a value in an indexed field are found without a look at the others,
 * because each node lists only its own pods. Source: apiserver `Indexers`.
 */
export class Table {
  readonly #objects = new Map<string, StoredObject>();
  /** Of the fields that were asked for. */
  readonly #index: Index<Map<string, StoredObject>> = new Map();

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  /** @param indexKey of the objects. Default: all */
  entries(indexKey: IndexKey | undefined): Iterable<[key: string, object: StoredObject]> {
    if (indexKey === undefined) return this.#objects;
    const { value, valueOf } = indexKey;
    if (!this.#index.has(valueOf)) {
      this.#index.set(valueOf, new Map());
      for (const [key, object] of this.#objects) this.#add(valueOf, key, object);
    }
    return this.#index.get(valueOf)!.get(value) ?? [];
  }

  /** Stores an object, or removes it if it is undefined. Returns the one before. */
  replace(key: string, object: StoredObject | undefined): StoredObject | undefined {
    const previous = this.#objects.get(key);
    if (object === undefined) this.#objects.delete(key);
    else this.#objects.set(key, object);
    for (const valueOf of this.#index.keys()) {
      if (previous !== undefined) removeMember(this.#index, { valueOf, value: valueOf(previous) }, key);
      if (object !== undefined) this.#add(valueOf, key, object);
    }
    return previous;
  }

  #add(valueOf: IndexKey['valueOf'], key: string, object: StoredObject): void {
    membersOf(this.#index, { valueOf, value: valueOf(object) }, () => new Map<string, StoredObject>()).set(key, object);
  }
}

/** The listeners of a resource. Those with a key are found by it. Source: apiserver `indexedTrigger`. */
export class Listeners<Write extends { readonly object: StoredObject; readonly previous: StoredObject | undefined }> {
  readonly #ofAll = new Set<(write: Write) => void>();
  readonly #index: Index<Set<(write: Write) => void>> = new Map();

  /** Returns a function that removes it. */
  add(listener: (write: Write) => void, indexKey: IndexKey | undefined): () => void {
    if (indexKey === undefined) {
      this.#ofAll.add(listener);
      return () => void this.#ofAll.delete(listener);
    }
    membersOf(this.#index, indexKey, () => new Set<(write: Write) => void>()).add(listener);
    return () => removeMember(this.#index, indexKey, listener);
  }

  call(write: Write): void {
    for (const listener of this.#ofAll) listener(write);
    const { object, previous = object } = write;
    for (const [valueOf, byValue] of this.#index)
      for (const value of new Set([valueOf(object), valueOf(previous)]))
        for (const listener of byValue.get(value) ?? []) listener(write);
  }
}

function membersOf<Members>(index: Index<Members>, { valueOf, value }: IndexKey, create: () => Members): Members {
  let byValue = index.get(valueOf);
  if (byValue === undefined) index.set(valueOf, (byValue = new Map<string, Members>()));
  let members = byValue.get(value);
  if (members === undefined) byValue.set(value, (members = create()));
  return members;
}

function removeMember<Member>(
  index: Index<{ delete(member: Member): unknown; readonly size: number }>,
  { valueOf, value }: IndexKey,
  member: Member,
): void {
  const byValue = index.get(valueOf);
  const members = byValue?.get(value);
  members?.delete(member);
  if (members?.size === 0) byValue!.delete(value);
}
