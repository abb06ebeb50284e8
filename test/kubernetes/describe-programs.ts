import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { alignColumns } from '../../bench/report.ts';
import { isPresent, pathOf, type Program, programsOf, setNames, titleOf } from './programs.ts';

/** A table of programs, with what each is for, and where it is. */
export function describePrograms(programs: readonly Program[]): string {
  const purposesOf = (program: Program): string =>
    setNames.filter((set) => programsOf([set]).some((one) => pathOf(one) === pathOf(program))).join(', ');
  return alignColumns([
    ['Program', 'For', 'Folder'],
    ...programs.map((program) => [
      titleOf(program),
      purposesOf(program),
      isPresent(program) ? dirname(realpathSync(pathOf(program))) : 'missing',
    ]),
  ]);
}
