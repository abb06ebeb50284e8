import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { declaredDifferences } from './declared-differences.ts';

it('docs/testing.md lists the declared differences, and no others', () => {
  const document = readFileSync(new URL('../../../docs/testing.md', import.meta.url), 'utf8');
  const section = document.split(/^## /m).find((text) => text.startsWith('Differences from a real kube-apiserver\n'));
  const rows = (section ?? '')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map(([, text, refusal]) => [text, refusal])).toEqual(
    declaredDifferences.map(({ text, refusal }) => [
      text,
      refusal === undefined ? 'harmless' : `refused: “${refusal}”`,
    ]),
  );
});
