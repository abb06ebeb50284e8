import { expect, it } from 'vitest';
import type { IndexKey } from '../../src/api-server/storage/indexed.ts';
import type { StoredObject } from '../../src/api-server/storage/objects.ts';
import { ObjectStore } from '../../src/api-server/storage/store.ts';

const writer = { verb: 'update', user: 'admin' };
const valueOf: IndexKey['valueOf'] = ({ spec }) => (spec as { nodeName: string }).nodeName;

function podOn(nodeName: string): StoredObject {
  const metadata = { namespace: 'default', name: 'pod', uid: 'uid', resourceVersion: '', creationTimestamp: '' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName } };
}

it('a write calls only the listeners of all objects and those of the value that the object had or has', () => {
  const store = new ObjectStore(100);
  const calls: string[] = [];
  const listen = (name: string, value?: string): (() => void) =>
    store.subscribe('pods', () => calls.push(name), value === undefined ? undefined : { value, valueOf });
  listen('all');
  const stopA = listen('a', 'node-a');
  listen('b', 'node-b');
  listen('unbound', '');
  const callsOf = (write: () => void): string[] => {
    calls.length = 0;
    write();
    return calls;
  };

  expect(callsOf(() => store.put('pods', podOn(''), writer))).toEqual(['all', 'unbound']);
  expect(callsOf(() => store.put('pods', podOn('node-a'), writer))).toEqual(['all', 'a', 'unbound']);
  expect(callsOf(() => store.put('pods', podOn('node-a'), writer))).toEqual(['all', 'a']);
  stopA();
  listen('other a', 'node-a');
  stopA();
  expect(callsOf(() => store.remove('pods', podOn('node-a'), writer))).toEqual(['all', 'other a']);
  expect(callsOf(() => store.put('nodes', podOn('node-a'), writer))).toEqual([]);
});

it('a list by an index key looks only at the objects that have its value now', () => {
  const store = new ObjectStore(100);
  const put = (name: string, nodeName: string): void => {
    const pod = podOn(nodeName);
    store.put('pods', { ...pod, metadata: { ...pod.metadata, name } }, writer);
  };
  const seenOn = (value: string): string[] => {
    const seen: string[] = [];
    const isSelected = ({ metadata }: StoredObject): boolean => seen.push(metadata.name) > 0;
    expect(store.list('pods', '', isSelected, { value, valueOf })).toHaveLength(seen.length);
    return seen.toSorted();
  };
  put('a', 'node-a');
  put('b', 'node-b');
  put('c', '');
  expect(seenOn('node-a')).toEqual(['a']);

  put('c', 'node-a');
  put('d', 'node-a');
  store.remove('pods', store.get('pods', 'default', 'a')!, writer);
  expect(seenOn('node-a')).toEqual(['c', 'd']);
  expect([seenOn(''), seenOn('node-c')]).toEqual([[], []]);
});
