import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/repository.ts';
import { readBugNames } from './find-bugs.ts';
import { plant, readPlantedBug, readPlantedBugs } from './planted-bug.ts';
import { settings } from './settings.ts';

const folder = join(repository, 'test', 'simulation', 'bugs');
const found = JSON.parse(readFileSync(join(folder, 'found.json'), 'utf8')) as Record<string, string>;
const bugs = readPlantedBugs(folder);

describe.each(bugs)('the planted bug $name', (bug) => {
  it('can be put into the library, for a setting that exists', () => {
    expect([...settings.keys()]).toContain(bug.setting);
    for (const file of bug.files) {
      const source = readFileSync(join(repository, file.path), 'utf8');
      expect(plant(bug, file, source)).not.toBe(source);
    }
  });
});

describe('the table of planted bugs', () => {
  it('has each of them, and no others', () => {
    expect(Object.keys(found)).toEqual(bugs.map(({ name }) => name));
  });
});

describe('a patch', () => {
  const patch = [
    'A bug.',
    '',
    'Setting: manager',
    '',
    '--- a/src/a.ts',
    '+++ b/src/a.ts',
    '@@ -1,3 +1,3 @@ context',
    ' one',
    '-two',
    '+2',
    ' ',
    '',
  ].join('\n');
  const bug = readPlantedBug('a-bug', patch);
  const [file] = bug.files;

  it('replaces its lines, wherever they are', () => {
    expect(file!.path).toBe('src/a.ts');
    expect(plant(bug, file!, 'zero\none\ntwo\n\nthree\n')).toBe('zero\none\n2\n\nthree\n');
  });

  it('is refused if its lines are gone, or are there twice', () => {
    expect(() => plant(bug, file!, 'one\nTwo\n\n')).toThrow(
      'a-bug: src/a.ts no longer has what the patch replaces:\none\ntwo',
    );
    expect(() => plant(bug, file!, 'one\ntwo\n\none\ntwo\n\n')).toThrow('src/a.ts has twice what');
  });

  it('is refused without a setting', () => {
    expect(() => readPlantedBug('a-bug', patch.replace('Setting: manager', ''))).toThrow('does not name its setting');
  });
});

describe('the names of --bugs', () => {
  const [first, second, third] = bugs.map(({ name }) => name) as [string, string, string];

  it.each([
    { what: 'a space', args: [first, second] },
    { what: 'a comma', args: [`${first},${second}`] },
    { what: 'a comma and a space', args: [`${first},`, second] },
  ])('are separated by $what', ({ args }) => {
    expect(args.reduce<string[] | undefined>((names, arg) => readBugNames(arg, names), undefined)).toEqual([
      first,
      second,
    ]);
  });

  const main = join(repository, 'dist/test/simulation/main.js');
  it.skipIf(!existsSync(main))('are refused with those that are unknown, exit code 2 (after `npm run build`)', () => {
    const args = [main, '--bugs', `${first},a`, third, '--again'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toContain('test/simulation/bugs has no a.patch');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});
