import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/repository.ts';

const file = join(repository, 'examples/containerd-agent/README.md');

/** The code blocks of a numbered step of the README, in order. @throws Error if it has not this many */
export function blocksOfStep<const Count extends number>(step: number, count: Count): TupleOf<Count> {
  const [, text = ''] = readFileSync(file, 'utf8').split(new RegExp(`^\\*\\*${step}\\. `, 'm'));
  const [own = ''] = text.split(/^(?:\*\*\d+\. |## )/m);
  const blocks = [...own.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);
  if (blocks.length !== count) throw new Error(`${file}: step ${step} has ${blocks.length} blocks, not ${count}`);
  return blocks as TupleOf<Count>;
}

type TupleOf<Count extends number, Items extends string[] = []> = Items['length'] extends Count
  ? Items
  : TupleOf<Count, [...Items, string]>;

/** Replaces what a reader of the README replaces. @throws Error if it is not there */
export function filledIn(block: string, values: Readonly<Record<string, string>>): string {
  let result = block;
  for (const [placeholder, value] of Object.entries(values)) {
    if (!result.includes(placeholder)) throw new Error(`${file}: there is no ${placeholder} in\n${block}`);
    result = result.replaceAll(placeholder, value);
  }
  return result;
}

/** The packages that the README installs. */
export function packagesOfReadme(): string[] {
  const [block] = blocksOfStep(1, 1);
  const [, names = ''] = /apt-get install (.*)$/s.exec(block.replaceAll('\\\n', '')) ?? [];
  return names.split(/\s+/).filter((name) => name !== '' && !name.startsWith('-'));
}
