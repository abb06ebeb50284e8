import { describe, expect, it } from 'vitest';
import { reasonOf, thrownFields } from '../../src/shared/logger.ts';
import { plainCopy } from '../../src/shared/plain-data.ts';

const throwing = {
  get name(): string {
    throw new Error('secret');
  },
};

describe('plainCopy', () => {
  it('has the values of objects, lists and dates, and shares none of them', () => {
    const value = { a: [1, 'two', true, null, { b: new Date(5) }], c: 3n, d: new Map([['e', { f: 1 }]]) };
    const copy = plainCopy(value, 'value') as typeof value;
    expect(copy).toEqual(value);
    expect(copy.a[4]).not.toBe(value.a[4]);
    expect((copy.a[4] as { b: Date }).b).not.toBe((value.a[4] as { b: Date }).b);
  });

  it('has what an object of a class shows, also by getters, and neither functions nor symbols', () => {
    class Base {
      get state(): string {
        return 'running';
      }
    }
    class Pod extends Base {
      uid = 'u';
      refresh = (): void => {};
      tag = Symbol('tag');
      get name(): string {
        return this.uid + this.state;
      }
    }
    expect(plainCopy(new Pod(), 'pod')).toEqual({ uid: 'u', name: 'urunning', state: 'running' });
  });

  it('reads each field once', () => {
    let reads = 0;
    const value = {
      get uid(): string {
        reads += 1;
        return `u-${reads}`;
      },
    };
    expect(plainCopy(value, 'value')).toEqual({ uid: 'u-1' });
    expect(reads).toBe(1);
  });

  it('sets no prototype', () => {
    const copy = plainCopy(JSON.parse('{ "__proto__": { "uid": "u" } }'), 'value') as { uid?: string };
    expect(copy.uid).toBeUndefined();
  });

  const endless: unknown[] = [];
  endless.push(endless);
  const revoked = Proxy.revocable([], {});
  revoked.revoke();
  it.each<[string, unknown, string]>([
    ['a getter that throws', [{ pod: throwing }], '`pods[0].pod["name"]` cannot be read: it throws'],
    ['a proxy that throws', new Proxy({}, { ownKeys: () => raise() }), '`pods` cannot be read: it throws'],
    ['what contains itself', endless, 'is nested more than 100 levels deep'],
    ['more values than permitted', Array.from({ length: 1001 }, () => 0), '`pods` has more than 1000 values'],
    ['a list without entries', Array.from({ length: 0 }), ''],
    ['a list that says to be long', new Proxy([], { get: () => 4e9 }), '`pods` has more than 1000 values'],
    ['long texts', ['x'.repeat(2 ** 25), 'y'.repeat(2 ** 25), 'z'], '`pods[2]` has more than 67108864 characters'],
  ])('refuses %s, and quotes nothing', (_, value, message) => {
    if (message === '') return expect(plainCopy(value, 'pods')).toEqual([]);
    expect(() => plainCopy(value, 'pods', { maxValues: 1000 })).toThrow(message);
    expect(() => plainCopy(value, 'pods', { maxValues: 1000 })).not.toThrow('secret');
  });
});

function raise(): never {
  throw new Error('secret');
}

it('what was thrown is described, even if it cannot be read', () => {
  const unreadable = Object.defineProperty(new Error('x'), 'message', { get: raise });
  expect(reasonOf(unreadable)).toBe('threw object');
  expect(reasonOf(Object.assign(new Error('x'), { message: { a: 1 } }))).toBe('threw object');
  expect(reasonOf(new Proxy({}, { getPrototypeOf: raise }))).toBe('threw object');
  expect(reasonOf(new Error('x'.repeat(1_000_000)))).toHaveLength(16_384);
  expect(thrownFields('text')).toEqual({ reason: 'threw string' });
});
