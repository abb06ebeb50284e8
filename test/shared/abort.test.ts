import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { LightAbortController, undefinedIfAborted, untilAborted } from '../../src/shared/abort.ts';

test('listeners are called once, with the reason set, and not after they are removed', () => {
  const controller = new LightAbortController();
  const { signal } = controller;
  const reasons: unknown[] = [];
  const removed = (): void => void reasons.push('of a removed listener');
  signal.addEventListener('abort', () => void reasons.push(signal.reason));
  signal.addEventListener('abort', removed);
  signal.removeEventListener('abort', removed);
  controller.abort('first');
  controller.abort('second');
  expect(reasons).toEqual(['first']);
  expect(signal.aborted).toBe(true);
});

test.each(['before', 'after'])('a real signal created %s the abort is aborted for the same reason', (when) => {
  const controller = new LightAbortController();
  if (when === 'before') controller.signal.toAbortSignal();
  controller.abort(new Error('late'));
  const real = controller.signal.toAbortSignal();
  expect(real).toBeInstanceOf(AbortSignal);
  expect(real.reason).toBe(controller.signal.reason);
  expect(controller.signal.toAbortSignal()).toBe(real);
});

test('the default reason is an AbortError, like that of an AbortController', () => {
  const controller = new LightAbortController();
  controller.abort();
  expect(controller.signal.reason).toMatchObject({ name: 'AbortError' });
});

describe.each([
  { name: 'untilAborted', call: untilAborted },
  { name: 'undefinedIfAborted', call: undefinedIfAborted },
])('$name', ({ call }) => {
  test('settles like the work, and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    await expect(call(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(call(Promise.reject(new Error('refused')), signal)).rejects.toThrow('refused');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

test.each(['before', 'after'])('work that ignores a signal ends when it is aborted %s the call', async (when) => {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error('stopped'));
  if (when === 'before') abort();
  const { signal } = controller;
  const never = new Promise<never>(() => {});
  const ended = Promise.allSettled([
    untilAborted(never, signal),
    untilAborted(never, signal, () => new Error('described')),
    undefinedIfAborted(never, signal),
  ]);
  abort();
  expect(await ended).toEqual([
    { status: 'rejected', reason: new Error('stopped') },
    { status: 'rejected', reason: new Error('described') },
    { status: 'fulfilled', value: undefined },
  ]);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
