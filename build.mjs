/*
 * Compiles everything to dist/, without emptying it first: a program may be running from there. Files whose source is
 * gone are removed. With --if-changed, a build that is newer than every source is left as it is.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const folders = ['src', 'test', 'bench', 'examples'];
const stamp = join('dist', '.built');

/** All paths below the folder, those of folders included: a folder is as new as the last removal in it. */
const pathsIn = (folder) => [
  folder,
  ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
];

const isCurrent = () => {
  if (!existsSync(stamp)) return false;
  const builtMs = statSync(stamp).mtimeMs;
  const sources = ['package-lock.json', 'tsconfig.json', 'build.mjs', ...folders.flatMap(pathsIn)];
  return sources.every((path) => path.includes('node_modules') || statSync(path).mtimeMs < builtMs);
};

const hasSource = (path) =>
  [path, path.replace(/\.d\.ts$|\.js$/, '.ts')].some((source) => existsSync(source.slice('dist/'.length)));

if (!process.argv.includes('--if-changed') || !isCurrent()) {
  const startedAt = new Date();
  console.error('Compiling TypeScript to dist/ …');
  const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
  const { status } = spawnSync(process.execPath, [join(dirname(typescript), 'bin', 'tsc')], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  for (const path of folders.flatMap((folder) => pathsIn(join('dist', folder)))) {
    if (!hasSource(path)) rmSync(path, { recursive: true, force: true });
  }
  writeFileSync(stamp, '');
  // A source that was saved during the build is newer.
  utimesSync(stamp, startedAt, startedAt);
}
