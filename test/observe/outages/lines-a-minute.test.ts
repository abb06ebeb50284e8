import { expect, it } from 'vitest';
import { busiestMinute } from './lines-a-minute.ts';

it.each([5, 500])('an outage logs at most three lines a minute at info and above, with %i pods', async (pods) => {
  expect(await busiestMinute(pods)).toBeLessThanOrEqual(3);
});
