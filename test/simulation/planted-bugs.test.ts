import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/repository.ts';
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
