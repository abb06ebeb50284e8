import { expect, it } from 'vitest';
import { compareRecordings } from './compare/compare.ts';
import type { Recording } from './recording.ts';
import { needsAnotherTry, shapeResult, type ShapeResult, tooManyByChance } from './shape-result.ts';

const recording = (...steps: readonly (readonly [phase: string, ready: string])[]): Recording => ({
  shape: 'a',
  durationMs: 1,
  pods: {
    a: steps.map(([phase, status]) => ({
      ...{ type: 'MODIFIED', atMs: 0 },
      object: { status: { phase, conditions: [{ type: 'Ready', status }] } },
    })),
  },
  events: { a: [] },
});
const kubelet = recording(['Pending', 'False'], ['Running', 'True']);
const compareWith = (agent: Recording): ShapeResult =>
  shapeResult([kubelet], agent, compareRecordings(kubelet, agent), 1);
const same = compareWith(kubelet);
const joined = compareWith(recording(['Pending', 'False'], ['Running', 'False'], ['Running', 'True']));
const different = compareWith(recording(['Pending', 'False'], ['Failed', 'False']));

it('a shape is tried again if it differs, or if one side has joined two statuses', () => {
  expect([same, joined, different].map(({ result }) => result)).toEqual(['same', 'declared', 'different']);
  expect([same, joined, different].map(needsAnotherTry)).toEqual([false, true, true]);
});

it('statuses that are joined in more than one of twenty shapes are no chance', () => {
  const results = (joinedShapes: number) =>
    Array.from({ length: 40 }, (_, index) => (index < joinedShapes ? joined : same));
  expect(tooManyByChance(results(2))).toBeUndefined();
  expect(tooManyByChance(results(3))).toContain('3 of 40');
});
