import { describe, expect, it } from 'vitest';
import { isNestedTooDeeply } from '../../../src/kube/client/response-body.ts';

const padding = `"${'x'.repeat(70_000)}"`;
const nested = (depth: number, inner: string): string => '['.repeat(depth) + inner + ']'.repeat(depth);

describe('isNestedTooDeeply', () => {
  it.each<[string, string, boolean]>([
    ['1,000 levels', nested(1_000, padding), false],
    ['1,001 levels', nested(1_001, padding), true],
    ['objects and lists', '{"a":['.repeat(501) + padding + ']}'.repeat(501), true],
    ['brackets within a string', `["${'['.repeat(70_000)}"]`, false],
    ['brackets behind an escaped quote', `["\\"${'['.repeat(70_000)}"]`, false],
    [
      'brackets behind an escaped backslash at the end of a string',
      `["${'x'.repeat(70_000)}\\\\",${nested(1_001, '')}]`,
      true,
    ],
    ['many lists that are not nested', `[${'[],'.repeat(70_000)}[]]`, false],
    ['a string that does not end', `["${'['.repeat(70_000)}`, false],
    ['a short text, which is parsed quickly', nested(30_000, ''), false],
  ])('%s', (_name, text, expected) => {
    expect(isNestedTooDeeply(text)).toBe(expected);
  });
});
