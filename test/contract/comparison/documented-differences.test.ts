import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { declaredDifferences } from './declared-differences.ts';

it('docs/testing.md lists the declared differences that are not harmless, and no others', () => {
  const document = readFileSync(new URL('../../../docs/testing.md', import.meta.url), 'utf8');
  const section = document.split(/^## /m).find((text) => text.startsWith('Differences from a real kube-apiserver\n'));
  const items = [...(section ?? '').matchAll(/^- (.*(?:\n {2}.*)*)/gm)].map(([, item]) =>
    item!.replaceAll(/\n +/g, ' '),
  );
  expect(items).toEqual(
    declaredDifferences.flatMap(({ text, refusal }) =>
      refusal === undefined ? [] : [`${text} Refused: “${refusal}”.`],
    ),
  );
});
