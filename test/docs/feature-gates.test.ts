import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../support/repository.ts';

const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
const rows = read('docs/internals/feature-gates.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

it('docs/internals/feature-gates.md has a row for every gate of the kubelet, with its stage and default', () => {
  const gates = JSON.parse(read('test/generated/feature-gates.json')) as Record<string, [string, boolean]>;
  const expected = Object.entries(gates).map(([name, [stage, isOn]]) => [`\`${name}\``, stage, isOn ? 'on' : 'off']);
  expect(rows.map((cells) => cells.slice(1, 4))).toEqual(expected);
});

it('docs/internals/feature-gates.md says of each gate: same, declared or absent', () => {
  expect(rows.filter((cells) => !/^(same|declared|absent)(: .+)?$/.test(cells[4]!))).toEqual([]);
});
