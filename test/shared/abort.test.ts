import { expect, test } from 'vitest';
import { LightAbortController } from '../../src/shared/abort.ts';

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

test('the default reason is an AbortError, as that of an AbortController', () => {
  const controller = new LightAbortController();
  controller.abort();
  expect(controller.signal.reason).toMatchObject({ name: 'AbortError' });
});
