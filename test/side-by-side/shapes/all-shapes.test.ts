import { expect, it } from 'vitest';
import { declarations } from '../compare/declared.ts';
import { allShapes, quickShapes } from './all-shapes.ts';

it('there are at least 60 shapes, and no two have a name or a pod in common', () => {
  const names = allShapes.map(({ name }) => name);
  const pods = allShapes.flatMap(({ name, pods }) => pods ?? [name]);
  expect(names.length).toBeGreaterThanOrEqual(60);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(pods).size).toBe(pods.length);
  expect(quickShapes).toHaveLength(20);
});

it('declared differences name shapes that exist', () => {
  const patterns = declarations.flatMap(({ shapes }) => (shapes === undefined ? [] : [shapes]));
  expect(patterns.filter((shapes) => !allShapes.some(({ name }) => shapes.test(name)))).toEqual([]);
});
