import { runInMicrotask } from './clock.ts';

/** A scrape, or a page, reads all values in one turn of the event loop, so this caches one reading for it. */
export function oncePerTurn<T extends object>(read: () => T): () => T {
  let result: T | undefined;
  return () => {
    if (result === undefined) {
      result = read();
      runInMicrotask(() => (result = undefined));
    }
    return result;
  };
}
