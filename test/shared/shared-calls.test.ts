import { beforeEach, expect, it } from 'vitest';
import { SharedCalls } from '../../src/shared/bounded-port.ts';

let calls: { readonly key: string; readonly signal: AbortSignal; readonly end: (result: string) => void }[];
let shared: SharedCalls<string>;
beforeEach(() => {
  calls = [];
  shared = new SharedCalls();
});
const run = (key: string, signal?: AbortSignal): Promise<string> =>
  shared.run(key, signal, (callSignal) => new Promise((end) => void calls.push({ key, signal: callSignal, end })));

it('who asks for the same thing waits for the call in progress; another thing is done beside it', async () => {
  const results = [run('a'), run('a'), run('b')];
  expect(calls.map(({ key }) => key)).toEqual(['a', 'b']);
  calls[0]!.end('A');
  calls[1]!.end('B');
  expect(await Promise.all(results)).toEqual(['A', 'A', 'B']);
  void run('a');
  expect(calls).toHaveLength(3);
});

it('the call does not end with the signal of who was first, only with that of the last who waits', async () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const results = [run('a', first.signal), run('a', second.signal)];
  first.abort(new Error('first'));
  await expect(results[0]).rejects.toThrow('first');
  expect(calls[0]!.signal.aborted).toBe(false);
  second.abort(new Error('second'));
  await expect(results[1]).rejects.toThrow('second');
  expect(calls[0]!.signal.aborted).toBe(true);
});

it('who comes after the last has given up does not wait for the call that was aborted', async () => {
  const first = new AbortController();
  const result = run('a', first.signal);
  first.abort(new Error('first'));
  await expect(result).rejects.toThrow('first');
  const next = run('a');
  expect(calls).toHaveLength(2);
  calls[1]!.end('A');
  expect(await next).toBe('A');
  await expect(run('a', AbortSignal.abort(new Error('aborted')))).rejects.toThrow('aborted');
  expect(calls).toHaveLength(2);
});
