import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A bug that the simulation must find: a patch, whose text before the first diff says what is wrong and names the setting. */
export interface PlantedBug {
  readonly name: string;
  readonly setting: string;
  readonly files: readonly ChangedFile[];
}

interface ChangedFile {
  readonly path: string;
  readonly hunks: readonly Hunk[];
}

/** Whole lines, each with its end. */
interface Hunk {
  readonly before: string;
  readonly after: string;
}

/** All patches of a folder, in the order of their names. */
export function readPlantedBugs(folder: string): PlantedBug[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.patch'))
    .sort()
    .map((file) => readPlantedBug(basename(file, '.patch'), readFileSync(join(folder, file), 'utf8')));
}

export function readPlantedBug(name: string, patch: string): PlantedBug {
  const [head = '', ...diffs] = patch.split(/^(?:diff .*\n)?(?:index .*\n)?--- a\/\S+\n\+\+\+ b\//m);
  const [, setting] = /^Setting: (\S+)$/m.exec(head) ?? [];
  if (setting === undefined) throw new Error(`${name}: the patch does not name its setting: Setting: NAME`);
  if (diffs.length === 0) throw new Error(`${name}: the patch changes nothing`);
  return { name, setting, files: diffs.map(readDiff) };
}

/** @returns the text of the file with the bug. @throws if what the patch replaces is not there exactly once */
export function plant({ name }: PlantedBug, { path, hunks }: ChangedFile, source: string): string {
  let lines = `\n${source}`;
  for (const { before, after } of hunks) {
    const at = lines.indexOf(`\n${before}`);
    const again = lines.indexOf(`\n${before}`, at + 1);
    const problem = at < 0 ? 'no longer has' : again < 0 ? undefined : 'has twice';
    if (problem !== undefined) throw new Error(`${name}: ${path} ${problem} what the patch replaces:\n${before}`);
    lines = `${lines.slice(0, at + 1)}${after}${lines.slice(at + 1 + before.length)}`;
  }
  return lines.slice(1);
}

function readDiff(diff: string): ChangedFile {
  const [path = '', ...hunks] = diff.split(/\n@@ .*(?:\n|$)/);
  return { path, hunks: hunks.map(readHunk) };
}

function readHunk(text: string): Hunk {
  const lines = text.replace(/\n*$/, '').split('\n');
  const without = (mark: string): string =>
    lines.map((line) => (line.startsWith(mark) ? '' : `${line.slice(1)}\n`)).join('');
  return { before: without('+'), after: without('-') };
}
