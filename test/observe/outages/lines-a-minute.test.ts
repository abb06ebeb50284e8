import { expect, it } from 'vitest';
import { subjects } from './lines-a-minute.ts';

const { manager, forbidden, agent, virtualNodes } = subjects;

it.each([
  { subject: manager, pods: 5, most: 3 },
  { subject: manager, pods: 500, most: 3 },
  { subject: forbidden, pods: 1, most: 1 },
  { subject: forbidden, pods: 500, most: 4 },
  { subject: agent, pods: 20, most: 5 },
  { subject: virtualNodes, pods: 12, most: 16 },
])('an outage logs at most $most lines a minute at info and above: $subject.name, $pods pods', async (row) => {
  const [first, ...later] = await row.subject.linesOf(row.pods, 2);
  expect(first).toBeLessThanOrEqual(row.most);
  expect(Math.max(...later)).toBeLessThanOrEqual(1);
});
