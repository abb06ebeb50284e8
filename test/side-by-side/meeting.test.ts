import { expect, it } from 'vitest';
import { Meeting } from './meeting.ts';

it('acts once all participants have arrived or left', async () => {
  let actions = 0;
  const meeting = new Meeting(['a', 'b', 'c'], async () => void actions++);
  const [a, b] = [meeting.arrive('a'), meeting.arrive('b')];
  expect(actions).toBe(0);
  meeting.leave('c');
  await Promise.all([a, b]);
  for (const name of ['a', 'b']) meeting.leave(name);
  expect(actions).toBe(1);
});

it('rejects for all participants with the error of the action', async () => {
  const meeting = new Meeting(['a', 'b'], () => Promise.reject(new Error('broken')));
  const results = await Promise.allSettled([meeting.arrive('a'), meeting.arrive('b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
