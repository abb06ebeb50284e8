import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { brokenLinks } from './broken-links.ts';
import { emptyProjects, tryEmptyProject } from './empty-projects.ts';
import { Reader } from './reader.ts';

/*
 * `npm run stranger`: packs the package, installs it in empty projects (ESM, CommonJS, TypeScript), runs its
 * commands, checks the links in its documents, and pastes every block of README.md and of the guides into a shell,
 * in a copy of the sources as a clone has them. Prints the time that each takes, and fails when one fails or takes
 * longer than two minutes. Without kubectl, the documents are not pasted.
 */

new Command('npm run stranger')
  .description(
    'Packs the package, installs it in empty projects, runs its commands, checks the links in its documents, and pastes every block of README.md and of the guides into a shell.',
  )
  .addHelpText('after', '\nExit code: 0 all of it works, each part within two minutes; otherwise 1; 2 wrong usage.')
  .exitOverride(exitAfterUsage)
  .parse();

const root = fileURLToPath(new URL('../../../', import.meta.url));
const limitSeconds = 120;
/** After README.md, in the project that it makes. */
const guides = ['agent', 'process-runtime', 'provider', 'virtual-nodes'].map((name) => `docs/guides/${name}.md`);

interface PackageJSON {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | object>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const { bin, exports, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageJSON;
const work = mkdtempSync(join(tmpdir(), 'stranger-'));

function pack(): string {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', work];
  return join(work, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim().split('\n').at(-1)!);
}

/** What git has or would add, as a clone has it. */
function copySources(folder: string): void {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const deleted = new Set(git(['ls-files', '--deleted', '-z']));
  for (const file of git(args)) if (!deleted.has(file)) cpSync(join(root, file), join(folder, file));
}

function git(args: string[]): string[] {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
}

function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function report(seconds: number, title: string): void {
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${title.trim().replaceAll('\n', '\n          ')}`);
  if (seconds > limitSeconds) throw new Error(`Took longer than ${limitSeconds} s: ${title}`);
}

try {
  console.log(`Node.js ${process.version}`);
  const tarball = pack();
  const subpaths = Object.keys(exports).filter((subpath) => typeof exports[subpath] === 'object');
  for (const project of emptyProjects(subpaths, (name) => devDependencies[name]!)) {
    const startedMs = Date.now();
    tryEmptyProject(project, tarball, join(work, project.name));
    report((Date.now() - startedMs) / 1_000, `an empty ${project.name} project`);
  }
  const installed = join(work, 'ESM', 'node_modules');
  for (const name of Object.keys(bin)) execFileSync(join(installed, '.bin', name), ['--help'], { stdio: 'pipe' });
  const broken = brokenLinks(join(installed, 'kubelet-status-manager'));
  if (broken.length > 0) throw new Error(`Links to files that the package does not contain:\n${broken.join('\n')}`);
  if (hasKubectl()) {
    const clone = join(work, 'clone');
    mkdirSync(clone);
    copySources(clone);
    const reader = new Reader(work, clone, report);
    for (const document of ['README.md', ...guides]) {
      console.log(`Pasting ${document}`);
      await reader.follow(readFileSync(join(root, document), 'utf8'));
    }
  } else console.log('README.md is not pasted: there is no kubectl');
} catch (error) {
  console.error(`FAILED  ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
