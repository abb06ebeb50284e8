import { expect, it } from 'vitest';
import { renderSummary } from '../../../examples/node-agent/summary.ts';

const pod = (name: string): object => ({ metadata: { namespace: 'default', name } });
const endStates = [
  [pod('web'), { expected: 'Running', found: 'Running, 1/1 ready', isExpected: true }],
  [pod('job'), { expected: 'Succeeded', found: 'Running, 1/1 ready', isExpected: false }],
] as const;

it('a demo that its user ends early says how its pods are, and not what they were expected to be', () => {
  expect(renderSummary(endStates, { isTimeOver: false, useColours: false })).toEqual([
    'default/web  Running, 1/1 ready',
    'default/job  Running, 1/1 ready',
  ]);
  expect(renderSummary(endStates, { isTimeOver: true, useColours: false })).toEqual([
    'ok     default/web  Running',
    'WRONG  default/job  expected Succeeded, found Running, 1/1 ready',
  ]);
});
