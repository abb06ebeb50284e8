import { expect, it } from 'vitest';
import type { StoredObject } from '../../src/api-server/storage/objects.ts';
import { ObjectStore, type Trigger } from '../../src/api-server/storage/store.ts';

const writer = { verb: 'update', user: 'admin' };
const valueOf: Trigger['valueOf'] = ({ spec }) => (spec as { nodeName: string }).nodeName;

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
