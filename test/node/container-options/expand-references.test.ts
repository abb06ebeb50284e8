import { describe, expect, it } from 'vitest';
import {
  expandContainerCommandAndArgs,
  expandReferences,
} from '../../../src/node/container-options/expand-references.ts';
import { ExpansionLimit } from '../../../src/node/container-options/expansion-limit.ts';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';

const values = new Map([
  ['A', 'a-value'],
  ['B', '$(A)'],
  ['EMPTY', ''],
  ['with space', 'spaced'],
]);
const expand = (text: string): string => expandReferences(text, (name) => values.get(name), new ExpansionLimit());

describe('expandReferences', () => {
  it.each([
    ['', ''],
    ['text', 'text'],
    ['$(A)', 'a-value'],
    ['x-$(A)-$(A)-y', 'x-a-value-a-value-y'],
    ['$(A)$(B)', 'a-value$(A)'],
    ['<$(EMPTY)>', '<>'],
    ['$(with space)', 'spaced'],
    ['$(NONE)', '$(NONE)'],
    ['$()', '$()'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$a-value'],
    ['$$$$(A)', '$$(A)'],
    ['$$A', '$A'],
    ['$A ${A} $', '$A ${A} $'],
    ['$(A', '$(A'],
    ['$(A $(A)', '$(A $(A)'],
    ['$(A) $(A', 'a-value $(A'],
    ['$($$', '$($'],
    ['$(A $$(B $$$', '$(A $(B $$'],
    ['A) $(A)', 'A) a-value'],
  ])('%s is %s', (text, expected) => {
    expect(expand(text)).toBe(expected);
  });

  it.each([
    ['references without end', '$('.repeat(2_000_000), '$('.repeat(2_000_000)],
    ['escaped dollars', '$$'.repeat(2_000_000), '$'.repeat(2_000_000)],
    ['dollars before a reference without end', `${'$$'.repeat(1_000_000)}$(A`, `${'$'.repeat(1_000_000)}$(A`],
    ['references without value', '$(X)'.repeat(500_000), '$(X)'.repeat(500_000)],
  ])('%s take linear time', (_name, text, expected) => {
    expect(expand(text) === expected).toBe(true);
  });
});

describe('expandContainerCommandAndArgs', () => {
  it('expands both with the environment, and has neither if the container has not', () => {
    const envs = [{ name: 'A', value: '1' }];
    const container = { name: 'app', command: ['run', '$(A)'], args: ['$(A)', '$(B)'] };
    expect(expandContainerCommandAndArgs(container, envs)).toEqual({ command: ['run', '1'], args: ['1', '$(B)'] });
    expect(expandContainerCommandAndArgs({ name: 'app' }, envs)).toEqual({ command: [], args: [] });
  });

  it('gives what Linux passes to a process, and refuses more before it exists', () => {
    const envs = [{ name: 'A', value: 'x'.repeat(128 * 1024) }];
    const argsOf = (count: number) => ({ name: 'app', args: Array.from({ length: count }, () => '$(A)') });
    expect(expandContainerCommandAndArgs(argsOf(48), envs).args).toHaveLength(48);
    const refused = new ContainerConfigError(
      'environment or arguments have more than 8388608 characters, which no process can get',
    );
    expect(() => expandContainerCommandAndArgs(argsOf(65), envs)).toThrow(refused);
    // All together would be 128 GiB.
    expect(() => expandContainerCommandAndArgs({ name: 'app', args: ['$(A)'.repeat(1_000_000)] }, envs)).toThrow(
      refused,
    );
  });
});
