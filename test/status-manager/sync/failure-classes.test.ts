import { expect, it } from 'vitest';
import { failureClassTable, type RetriedFailureClass } from '../../../src/status-manager/sync/failure-classes.ts';

it.each<[RetriedFailureClass, number | undefined, string]>([
  ['NotFound', 404, 'the API server does not show the pod (404 to PATCH)'],
  ['NotFound', undefined, 'm'],
  ['Forbidden', 403, 'PATCH is refused with 403 (m)'],
  ['Invalid', 422, 'PATCH is refused with 422 (m)'],
  ['Conflict', 409, 'PATCH conflicts with a change by somebody else with 409 (m)'],
  ['TooManyRequests', 429, 'the API server asks for a pause (429 to PATCH)'],
  ['ServiceUnavailable', 500, 'PATCH fails with 500 (m)'],
  ['ServiceUnavailable', undefined, 'PATCH fails (m)'],
  ['Unreachable', undefined, 'PATCH fails (m)'],
])('explain() says what a failure of the class %s with %s means', (failureClass, statusCode, expected) => {
  expect(failureClassTable[failureClass].explain({ verb: 'PATCH', statusCode, message: 'm' })).toBe(expected);
});
