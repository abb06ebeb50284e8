import { expect, it } from 'vitest';
import { ReadCache } from '../../src/shared/read-cache.ts';

function cacheWith(values: Readonly<Record<string, string>> = {}): ReadCache<string> {
  const cache = new ReadCache<string>();
  for (const [key, value] of Object.entries(values)) cache.store(key, value, cache.begin());
  return cache;
}

it('what a read has found is stored', () => {
  const cache = cacheWith({ a: 'one' });
  const since = cache.begin();
  expect([cache.get('a'), cache.revisionOf('a')]).toEqual(['one', since - 1]);
  cache.store('a', 'two', since);
  cache.store('b', undefined, since);
  expect([cache.get('a'), cache.revisionOf('a'), cache.get('b'), cache.revisionOf('b')]).toEqual([
    ...['two', since],
    ...[undefined, since],
  ]);
  expect(cache.values()).toEqual(['two']);
});

it.each<[string, (cache: ReadCache<string>) => void, string | undefined]>([
  ['a write', (cache) => cache.set('a', 'newer'), 'newer'],
  ['a change whose result is unknown', (cache) => cache.invalidate('a'), undefined],
  ['a read that began later and ended earlier', (cache) => cache.store('a', 'newer', cache.begin()), 'newer'],
  ['a list that began later and does not have it', (cache) => cache.prune(() => false, cache.begin()), undefined],
])('a read replaces nothing that is newer: %s', (_, change, expected) => {
  const cache = cacheWith({ a: 'old' });
  const since = cache.begin();
  change(cache);
  cache.store('a', 'older', since);
  expect(cache.get('a')).toBe(expected);
  cache.store('a', 'read again', cache.begin());
  expect(cache.get('a')).toBe('read again');
});

it('a list removes what it does not have, and nothing that has been written or read since it began', () => {
  const cache = cacheWith({ gone: 'old', kept: 'old' });
  const since = cache.begin();
  cache.set('written', 'new');
  cache.store('read', 'new', cache.begin());
  cache.prune((key) => key === 'kept', since);
  expect(cache.values()).toEqual(['old', 'new', 'new']);
  cache.prune(() => false, cache.begin());
  expect(cache.values()).toEqual([]);
});

it('nothing is stored for a key while a change of it is in progress, whatever else has changed or ended', async () => {
  const cache = cacheWith({ a: 'old' });
  const ends: (() => void)[] = [];
  const changes = [1, 2].map(() => cache.change('a', new Promise<void>((resolve) => ends.push(resolve))));
  const isStored = (): boolean => cache.store('a', 'read', cache.begin());
  expect([cache.get('a'), isStored(), cache.store('b', 'read', cache.begin())]).toEqual([undefined, false, true]);
  cache.invalidate('a');
  ends[0]!();
  await changes[0];
  const duringTheOther = cache.begin();
  expect(isStored()).toBe(false);
  ends[1]!();
  await changes[1];
  expect([cache.store('a', 'read', duringTheOther), isStored()]).toEqual([false, true]);
  await expect(cache.change('a', Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect([cache.get('a'), isStored()]).toEqual([undefined, true]);
});

it('what was removed needs no memory after the next list', () => {
  const cache = cacheWith({ a: 'old' });
  cache.invalidate('a');
  const since = cache.begin();
  cache.prune(() => false, since);
  expect(cache.revisionOf('a')).toBe(since);
});

it('a key is stale from a change until it is read or pruned', () => {
  const cache = cacheWith();
  for (const key of ['read', 'pruned', 'changed again']) cache.invalidate(key);
  cache.store('read', 'new', cache.begin());
  const since = cache.begin();
  cache.invalidate('changed again');
  cache.prune((key) => key === 'read', since);
  expect([...cache.stale]).toEqual(['changed again']);
});
