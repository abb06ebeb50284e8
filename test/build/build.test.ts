import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../build.mjs', import.meta.url));

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'build-'));
  for (const folder of ['src', 'test', 'bench', 'examples']) {
    mkdirSync(join(project, folder));
    write(`${folder}/one.ts`, 'export const one = 1;');
  }
  write(
    'tsconfig.json',
    '{ "compilerOptions": { "rootDir": ".", "outDir": "dist", "types": [] }, "exclude": ["dist"] }',
  );
  for (const file of ['package-lock.json', 'build.mjs']) write(file, '{}');
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

/** A file that was written well before now, so that it is older than a build. */
function write(path: string, text: string): void {
  writeFileSync(join(project, path), text);
  age(path);
}

function age(path: string): void {
  const past = new Date('2026-01-02T03:04:05Z');
  utimesSync(join(project, path), past, past);
}

function build(...args: string[]): number | null {
  for (const folder of ['src', 'test', 'bench', 'examples']) age(folder);
  return spawnSync(process.execPath, [script, ...args], { cwd: project }).status;
}

const isBuilt = (path: string): boolean => existsSync(join(project, 'dist', path));

describe('npm run build', () => {
  it('never empties dist, from which a program may be running, and removes files without a source', () => {
    expect(build()).toBe(0);
    const folder = statSync(join(project, 'dist', 'src')).ino;
    writeFileSync(join(project, 'dist', 'src', 'gone.js'), '');
    expect(build()).toBe(0);
    expect(statSync(join(project, 'dist', 'src')).ino).toBe(folder);
    expect([isBuilt('src/one.js'), isBuilt('src/gone.js')]).toEqual([true, false]);
  });

  it('with --if-changed leaves a build that is newer than its sources as it is', () => {
    expect(build('--if-changed')).toBe(0);
    rmSync(join(project, 'dist', 'src', 'one.js'));
    build('--if-changed');
    expect(isBuilt('src/one.js')).toBe(false);
    writeFileSync(join(project, 'src', 'one.ts'), 'export const one = 2;');
    build('--if-changed');
    expect(isBuilt('src/one.js')).toBe(true);
  });

  it('does not count as built when it fails', () => {
    write('src/one.ts', 'export const one: string = 1;');
    expect(build()).toBe(1);
    write('src/one.ts', 'export const one = 1;');
    rmSync(join(project, 'dist', 'src', 'one.js'));
    build('--if-changed');
    expect(isBuilt('src/one.js')).toBe(true);
  });
});
